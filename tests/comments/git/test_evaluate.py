"""The engine is measured on a repository's own history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.workspaces import Comments, commit, workspace, write

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


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def root_of(comments: Comments) -> Path:
    return Path(comments.tree.root)


def test_the_engine_can_be_measured_on_this_history(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "shop.py", "# top\n" + CODE.replace("count=1", "count=2"))
    commit(root, "two changes")
    measured = comments.history.bench()
    assert measured.lines > 10
    assert measured.right == measured.lines
