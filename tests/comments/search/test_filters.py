"""Filters on comments: in a query, and as arguments."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.validation import Filters
from postil.comments.search.filters import Conditions, split_filters
from postil.core.failure import InvalidArguments
from tests.comments.workspaces import Comments, sidecar, workspace, write

TODAY = datetime(2026, 6, 15, 12, tzinfo=UTC)


CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.mark.parametrize(
    ("query", "rest", "wanted"),
    [
        ("tag:TODO rate limit", "rate limit", Conditions(tag="TODO")),
        ("tag:todo author:x is:orphaned", "", Conditions(tag="TODO", author="x", state="orphaned")),
        ('author:"Ann B" a.*b', "a.*b", Conditions(author="Ann B")),
        ("is:resolved has:ai is:stale", "", Conditions(status="resolved", with_ai=True, stale=True)),
        ("file:src/**/*.ts", "", Conditions(file="src/**/*.ts")),
        ("created:>7d", "", Conditions(since="2026-06-08T12:00:00.000Z")),
        ("created:<2w x", "x", Conditions(until="2026-06-01T12:00:00.000Z")),
        ("created:>=2026-01-31", "", Conditions(since="2026-01-31T00:00:00.000Z")),
        ("created:2026-01-31", "", Conditions(since="2026-01-31T00:00:00.000Z", until="2026-02-01T00:00:00.000Z")),
        ("nothing:special see http://x (tag:none)", "nothing:special see http://x (tag:none)", Conditions()),
    ],
)  # fmt: skip
def test_filters_are_taken_out_of_the_query(query: str, rest: str, wanted: Conditions) -> None:
    assert split_filters(query, Conditions(), TODAY) == (rest, wanted)


@pytest.mark.parametrize(
    "query", ["tag:nonsense", "is:lost", "has:legs", "created:soon", "created:>99999y", 'created:""', "created:>"]
)
def test_a_filter_there_is_none_of_is_refused_with_advice(query: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        split_filters(query, Conditions(), TODAY)
    assert caught.value.advice


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE})
    made.add("a.py", 3, "TODO: limit the rate", "TODO", "ann")
    made.add("a.py", 9, "rate of change", "NOTE", "bob")
    done = made.add("lib/b.py", 5, "rate limiting is done", "TODO", "bob").commentId
    made.resolve(done, author="bob")
    old = sidecar(tmp_path, "lib/b.py").replace(b'"created": "2', b'"created": "1')
    write(tmp_path, "lib/b.py.comments", old)
    return made


def test_a_search_with_filters_in_it_finds_what_they_say(comments: Comments) -> None:
    def texts(query: str) -> list[str]:
        return sorted(each.text for each in comments.search(query, words=True).comments)

    assert texts("tag:TODO") == ["TODO: limit the rate", "rate limiting is done"]
    assert texts("rate author:bob is:open") == ["rate of change"]
    assert texts("is:resolved") == ["rate limiting is done"]
    assert texts("rate created:>7d") == ["TODO: limit the rate", "rate of change"]
    assert texts("created:<1y") == ["rate limiting is done"]
    assert texts("file:lib") == ["rate limiting is done"]
    write(Path(comments.tree.root), "a.py", "".join(CODE.splitlines(keepends=True)[:5]))
    assert texts("is:orphaned") == ["rate of change"]
    assert comments.search("tag:TODO", plain=True, words=True).totalResults == 0


def test_assistants_may_filter_by_state_and_status_too(comments: Comments) -> None:
    assert comments.search("rate", Filters(status="resolved")).totalResults == 1
    assert comments.search("rate", Filters(state="orphaned")).totalResults == 0
    assert comments.search("rate", msgspec.convert({"state": "exact"}, Filters)).totalResults == 3
