"""What calls say beside their answers."""

from __future__ import annotations

import asyncio
import json
import threading

from postil.core import call
from postil.core.operation import reads
from tests.core.echo import Echo, Echoed
from tests.wire.http_client import BOTH, request, running, until


def test_a_call_may_say_something_beside_its_answer() -> None:
    class Talking(Echo):
        @reads("talk")
        async def talk(self) -> Echoed:
            """Say a header"""
            call.current().tell("X-Cache", "HIT")
            return Echoed("", 1)

        @reads("talk_in_thread")
        def talk_in_thread(self) -> Echoed:
            """Say a header from a thread"""
            call.current().tell("X-Cache", "MISS")
            return Echoed("", 1)

    with running(gitlab=Talking()) as server:
        assert server.post(request("talk")).headers["x-cache"] == "HIT"
        assert server.post(request("talk_in_thread")).headers["x-cache"] == "MISS"
        assert "x-cache" not in server.post(request("count")).headers


def test_what_calls_of_one_session_say_is_not_mixed_up() -> None:
    went_on = threading.Event()

    class Talking(Echo):
        @reads("talk_late")
        async def talk_late(self) -> Echoed:
            """Say a header, and answer after the other call"""
            call.current().tell("X-Cache", "HIT")
            await asyncio.to_thread(went_on.wait, 10)
            return Echoed("", 1)

        @reads("talk_early")
        async def talk_early(self) -> Echoed:
            """Say another header"""
            call.current().tell("X-GitLab-RateLimit-Limit", "600")
            return Echoed("", 1)

    with running(gitlab=Talking()) as server:
        session = server.initialize()
        late = server.connect()
        body = json.dumps(request("tools/call", {"name": "talk_late"}, "late")).encode()
        headers = {"Content-Type": "application/json", "Mcp-Session-Id": session, "Accept": BOTH}
        late.ask("POST", "/mcp", body, headers)
        until(lambda: server.endpoint.calls == 1)
        early = server.in_session(session, request("tools/call", {"name": "talk_early"}, "early"))
        went_on.set()
        answered = late.answer()
        late.close()
        names = ("x-cache", "x-gitlab-ratelimit-limit")
        assert [early.headers.get(name) for name in names] == [None, "600"]
        assert [answered.headers.get(name) for name in names] == ["HIT", None]
