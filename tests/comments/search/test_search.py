"""A search finds what matches, newest first, and counts before the limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments.workspaces import Comments, workspace

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def test_search_filters_by_file_author_date_and_counts_before_the_limit(comments: Comments) -> None:
    for number in range(5):
        comments.add("a.py", number + 1, f"Rate limit {number}", "TODO", "ann")
    comments.add("lib/b.py", 1, "rate of change", "NOTE", "bob")
    found = comments.search("rate", limit=2)
    assert (found.totalResults, len(found.comments)) == (6, 2)
    assert comments.search("rate", file="lib").totalResults == 1
    assert comments.search("rate", author="ann").totalResults == 5
    assert comments.search("rate", until="2020-01-01").totalResults == 0
    assert comments.search("rate", since="2020-01-01T00:00:00+02:00").totalResults == 6
    assert comments.search("^rate.*[34]$").totalResults == 2
    assert comments.search("(?-i)Rate").totalResults == 5
    assert comments.search("limit [0-9", plain=True).totalResults == 0
    assert comments.search("LIMIT 3", plain=True).totalResults == 1


def test_a_changed_comment_is_found_by_its_new_text_only(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "before", "NOTE").commentId
    assert comments.search("before").totalResults == 1
    comments.edit("a.py", identity, "after")
    assert comments.search("before").totalResults == 0
    assert comments.search("after").totalResults == 1
    comments.delete("a.py", identity)
    assert comments.search("after").totalResults == 0


def test_comments_are_found_newest_first_whether_few_or_most_match(tmp_path: Path) -> None:
    comments: Comments = workspace(tmp_path, **{"a.py": "".join(f"value_{n} = {n}\n" for n in range(40))})
    made = [comments.add("a.py", n + 1, f"text {n}", "NOTE").commentId for n in range(40)]
    found = comments.search("text", limit=5)
    assert (found.totalResults, [each.id for each in found.comments]) == (40, sorted(made, reverse=True)[:5])
    assert comments.search("text 7").totalResults == 1
    assert comments.search("text 1").totalResults == 11
