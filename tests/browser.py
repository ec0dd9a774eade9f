"""A real Chromium without a window, driven over its DevTools pipe: evaluate, click, wait, download,
take pictures.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_CODES = {"Tab": 9, "Enter": 13}
"""Keys that do something by their number alone."""


class Browser:
    """One page in a browser; messages are JSON texts that end in a zero byte, on file descriptors 3
    and 4.
    """

    def __init__(self, process: subprocess.Popen[bytes], write: int, read: int) -> None:
        self._process, self._write, self._read = process, write, read
        self._rest, self._id, self._session = b"", 0, ""
        self.errors: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert time.monotonic() < deadline, "the browser does not reply"
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]))
        if (
            message.get("method") == "Log.entryAdded"
            and message["params"]["entry"]["level"] == "error"
        ):
            self.errors.append(json.dumps(message["params"]))
        return message

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._id += 1
        message: dict[str, Any] = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 120
        while True:
            reply = self._message(deadline)
            if reply.get("id") == self._id:
                assert "error" not in reply, reply
                result: dict[str, Any] = reply["result"]
                return result

    def open(
        self,
        page: Path | str,
        width: int = 1280,
        height: int = 900,
        *,
        dark: bool = False,
        media: str = "",
    ) -> None:
        """Load a page, a file or an address, at a size, in a colour scheme and for a medium."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", media=media, features=scheme)
        self.evaluate("window.leftBehind = true")
        went = self.send(
            "Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri()
        )
        # the page that is left is complete too, and on busy cores it may be there for a while; a
        # fragment of it is no new page
        self.wait(
            "document.readyState === 'complete' &&"
            f" ({'!window.leftBehind' if 'loaderId' in went else 'true'})"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page."""
        reply = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def wait(self, expression: str, seconds: float = 60) -> None:
        """Wait until an expression is true: asked at once, and then less and less often."""
        end, pause = time.monotonic() + seconds, 0.002
        while not self.evaluate(expression):
            assert time.monotonic() < end, expression
            time.sleep(pause)
            pause = min(1.5 * pause, 0.05)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key as a keyboard does; what it types is the key itself where that is one
        character.
        """
        key_event: dict[str, Any] = {"key": key, "modifiers": 8 if shift else 0}
        if key in _CODES:
            key_event["windowsVirtualKeyCode"] = _CODES[key]
        typed = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **key_event, **typed)
        self.send("Input.dispatchKeyEvent", type="keyUp", **key_event)

    def center(self, selector: str) -> tuple[float, float]:
        """The middle of an element, which is scrolled into view."""
        box = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return"
            " [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return float(box[0]), float(box[1])

    def click(self, selector: str) -> None:
        """Click an element with the mouse."""
        self.drag(selector, selector)

    def drag(self, selector: str, target: str) -> None:
        """Press the mouse on an element and let it go on another."""
        for kind, (x, y) in (
            ("mousePressed", self.center(selector)),
            ("mouseMoved", self.center(target)),
            ("mouseReleased", self.center(target)),
        ):
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                buttons=1,
                clickCount=1,
            )

    def tap(self, selector: str) -> None:
        """Touch an element with a finger."""
        self.send("Emulation.setTouchEmulationEnabled", enabled=True)
        x, y = self.center(selector)
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.send("Emulation.setTouchEmulationEnabled", enabled=False)

    def downloads_to(self, folder: Path) -> None:
        """Let the page save files."""
        self.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def picture(self, path: Path, *, full_page: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=full_page)[
            "data"
        ]
        path.write_bytes(base64.b64decode(data))

    def printed(self, path: Path) -> None:
        """Save the page as it is printed on A4, as PDF."""
        path.write_bytes(
            base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"])
        )


@contextmanager
def chromium(home: Path) -> Iterator[Browser]:
    """A browser with a profile of its own."""
    assert CHROMIUM is not None
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()

    def set_limits() -> None:
        # the browser reads commands from 3 and writes to 4; neither end may be overwritten by the
        # other's move
        read, write = os.dup(from_us), os.dup(to_us)
        os.dup2(read, 3)
        os.dup2(write, 4)

    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
        f"--user-data-dir={home}",
        "about:blank",
    ]
    process = subprocess.Popen(
        command,
        preexec_fn=set_limits,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(from_us)
    os.close(to_us)
    try:
        yield Browser(process, to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        process.terminate()
        process.wait(timeout=120)
