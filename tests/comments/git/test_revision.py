"""The comments that a revision held."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.by_id import ListedAt
from tests.comments.shop import CODE, add_at, line_of
from tests.comments.workspaces import Comments, commit, root_of, workspace, write
from tests.workspace.repositories import git


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


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


def test_a_list_of_the_past_follows_renames_as_the_list_of_today_does(comments: Comments) -> None:
    root = root_of(comments)
    first = add_at(comments, "taxed = ", "early")
    before = commit(root, "commented")
    git(root, "mv", "shop.py", "store.py")  # the sidecar keeps its name
    renamed = commit(root, "renamed")
    second = comments.add("store.py", line_of(CODE, "def total"), "later", "NOTE").commentId
    commit(root, "more")
    then = comments.listed(revision=renamed)
    assert isinstance(then, ListedAt)
    line = line_of(CODE, "taxed = ")
    assert [(each.id, each.path, each.line, each.state) for each in then.comments] == [
        (first, "store.py", line, "exact")
    ]
    assert [(each.id, each.path) for each in then.later] == [(second, "store.py")]
    there = comments.listed(revision=before)
    assert isinstance(there, ListedAt)
    assert [(each.id, each.path) for each in there.comments] == [(first, "shop.py")]
    assert [(each.id, each.path, each.line) for each in there.later] == [
        (second, "shop.py", line_of(CODE, "def total"))
    ]
