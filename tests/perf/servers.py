"""How fast HQM asks a server, against bare aiohttp with the same requests in the same run.

    python tests/perf/servers.py [--questions 2000] [--rounds 5] [--in-flight 16 64 256] [--kilobytes 30 150] [--markdown FILE]

The server is a process of its own that answers every request after 20 ms, however many come at
once. Bare aiohttp posts bodies that were made before the clock starts, keeps one session and reads
the replies; HQM reads the pictures, makes the bodies, asks with its limits on replies, reads the
answers and gives them to the caller, who confirms them, as when it stores them. All take turns, in
another order each round; a ratio is the median of the rounds' ratios. Then the number in flight
adapts (no `concurrency` in the name), against aiohttp with 64 and with 256 in flight, of which the
second is told from the beginning what HQM has to find: at the same server, at one that turns 20 of
every 500 requests away, the first among them (429, to be asked again after 200 ms), at two that turn
1 % and 5 % away at random (to be asked again after 20 ms), and at one whose first 64 replies take
2 s. Python searches for circles of values as seldom as in the program `hqm`, for all. Prints
Markdown, with the machine's load and the processor time of a request, and writes it to a file where
one is named: the tables of docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hqm.__main__ import collect_garbage_rarely
from hqm.respondents import make_respondent
from hqm.respondents.base import Request, Sampling

DELAY = 0.020
MANNERS = {
    "steady": "steady, 20 ms",
    "bursts": "bursts of 429 (20 of every 500)",
    "random 0.01": "1 % of 429 at random",
    "random 0.05": "5 % of 429 at random",
    "slow start": "slow start (the first 64 replies take 2 s)",
}
REPLY = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Yes"},
            "logprobs": {
                "content": [
                    {
                        "token": "Yes",
                        "logprob": -0.1,
                        "bytes": None,
                        "top_logprobs": [
                            {"token": token, "logprob": value, "bytes": None}
                            for token, value in (
                                ("Yes", -0.1),
                                ("No", -2.4),
                                (" Yes", -5.0),
                                ("yes", -6.0),
                                ("NO", -8.0),
                            )
                        ],
                    }
                ]
            },
        }
    ],
    "usage": {"prompt_tokens": 600, "completion_tokens": 1, "total_tokens": 601},
}


class _Server(asyncio.Protocol):
    """Reads requests one after another on a connection, and answers each after a while."""

    n_requests = 0
    manner = "steady"

    def connection_made(self, transport: Any) -> None:
        self.transport, self.buffer, self.body_length = transport, b"", -1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            if self.body_length < 0:
                head, mark, remainder = self.buffer.partition(b"\r\n\r\n")
                if not mark:
                    return
                length = next(
                    x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")
                )
                self.body_length, self.buffer = int(length.split(b":")[1]), remainder
            if len(self.buffer) < self.body_length:
                return
            self.buffer, self.body_length = self.buffer[self.body_length :], -1
            _Server.n_requests += 1
            self._answer(_Server.n_requests)

    def _answer(self, number: int) -> None:
        status, extra, delay = b"200 OK", b"", DELAY
        if self.manner == "bursts" and number % 500 < 20:
            status, extra = b"429 Too Many Requests", b"Retry-After-Ms: 200\r\n"
        if self.manner.startswith("random") and random.random() < float(self.manner.split()[1]):
            status, extra = b"429 Too Many Requests", b"Retry-After-Ms: 20\r\n"
        if self.manner == "slow start" and number <= 64:
            delay = 2.0
        body = (
            json.dumps(REPLY).encode()
            if status.startswith(b"200")
            else b'{"error": {"message": "slow down"}}'
        )
        reply = (
            b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s"
            % (
                status,
                extra,
                len(body),
                body,
            )
        )
        asyncio.get_running_loop().call_later(delay, self.transport.write, reply)


def _serve(manner: str, pipe: Any) -> None:
    async def main() -> None:
        _Server.manner = manner
        server = await asyncio.get_running_loop().create_server(
            _Server, "127.0.0.1", 0, backlog=1024
        )
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


class Serving:
    """The server, in a process of its own."""

    def __init__(self, manner: str = "steady") -> None:
        parent_end, child_end = multiprocessing.get_context("spawn").Pipe()
        self.process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(manner, child_end), daemon=True
        )
        self.process.start()
        self.url = f"http://127.0.0.1:{parent_end.recv()}/v1"

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()


def requests(count: int, folder: Path, kilobytes: int = 30) -> list[Request]:
    """Six questions a picture, pictures of so many thousand bytes."""
    batch = []
    for i in range(count):
        picture = folder / f"{kilobytes}-{i // 6}.png"
        if not picture.exists():
            picture.write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(1000 * kilobytes))
        batch.append(
            Request(
                f"Is there a dog in picture {i}? Please answer yes or no.", picture, Sampling(), i
            )
        )
    return batch


def by_hqm(batch: list[Request], url: str, in_flight: int = 0) -> tuple[float, float]:
    """Requests a second, and the processor seconds of a request; 0 in flight lets their number
    adapt.
    """
    fixed = f"&concurrency={in_flight}" if in_flight else ""
    respondent = make_respondent(f"openai/m@{url}?retries=8{fixed}")
    began, spent = time.perf_counter(), _processor()
    answers = [pair for answered in respondent.answer(batch) for pair in answered]
    took, spent = time.perf_counter() - began, _processor() - spent
    respondent.close()
    if len(answers) != len(batch) or any(response.state != "ok" for _, response in answers):
        raise SystemExit(
            f"{len(answers)} of {len(batch)} answered; not ok:"
            f" {[r for _, r in answers if r.state != 'ok'][:3]}"
        )
    return len(batch) / took, spent / len(batch)


def by_aiohttp(batch: list[Request], url: str, in_flight: int) -> tuple[float, float]:
    """The same bodies by one session of aiohttp."""
    import aiohttp

    from hqm.respondents.base import data_url

    bodies = []
    for request in batch:
        picture = b"".join(data_url(str(request.image))).decode()
        content = [
            {"type": "image_url", "image_url": {"url": picture}},
            {"type": "text", "text": request.prompt},
        ]
        bodies.append(
            json.dumps(
                {
                    "model": "m",
                    "messages": [{"role": "user", "content": content}],
                    "temperature": 0.0,
                    "max_tokens": 16,
                }
            ).encode()
        )
    answers = []

    async def work(session: Any, todo: Any) -> None:
        for body in todo:
            while True:
                async with session.post(
                    f"{url}/chat/completions",
                    data=body,
                    headers={"Content-Type": "application/json"},
                ) as reply:
                    payload = await reply.json()
                if reply.status != 429:
                    break
                await asyncio.sleep(float(reply.headers["Retry-After-Ms"]) / 1000)
            answers.append(payload["choices"][0]["message"]["content"])

    async def main() -> None:
        todo = iter(bodies)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=in_flight)
        ) as session:
            await asyncio.gather(*(work(session, todo) for _ in range(in_flight)))

    began, spent = time.perf_counter(), _processor()
    asyncio.run(main())
    took, spent = time.perf_counter() - began, _processor() - spent
    assert answers == ["Yes"] * len(batch)
    return len(batch) / took, spent / len(batch)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Way:
    """One way of asking, and what its rounds measured: requests a second, processor seconds of a
    request.
    """

    name: str
    ask: Callable[[list[Request], str], tuple[float, float]]
    measured: list[tuple[float, float]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """The median rate."""
        return statistics.median(rate for rate, _ in self.measured)

    @property
    def milliseconds(self) -> float:
        """The median processor time of a request."""
        return 1000 * statistics.median(spent for _, spent in self.measured)

    def ratio_to(self, other: Way) -> float:
        """The median of the rounds' ratios of two ways."""
        pairs = zip(self.measured, other.measured, strict=True)
        return statistics.median(rate / base for (rate, _), (base, _) in pairs)


