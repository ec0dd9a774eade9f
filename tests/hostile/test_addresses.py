"""Pictures by address: what is connected to, by name, by number and over redirections."""

import io
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hqm.errors import ImageError
from hqm.files import web_images
from hqm.files.images import open_images
from hqm.files.web_images import NotPublic, check_public
from tests.conftest import Run, write_benchmark
from tests.hostile.raw import RawServer, http, says
from tests.messages import pattern_of
from tests.servers import PlannedServer


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


PRIVATE = """
127.0.0.1 127.0.0.2 127.255.255.254 0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.254 192.168.0.1
192.168.255.255 169.254.0.1 169.254.169.254 100.64.0.1 100.127.255.254 192.0.0.1 192.0.2.1 198.18.0.1 198.19.255.255
198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
:: ::1 fe80::1 fe80::1%eth0 fec0::1 fc00::1 fd12:3456:789a::1 ff02::1 ff0e::1 2001:db8::1 100::1 2001::1
::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:192.168.1.1 ::ffff:0.0.0.0 ::127.0.0.1 ::10.0.0.1
64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 2002:7f00:1:: 2002:a00:1:: 2002:c0a8:101:: 64:ff9b:1::1
""".split()
PUBLIC = """
1.1.1.1 8.8.8.8 93.184.216.34 172.15.255.255 172.32.0.1 192.167.255.255 11.0.0.1 128.0.0.1 100.63.255.255 100.128.0.1
169.253.255.255 169.255.0.1 223.255.255.255 2606:4700:4700::1111 2a00:1450:4001:81b::200e ::ffff:8.8.8.8
64:ff9b::8.8.8.8 2002:808:808::
""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    with pytest.raises(NotPublic, match=pattern_of("address.not-public")):
        check_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_public_internet_is_taken(address: str) -> None:
    try:
        check_public(address)
    except NotPublic as error:
        pytest.fail(f"{address} is refused: {error}")


def picture() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def site() -> Iterator[PlannedServer]:
    with PlannedServer(lambda *_: (200, {"Content-Type": "image/png"}, picture())) as server:
        yield server


SPELLINGS = [
    "127.0.0.1",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0x7f.1",
    "0",
    "0.0.0.0",
    "127.0.0.1.",
    "LOCALHOST",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "127.000.000.001",
]


@pytest.mark.parametrize("host", SPELLINGS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_this_machine_is_not_asked_however_it_is_written(
    site: PlannedServer, host: str, scheme: str
) -> None:
    source = open_images("https://example.org")
    name = f"{scheme}://{host}:{site.port}/a.png"
    source.fetch([name])
    assert site.asked == []
    with pytest.raises(ImageError, match=pattern_of("address.not-public") + "|cannot be fetched"):
        source.path(name)


def test_what_is_allowed_is_fetched(site: PlannedServer) -> None:
    source = open_images(site.url)
    with pytest.raises(
        ImageError, match=pattern_of("address.not-public") + ".*--set allow_private_images=true"
    ):
        source.fetch(["a.png"])
        source.path("a.png")
    source.fetch(["a.png"], private=True)
    assert source.path("a.png").read_bytes() == picture()


NAMES = [
    ["127.0.0.1"],
    ["10.1.2.3"],
    ["169.254.169.254"],
    ["::1"],
    ["fd00::1"],
    ["93.184.216.34", "127.0.0.1"],
    ["::ffff:127.0.0.1"],
    ["0.0.0.0"],
    ["fe80::1"],
]


@pytest.mark.parametrize("addresses", NAMES, ids=" ".join)
def test_a_name_is_judged_by_every_address_it_stands_for(
    site: PlannedServer, addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(host: str, port: int, *_: Any, **__: Any) -> Any:
        kinds = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses]
        return [
            (kind, socket.SOCK_STREAM, 6, "", (a, port))
            for kind, a in zip(kinds, addresses, strict=True)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    source = open_images(f"http://pictures.example.org:{site.port}")
    source.fetch(["a.png"])
    assert site.asked == []
    with pytest.raises(ImageError, match=pattern_of("address.not-public")):
        source.path("a.png")


def as_public(monkeypatch: pytest.MonkeyPatch, hosts: dict[str, str], port: int) -> list[str]:
    """Let names stand for addresses, and let every connection to a public one end at the server
    under test.
    """
    connected: list[str] = []
    lookup, connect = socket.getaddrinfo, socket.socket.connect

    def resolve(host: str, port_number: int, *options: Any, **settings: Any) -> Any:
        if host in hosts:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (hosts[host], port_number))]
        return lookup(host, port_number, *options, **settings)

    def go(self: socket.socket, address: Any) -> None:
        connected.append(address[0])
        connect(self, ("127.0.0.1", port) if address[0].startswith("93.") else address)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", go)
    return connected


HOPS = [
    "http://127.0.0.1:{port}/b.png",
    "http://localhost:{port}/b.png",
    "http://169.254.169.254/latest/meta-data",
    "http://10.0.0.1/b.png",
    "http://[::1]:{port}/b.png",
    "http://inside.example.org/b.png",
    "http://2130706433:{port}/b",
    "http://0:{port}/b",
    "https://127.0.0.1:{port}/b.png",
    "//127.0.0.1:{port}/b.png",
]


@pytest.mark.parametrize("hop", HOPS)
@pytest.mark.parametrize("public_hops", [0, 2])
def test_every_hop_is_checked(hop: str, public_hops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(number: int, *_: Any) -> Any:
        if number < public_hops:
            return 302, {"Location": f"http://other{number}.example.org/a.png"}, b""
        if number == public_hops:
            return 302, {"Location": hop.format(port=server.port)}, b""
        return 200, {}, picture()

    with PlannedServer(reply) as server:
        hosts = {"pictures.example.org": "93.184.216.34", "inside.example.org": "10.9.8.7"}
        hosts |= {f"other{n}.example.org": f"93.184.216.{n + 1}" for n in range(3)}
        connected = as_public(monkeypatch, hosts, server.port)
        source = open_images("http://pictures.example.org")
        source.fetch(["a.png"])
        assert len(server.asked) == public_hops + 1, "the last hop is not asked"
        assert all(address.startswith("93.") for address in connected)
        with pytest.raises(ImageError, match=pattern_of("address.not-public")):
            source.path("a.png")


def test_a_redirection_between_public_addresses_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reply(number: int, *_: Any) -> Any:
        return (
            (302, {"Location": "http://b.example.org/x"}, b"")
            if number == 0
            else (200, {}, picture())
        )

    with PlannedServer(reply) as server:
        hosts = {"a.example.org": "93.184.216.34", "b.example.org": "93.184.216.35"}
        connected = as_public(monkeypatch, hosts, server.port)
        source = open_images("http://a.example.org")
        source.fetch(["a.png"])
        assert source.path("a.png").read_bytes() == picture()
    assert connected == ["93.184.216.34", "93.184.216.35"]


def test_a_name_is_not_looked_up_again_after_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that stands for a public address first and for this machine afterwards."""
    with PlannedServer(lambda *_: (200, {}, picture())) as server:
        connected = as_public(monkeypatch, {}, server.port)
        turns = iter(["93.184.216.34"])

        def resolve(host: str, port_number: int, *_: Any, **__: Any) -> Any:
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(turns, "127.0.0.1"), port_number))
            ]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        source = open_images("http://changing.example.org")
        source.fetch(["a.png"])
        assert source.path("a.png").read_bytes() == picture()
    assert connected == ["93.184.216.34"]


