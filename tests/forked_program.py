"""The program hqm in processes of its own that need not import it first.

Most of the time of a short command goes to imports. A server imports the program once; each command
is a process forked from it, with the folder, the environment, the arguments and the three streams of
its caller. What a process imports by itself, signals, and packages on another path are for tests
that start the program as a user does.
"""

from __future__ import annotations

import json
import os
import socket
import sys

AHEAD = (
    "aiohttp",
    "openai",
    "pandas",
    "PIL.Image",
    "rich.progress",
    "rich.table",
    "scipy.optimize",
    "scipy.stats",
)
"""What commands import when they need it, beside the modules of hqm; not torch."""
PID_FILE = "HQM_TESTS_PID_FILE"
"""The variable that names a file for the number of the forked process, which a test may kill."""
PACKAGES = "auditing commands comparison imports indicators labels lint reports".split()


def import_ahead() -> None:
    """Import what most commands need."""
    import contextlib
    import importlib
    import pkgutil

    import hqm.cli

    for name in PACKAGES:
        package = importlib.import_module(f"hqm.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"hqm.{name}."):
            # an extra's module, where the extra is not installed
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(module.name)
    for name in AHEAD:
        importlib.import_module(name)
    assert hqm.cli.main
    assert "torch" not in sys.modules


def serve(address: str) -> None:
    """Fork a process for every caller, until the standard input ends."""
    import contextlib
    import gc
    import select

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)  # who calls meanwhile waits
        import_ahead()
        gc.freeze()
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            with contextlib.suppress(ChildProcessError):  # none is left
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if listening not in ready:
                return
            calling, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                answer(calling)
            calling.close()


def answer(calling: socket.socket) -> None:
    """Be the program that a caller asks for, and tell the caller how it ended."""
    import time

    message, streams, _, _ = socket.recv_fds(calling, 1 << 20, 3)
    while chunk := calling.recv(1 << 20):
        message += chunk
    request = json.loads(message)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    if path := os.environ.pop(PID_FILE, ""):
        with open(path, "w") as file:
            file.write(str(os.getpid()))
    time.tzset()
    for stream, number in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["hqm", *request["arguments"]]
    status = 1
    try:
        from hqm.__main__ import main

        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        calling.sendall(bytes([status]))
        os._exit(status)


def call(address: str, arguments: list[str]) -> int:
    """Have the program run with these arguments here; its status."""
    request = {"folder": os.getcwd(), "environment": dict(os.environ), "arguments": arguments}
    with socket.socket(socket.AF_UNIX) as calling:
        calling.connect(address)
        socket.send_fds(calling, [b" "], [0, 1, 2])
        calling.sendall(json.dumps(request).encode())
        calling.shutdown(socket.SHUT_WR)
        ended = calling.recv(1)
    return ended[0] if ended else 70


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(call(sys.argv[2], sys.argv[3:]))
