"""The comments that a revision held."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.by_id import ListedAt
from tests.comments.workspaces import Comments, commit, workspace, write
from tests.workspace.repositories import git

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


def root_of(comments: Comments) -> Path:
    return Path(comments.tree.root)


def add_at(comments: Comments, code: str, text: str = "look here") -> str:
    return comments.add("shop.py", line_of(CODE, code), text, "NOTE").commentId


def test_comments_at_a_revision_are_those_it_held_in_its_own_code(comments: Comments) -> None:
    root = root_of(comments)
    first = add_at(comments, "taxed = ", "early")
    then = commit(root, "commented")
    write(root, "shop.py", "# top\n" + CODE)
    second = comments.add("shop.py", line_of("# top\n" + CODE, "def total"), "later", "NOTE").commentId
    commit(root, "more")
    there = comments.listed(revision=then)
    assert isinstance(there, ListedAt)
    assert [(each.id, each.line) for each in there.comments] == [(first, line_of(CODE, "taxed = "))]
    assert [(each.id, each.line) for each in there.later] == [(second, line_of(CODE, "def total"))]


def test_a_list_of_the_past_is_narrowed_and_keeps_its_shape(comments: Comments) -> None:
    root = root_of(comments)
    kept = comments.add("shop.py", line_of(CODE, "taxed = "), "then", "TODO").commentId
    add_at(comments, "def net", "NOTE: another")
    commit(root, "commented")
    there = comments.listed(revision="HEAD", tag="TODO")
    assert [each.id for each in there.comments] == [kept]
    plain = msgspec.to_builtins(there.plain())
    assert list(plain) == ["revision", "comments", "later"]
    assert plain["revision"] == git(root, "rev-parse", "HEAD")
