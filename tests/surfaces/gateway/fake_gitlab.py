"""As much of GitLab as verifying tokens needs: who a token is, and how often that was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeGitLab:
    """Tokens by text; a status other than 200 answers everything."""

    def __init__(self) -> None:
        self.tokens: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []
        self.status = 200
        self.knows_self = True
        """Whether `/personal_access_tokens/self` exists."""
        self.url = ""
        self.groups: dict[str, set[int]] = {}
        """Members of groups, by the group's path as it stands in an address."""

    def add(self, token: str, user_id: int, *scopes: str, username: str = "") -> None:
        self.tokens[token] = {"user_id": user_id, "scopes": list(scopes), "active": True, "username": username}

    def answer(self, path: str, bearer: str) -> tuple[int, dict[str, Any]]:
        token = bearer.removeprefix("Bearer ")
        self.asked.append((path, token))
        if self.status != 200:
            return self.status, {"message": f"{self.status} Broken"}
        known = self.tokens.get(token)
        if known is None:
            return 401, {"message": "401 Unauthorized"}
        if path == "/api/v4/user":
            return 200, {"id": known["user_id"], "username": known["username"]}
        if path == "/api/v4/personal_access_tokens/self" and self.knows_self:
            return 200, {**known, "id": 5}
        for group, members in self.groups.items():
            if any(path == f"/api/v4/groups/{group}/members/all/{member}" for member in members):
                return 200, {"id": known["user_id"], "access_level": 30}
        return 404, {"message": "404 Not Found"}


@contextmanager
def fake_gitlab() -> Generator[FakeGitLab]:
    gitlab = FakeGitLab()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = gitlab.answer(self.path, self.headers.get("Authorization", ""))
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.send_header("Set-Cookie", "_gitlab_session=stolen")
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        gitlab.url = f"http://127.0.0.1:{served.server_address[1]}"
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        try:
            yield gitlab
        finally:
            served.shutdown()
            thread.join(5)
