"""How many reviews are asked for at once: one caller shuts out no other."""

from collections.abc import Callable
from pathlib import Path

import pytest

from postil.inbox.review_requests import request_store
from postil.inbox.review_requests.request import MOST_OPEN, ReviewRequest, TooManyRequests
from postil.inbox.review_requests.request_store import RequestStore
from postil.storage.memory import MemoryState
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


def make(summary: str, principal: str) -> Callable[[int], ReviewRequest]:
    return lambda number: ReviewRequest(number, "", "changes", summary, "2026-01-01T00:00:00Z", principal)


def test_who_asks_for_all_that_one_may_shuts_out_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RequestStore(MemoryState(), find_repository(str(new_repository(tmp_path))), 60.0)

    def ask(summary: str, principal: str) -> None:
        store.ask("", summary, principal, (), make(summary, principal))

    for number in range(MOST_OPEN):
        ask(f"Look {number}", "key:one")
    with pytest.raises(TooManyRequests, match="20 reviews are asked for"):
        ask("One more", "key:one")
    ask("Mine", "key:two")
    monkeypatch.setattr(request_store, "MOST_OF_ALL", MOST_OPEN + 1)
    with pytest.raises(TooManyRequests, match="21 reviews are asked for"):
        ask("Another", "key:two")
    ask("The first", "key:three")
    assert store.count_open() == MOST_OPEN + 2
