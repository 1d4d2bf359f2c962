"""Changes are seen with and without the kernel's help."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.workspace import watch
from tests.comments.workspaces import Comments, workspace

CODE = '''"""Prices and taxes."""

RATE = 0.19


def net(price):
    """Without tax."""
    return price / (1 + RATE)


def gross(price):
    """With tax."""
    taxed = price * (1 + RATE)
    return round(taxed, 2)


class Basket:
    def __init__(self):
        self.items = []

    def add(self, item, count=1):
        for _ in range(count):
            self.items.append(item)

    def total(self):
        return sum(gross(item.price) for item in self.items)
'''


def line_of(text: str, code: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if code in line)


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def add_at(comments: Comments, code: str, text: str = "look here") -> str:
    return comments.add("shop.py", line_of(CODE, code), text, "NOTE").commentId


def test_without_watches_left_a_change_is_still_seen_at_once(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_source", watch._Polling)  # pyright: ignore[reportPrivateUsage]
    identity = add_at(comments, "taxed = ", "before")
    for number in range(8):
        comments.edit("shop.py", identity, f"edit {number}")
        assert comments.search(f"edit {number}").totalResults == 1
