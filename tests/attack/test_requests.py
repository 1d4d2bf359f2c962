"""What callers say beside their calls: the server holds none of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.attack.test_own_memory import MOST_GROWTH, ask_over_http, needs_proc, read_peak
from tests.workspace.repositories import new_repository


@needs_proc
def test_what_callers_say_beside_their_calls_is_not_kept(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repo")
    giant: dict[str, Any] = {"experimental": {"a": "x" * 3_500_000}}
    handshake = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "x", "version": "1"}, "capabilities": giant}
    waiting = {"name": "inbox_wait", "arguments": {"seconds": 4}, "_meta": giant}
    with ask_over_http(tmp_path, root) as (server, ask):

        def wait(number: int) -> bool:
            return ask(f"wait {number}", "tools/call", waiting)

        assert ask("first", "initialize", handshake)
        before = read_peak(server.pid)
        for number in range(40):
            assert ask(f"session {number}", "initialize", handshake)
        with ThreadPoolExecutor(24) as many:
            assert all(many.map(wait, range(24)))
        assert read_peak(server.pid) - before <= MOST_GROWTH
