"""The ASGI application: authentication, scopes, faults, limits and headers around the routes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.emulator import routes as _routes
from tests.emulator import routes_ci as _routes_ci
from tests.emulator import routes_code as _routes_code
from tests.emulator import routes_history as _routes_history
from tests.emulator import routes_people as _routes_people
from tests.emulator import routes_review as _routes_review
from tests.emulator.faults import RESHAPE, Fault, Faults, refusal
from tests.emulator.params import Refusal, Row, accept, given
from tests.emulator.routing import Answer, Asked, find
from tests.emulator.world import Token, World, seeded

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

REGISTERED = (
    _routes,
    _routes_ci,
    _routes_code,
    _routes_history,
    _routes_people,
    _routes_review,
)  # importing them declares the routes
LIMIT = 2000
GRAPHQL_ISSUE = re.compile(r'issue\s*\(\s*id:\s*"gid://gitlab/Issue/(\d+)"\s*\)')


@dataclass
class Seen:
    """One request as it arrived, for tests to look at."""

    method: str
    path: str
    query: str
    token: str | None
    headers: dict[str, str]
    body: bytes
    status: int = 0


@dataclass
class Emulator:
    """A GitLab in one object. `faults` and `world` may be changed while it serves."""

    world: World = field(default_factory=seeded)
    faults: Faults = field(default_factory=Faults)
    seen: list[Seen] = field(default_factory=list[Seen])
    observed: int = 0

    def reset(self) -> None:
        self.world, self.faults, self.observed = seeded(), Faults(), 0
        self.seen.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = await _whole(receive)
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        raw = scope.get("raw_path") or scope["path"].encode()
        path, query = raw.decode().split("?")[0], scope["query_string"].decode()
        if path.startswith("/_emulator/"):
            await _send(send, self._control(path, body), {})
            return
        base = f"{scope.get('scheme', 'http')}://{headers.get('host', 'gitlab.example.com')}"
        seen = Seen(scope["method"], path, query, _token(headers), headers, body)
        self.seen.append(seen)
        active = self.faults.take(path)
        extra = {"X-Request-Id": uuid.uuid4().hex, **self._limits()}
        answer = await self._answer(seen, base, active)
        if any(fault.kind == "drop" for fault in active):
            raise ConnectionError("dropped on purpose, after the work was done")
        for fault in active:
            reshape = RESHAPE.get(fault.kind)
            if reshape and answer.status < 300:
                answer.body = reshape(answer.body)
            if fault.kind == "cookie":
                extra["Set-Cookie"] = f"_gitlab_session={uuid.uuid4().hex}; path=/; HttpOnly"
        seen.status = answer.status
        await _send(send, answer, extra, seen, any(fault.kind == "truncated" for fault in active))

    def _limits(self) -> dict[str, str]:
        self.observed += 1
        return {
            "RateLimit-Limit": str(LIMIT),
            "RateLimit-Name": "throttle_authenticated_api",
            "RateLimit-Observed": str(self.observed),
            "RateLimit-Remaining": str(max(0, LIMIT - self.observed)),
            "RateLimit-Reset": str(int(time.time()) + 60),
        }

    async def _answer(self, seen: Seen, base: str, active: list[Fault]) -> Answer:
        try:
            # A success that reads wrongly comes after the work; a refusal comes instead of it.
            before = [fault for fault in active if fault.kind not in ("html", "odd")]
            for fault in before:
                await self._misbehave(fault, seen, base)
            answer = self._served(seen, base, not any(fault.kind == "no-totals" for fault in active))
            for fault in active:
                if fault.kind in ("html", "odd") and answer.status < 300:
                    refused = refusal(fault)
                    assert refused is not None
                    return Answer(refused.body, answer.status)
            return answer
        except Refusal as refused:
            return Answer(refused.body, refused.status, refused.headers)

    async def _misbehave(self, fault: Fault, seen: Seen, base: str) -> None:
        if fault.kind == "slow":
            world = self.world
            await asyncio.sleep(fault.seconds)
            if self.world is not world:  # the test that asked is over: another one has begun
                raise Refusal(503, {"message": "The emulator was made new meanwhile"})
        if fault.kind.startswith("redirect"):
            host = base if fault.kind == "redirect-same" else fault.other
            query = f"?{seen.query}" if seen.query else ""
            raise Refusal(301, {"message": "Moved"}, {"Location": f"{host}{seen.path}{query}"})
        if fault.kind == "echo":
            words = f"token {seen.token} is odd: https://oauth2:{seen.token}@gitlab.example.com {seen.body.decode()}"
            raise Refusal(422, {"message": words})
        refused = refusal(fault)
        if refused is not None:
            raise refused

    def _served(self, seen: Seen, base: str, totals: bool) -> Answer:
        token = self._authenticated(seen)
        if seen.path == "/api/graphql" and seen.method == "POST":
            return self._graphql(seen, token)
        if not seen.path.startswith("/api/v4/"):
            return Answer({"error": "404 Not Found"}, 404)
        segments = [unquote(part) for part in seen.path.removeprefix("/api/v4/").split("/")]
        found = find(seen.method, segments)
        if found is None:
            return Answer({"error": "404 Not Found"}, 404)
        route, named = found
        if not set(route.scopes) & set(token.scopes):
            words = "The request requires higher privileges than provided by the access token."
            scope = " ".join(route.scopes)
            return Answer({"error": "insufficient_scope", "error_description": words, "scope": scope}, 403)
        params = accept(given(seen.query, seen.body, seen.headers.get("content-type", "")), route.kinds, route.required)
        return route.run(Asked(self.world, token, base, named, params, totals))

    def _authenticated(self, seen: Seen) -> Token:
        token = self.world.tokens.get(seen.token or "")
        if token is None:
            raise Refusal(401, {"message": "401 Unauthorized"})
        if token.revoked:
            words = "Token was revoked. You have to re-authorize from the user."
            raise Refusal(401, {"error": "invalid_token", "error_description": words})
        return token

    def _graphql(self, seen: Seen, token: Token) -> Answer:
        """Only `issue(id:)`, which is all that anybody needs of it here."""
        match = GRAPHQL_ISSUE.search(json.loads(seen.body).get("query", ""))
        if match is None:
            return Answer({"errors": [{"message": "This emulator knows only issue(id:)"}]})
        asked = Asked(self.world, token, "", {}, {})
        for project in self.world.projects:
            for row in project.issues:
                if row["id"] == int(match[1]) and asked.visible(project):
                    return Answer({"data": {"issue": {"iid": str(row["iid"]), "projectId": project.id}}})
        return Answer({"data": {"issue": None}})

    def _control(self, path: str, body: bytes) -> Answer:
        """`POST /_emulator/faults`, `/reset`, `/revoke` and `GET /seen`: for tests in other languages."""
        asked: Row = json.loads(body) if body else {}
        if path == "/_emulator/faults":
            try:
                self.faults.add(**asked)
            except (TypeError, ValueError) as error:
                return Answer({"error": str(error)}, 400)
        elif path == "/_emulator/reset":
            self.reset()
        elif path == "/_emulator/revoke":
            self.world.tokens[asked["token"]].revoked = True
        elif path == "/_emulator/seen":
            return Answer([{"method": row.method, "path": row.path, "query": row.query} for row in self.seen])
        else:
            return Answer({"error": "404 Not Found"}, 404)
        return Answer({"ok": True})


def _token(headers: dict[str, str]) -> str | None:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value if scheme.lower() == "bearer" and value else headers.get("private-token")


async def _whole(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _send(send: Send, answer: Answer, extra: dict[str, str], seen: Seen | None = None, cut: bool = False) -> None:
    headers = {"Content-Type": "application/json"} | extra | answer.headers
    if isinstance(answer.body, str):
        body = answer.body.encode()
        if body.startswith(b"<"):
            headers["Content-Type"] = "text/html"
        elif answer.status == 429:
            headers["Content-Type"] = "text/plain"
    else:
        body = json.dumps(answer.body, separators=(",", ":")).encode()
    status = answer.status
    if seen is not None and seen.method == "GET" and status == 200:
        headers["ETag"] = f'W/"{hashlib.md5(body).hexdigest()}"'
        headers["Cache-Control"] = "max-age=0, private, must-revalidate"
        if seen.headers.get("if-none-match") == headers["ETag"]:
            status, body, seen.status = 304, b"", 304
    if cut:
        body = body[: len(body) // 2]
    if status == 204:
        del headers["Content-Type"]
    headers["Content-Length"] = str(len(body))
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
