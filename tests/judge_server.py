"""A real OpenAI-compatible server on loopback whose replies and misfortunes are scripted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tests.servers import AppServer

Reply = Callable[[str, dict[str, Any]], str]


class JudgeServer(AppServer):
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
        super().__init__([Route("/v1/chat/completions", self.complete, methods=["POST"])])
        self.url += "/v1"

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
