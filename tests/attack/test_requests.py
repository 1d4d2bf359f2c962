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


@needs_proc
def test_what_failed_calls_were_given_is_not_kept(tmp_path: Path) -> None:
    """Python looks for garbage after so many objects, however large they are: sixty calls held 130 MB."""
    root = new_repository(tmp_path / "repo")
    pattern, unknown = {"query": "(" + "x" * 3_500_000}, {"path": "x" * 3_500_000}
    with ask_over_http(tmp_path, root) as (server, ask):
        assert ask("first", "tools/call", {"name": "search_comments", "arguments": {"query": "x"}})
        before = read_peak(server.pid)
        for number in range(60):
            ask(f"search {number}", "tools/call", {"name": "search_comments", "arguments": pattern})
            ask(f"read {number}", "tools/call", {"name": "workspace_file", "arguments": unknown})
        assert read_peak(server.pid) - before <= MOST_GROWTH