SCHEMES = [
    "file:///etc/passwd",
    "ftp://127.0.0.1/a.png",
    "gopher://127.0.0.1/a",
    "data:image/png;base64,AAAA",
    "javascript:alert(1)",
    "HTTP://127.0.0.1/a.png",
    "jar:http://127.0.0.1!/a",
    "/etc/passwd",
    "..\\..\\secret.png",
    "C:/secret.png",
]


@pytest.mark.parametrize("name", SCHEMES)
def test_a_picture_is_a_file_of_the_folder_or_a_web_address(tmp_path: Path, name: str) -> None:
    source = open_images(tmp_path)
    source.fetch([name])
    with pytest.raises(ImageError, match=pattern_of("picture.outside-folder") + "|no such picture"):
        source.path(name)


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://example.org/a", "gopher://example.org/", "data:,x"]
)
def test_a_redirection_leads_to_the_web_only(target: str) -> None:
    with PlannedServer(lambda *_: (302, {"Location": target}, b"")) as server:
        source = open_images(server.url)
        source.fetch(["a.png"], private=True)
        assert len(server.asked) == 1
        with pytest.raises(ImageError, match="redirect|not allowed|answered 302"):
            source.path("a.png")


def drips(pause: float) -> Callable[..., Any]:
    return says(
        http("200 OK", b"", "Content-Length: 90000", length=False), b"x", pause=pause, forever=True
    )


def test_a_picture_that_drips_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_images, "_MAX_SECONDS", 0.5)
    monkeypatch.setattr(web_images, "_MAX_ATTEMPTS", 1)
    began = time.monotonic()
    with RawServer(drips(0.05)) as server:
        source = open_images(server.url)
        source.fetch(["a.png"], private=True)
        with pytest.raises(ImageError, match="not whole after"):
            source.path("a.png")
    assert time.monotonic() - began < 30


def test_a_redirection_without_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with PlannedServer(lambda n, *_: (302, {"Location": f"/v1/{n}.png"}, b"")) as server:
        source = open_images(server.url)
        source.fetch(["a.png"], private=True)
        assert len(server.asked) <= 12
        with pytest.raises(ImageError, match="answered 302"):
            source.path("a.png")


@pytest.mark.parametrize("proxied", ["http", "https"])
def test_a_proxy_is_told_no_private_target(proxied: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with PlannedServer(lambda *_: (200, {}, picture())) as proxy:
        monkeypatch.setenv(f"{proxied}_proxy", f"http://127.0.0.1:{proxy.port}")
        source = open_images("https://example.org")
        name = f"{proxied}://10.0.0.1/a.png"
        source.fetch([name])
        assert proxy.asked == []
        with pytest.raises(ImageError, match=pattern_of("address.not-public")):
            source.path(name)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_command_asks_with_pictures_of_this_machine_where_it_may(
    site: PlannedServer, tmp_path: Path, run: Run, allowed: bool
) -> None:
    from tests.servers import completion

    rows = [
        {
            "id": "a",
            "prompt": "Is it red?",
            "target": "yes",
            "image": f"http://127.0.0.1:{site.port}/a.png",
        }
    ]
    folder = write_benchmark(tmp_path / "mine", rows)
    with PlannedServer(lambda *_: completion("Yes.")) as server:
        arguments = [
            "audit",
            "--no-report",
            folder,
            "-r",
            f"openai/tiny@{server.url}",
            "--forms",
            "original",
            "--runs",
            1,
            "--quiet",
        ]
        arguments += [
            "--store",
            tmp_path / "store.sqlite",
            *(["--set", "allow_private_images=true"] if allowed else []),
        ]
        code, output, _ = run(*arguments)
        assert (code, len(server.asked), len(site.asked)) == ((0, 1, 1) if allowed else (1, 0, 0))
        assert ("errors 0" in output) == allowed
