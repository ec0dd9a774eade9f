"""A hub of datasets on this machine: what its client asks for, over HTTP."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Mapping

SHA = "5e" * 20


class HubServer:
    """Serves one dataset, `owner/name`, at the revision `main` and its commit."""

    def __init__(
        self, files: Mapping[str, bytes], converted: Mapping[str, bytes] | None = None
    ) -> None:
        self.files = {"main": dict(files), "refs/convert/parquet": dict(converted or {})}
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self, body=True)

            def do_HEAD(self) -> None:
                outer.answer(self, body=False)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _commit(self, revision: str) -> str:
        return SHA if revision in ("main", SHA) else "ab" * 20

    def _revision(self, path: str, before: str) -> tuple[str, str] | None:
        """The revision in an address, and what stands behind it."""
        from urllib.parse import unquote

        revision_path = unquote(path.removeprefix(before))
        for revision, files in self.files.items():
            for name in (revision, self._commit(revision)):
                if files and (revision_path == name or revision_path.startswith(f"{name}/")):
                    return revision, revision_path.removeprefix(name).removeprefix("/")
        return None

    def answer(self, handler: http.server.BaseHTTPRequestHandler, *, body: bool) -> None:
        path = handler.path.partition("?")[0]
        self.asked.append(path)
        api = "/api/datasets/owner/name"
        if path == api:
            path = f"{api}/revision/main"
        for before in (f"{api}/revision/", f"{api}/tree/", "/datasets/owner/name/resolve/"):
            if path.startswith(before):
                resolved = self._revision(path, before)
                if resolved is None:
                    self._send(handler, 404, b"", {"X-Error-Code": "RevisionNotFound"}, body)
                    return
                self._give(handler, before, *resolved, body)
                return
        self._send(handler, 404, b"", {"X-Error-Code": "RepoNotFound"}, body)

    def _give(
        self,
        handler: http.server.BaseHTTPRequestHandler,
        before: str,
        revision: str,
        name: str,
        body: bool,
    ) -> None:
        files, sha = self.files[revision], self._commit(revision)
        if "/resolve/" in before:
            content = files.get(name)
            if content is None:
                self._send(
                    handler, 404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": sha}, body
                )
                return
            headers = {"X-Repo-Commit": sha, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}
            self._send(handler, 200, content, headers, body)
            return
        reply: object = {
            "id": "owner/name",
            "sha": sha,
            "siblings": [{"rfilename": name} for name in files],
        }
        if "/tree/" in before:
            reply = [
                {
                    "type": "file",
                    "path": name,
                    "size": len(content),
                    "oid": hashlib.sha1(content).hexdigest(),
                }
                for name, content in files.items()
            ]
        self._send(
            handler, 200, json.dumps(reply).encode(), {"Content-Type": "application/json"}, body
        )

    def _send(
        self,
        handler: http.server.BaseHTTPRequestHandler,
        status: int,
        content: bytes,
        headers: Mapping[str, str],
        body: bool,
    ) -> None:
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if body:
            handler.wfile.write(content)