def take_turns(ways: Sequence[Way], batch: list[Request], manner: str, rounds: int) -> None:
    """Measure all ways in every round, each at a server that nobody has asked; another begins each
    time.
    """
    for number in range(rounds):
        for way in (*ways[number % len(ways) :], *ways[: number % len(ways)]):
            with Serving(manner) as server:
                way.measured.append(way.ask(batch, server.url))


def of_hqm(in_flight: int = 0) -> Way:
    """HQM, with so many in flight; 0 lets their number adapt."""
    return Way("HQM", lambda batch, url: by_hqm(batch, url, in_flight))


def of_aiohttp(in_flight: int) -> Way:
    """Bare aiohttp, with so many in flight."""
    return Way(f"aiohttp {in_flight}", lambda batch, url: by_aiohttp(batch, url, in_flight))


def fixed(batch: list[Request], in_flight: int, rounds: int) -> str:
    """A row: so many in flight at the steady server."""
    ours, theirs = of_hqm(in_flight), of_aiohttp(in_flight)
    take_turns((ours, theirs), batch, "steady", rounds)
    return (
        f"| {in_flight} | {ours.rate:,.0f} | {theirs.rate:,.0f} | {ours.ratio_to(theirs):.2f} |"
        f" {ours.milliseconds:.2f} | {theirs.milliseconds:.2f} |"
    )


def adapting(batch: list[Request], manner: str, rounds: int) -> str:
    """A row: the number in flight follows a server of such a manner."""
    ours, few, many = of_hqm(), of_aiohttp(64), of_aiohttp(256)
    take_turns((ours, few, many), batch, manner, rounds)
    rates = " | ".join(f"{way.rate:,.0f}" for way in (ours, few, many))
    ratios = " | ".join(f"{ours.ratio_to(way):.2f}" for way in (few, many))
    spent = " | ".join(f"{way.milliseconds:.2f}" for way in (ours, few, many))
    return f"| {MANNERS[manner]} | {rates} | {ratios} | {spent} |"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-flight", type=int, nargs="*", default=[16, 64, 256])
    parser.add_argument("--kilobytes", type=int, nargs="+", default=[30, 150])
    parser.add_argument("--manners", nargs="*", choices=MANNERS, default=list(MANNERS))
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    collect_garbage_rarely()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    load = f"load {os.getloadavg()[0]:.1f} before it"
    say(
        f"{os.cpu_count()} cores, {load}, {options.questions:,} questions, medians of"
        f" {options.rounds} rounds in turns:\n"
    )
    say(
        "| kB a picture | in flight, fixed | HQM, requests/s | bare aiohttp | ratio | HQM, processor ms per"
        " request | bare aiohttp |"
    )
    say("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        requests_by_size = {
            kb: requests(options.questions, Path(folder), kb) for kb in options.kilobytes
        }
        batch = requests_by_size[options.kilobytes[0]]
        with Serving() as server:  # what is imported and read first counts for nobody
            by_hqm(batch[:100], server.url, 16), by_aiohttp(batch[:100], server.url, 16)
        for kb, questions in requests_by_size.items():
            for in_flight in options.in_flight:
                say(f"| {kb} {fixed(questions, in_flight, options.rounds)}")
        say(
            "\n| server, number in flight adapts | HQM, requests/s | aiohttp, 64 | aiohttp, 256 |"
            " HQM to 64 | to 256 | HQM, processor ms per request | 64 | 256 |"
        )
        say("|---|---|---|---|---|---|---|---|---|")
        for manner in options.manners:
            say(adapting(batch, manner, options.rounds))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
