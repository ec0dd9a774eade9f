"""A real OpenAI-compatible server on loopback whose replies and misfortunes are scripted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

Reply = Callable[[str, dict[str, Any]], str]


class JudgeServer:
    """Replies with what `reply(prompt, body)` says.

    `trouble(prompt, attempt)` may name a misfortune: `429`, `500`, `nonsense` (a gateway's page),
    `broken` (half a JSON object) or `drop` (the connection is cut).
    """

    def __init__(
        self,
        reply: Reply,
        trouble: Callable[[str, int], str] = lambda _p, _n: "",
        *,
        delay: float = 0.002,
        refuse: str = "",
    ) -> None:
        self.reply, self.trouble, self.delay, self.refuse = reply, trouble, delay, refuse
        self.prompts: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.attempts: Counter[str] = Counter()
        app = Starlette(routes=[Route("/v1/chat/completions", self.complete, methods=["POST"])])
        self.server = uvicorn.Server(
            uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off")
        )
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}/v1"

    def name(self, model: str = "judge") -> str:
        return f"openai/{model}@{self.url}"

    async def complete(self, http: Request) -> Response:
        body = await http.json()
        prompt = body["messages"][0]["content"][-1]["text"]
        self.attempts[prompt] += 1
        await asyncio.sleep(self.delay)
        if self.refuse and self.refuse in body:
            return JSONResponse({"error": {"message": f"unknown parameter {self.refuse}"}}, 400)
        trouble = self.trouble(prompt, self.attempts[prompt])
        if trouble == "429":
            return JSONResponse(
                {"error": {"message": "slow down"}}, 429, headers={"Retry-After": "0.01"}
            )
        if trouble == "500":
            return JSONResponse({"error": {"message": "internal"}}, 500)
        if trouble == "nonsense":
            return PlainTextResponse("<html>gateway</html>")
        if trouble == "broken":
            return Response('{"id": "x", "choices": [{"mess', media_type="application/json")
        if trouble == "drop":
            raise ConnectionResetError("scripted")
        self.prompts.append(prompt)
        self.bodies.append(body)
        message = {"role": "assistant", "content": self.reply(prompt, body)}
        return JSONResponse(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
            }
        )

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=60)
