"""The cache knows which file's code a comment belongs to now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection

import pytest

from postil.comments.index import cache
from postil.comments.index.cache import find_held
from postil.comments.index.notes import _normalize_time  # pyright: ignore[reportPrivateUsage]
from postil.comments.operations.validation import Filters
from tests.comments.workspaces import FUNCTIONS, Comments, commit, damage_table, root_of, split, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": FUNCTIONS, "b.py": "import os\n"})


def test_code_moved_in_shows_at_once_wherever_its_file_is_asked_for(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 30, "the last function", "NOTE").commentId
    commit(root, "commented")
    split(root, 7)  # in an editor: git has seen nothing of it
    (listed,) = comments.listed("b.py").comments
    assert (listed.id, listed.movedTo, listed.line) == (identity, "b.py", 5)
    assert [each.id for each in comments.file_comments("b.py").comments] == [identity]
    assert [each.movedTo for each in comments.file_comments("a.py").comments] == ["b.py"]
    assert comments.search("last", Filters(filePath="b.py")).totalResults == 1
    assert [each.id for each in comments.resources.read_file("b.py").comments] == [identity]


def test_lost_code_is_found_when_it_turns_up_later_and_lost_when_it_leaves(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 30, "the last function", "NOTE").commentId
    commit(root, "commented")
    piece = FUNCTIONS[FUNCTIONS.index("def function_7") :]
    write(root, "a.py", FUNCTIONS.replace(piece, ""))
    assert comments.show(identity).comment.state == "orphaned"  # cut, and not yet pasted
    write(root, "later.py", "import sys\n\n\n" + piece)
    assert comments.show(identity).comment.movedTo == "later.py"
    write(root, "later.py", "import sys\n\n\n# a heading\n\n" + piece)
    assert comments.show(identity).comment.line == 7
    (root / "later.py").unlink()
    assert comments.show(identity).comment.state == "orphaned"
    assert comments.show(identity).comment.movedTo == ""


def test_which_of_some_ids_are_held_is_asked_without_reading_all(comments: Comments) -> None:
    one = comments.add("a.py", 1, "one", "NOTE").commentId
    comments.overview.refresh()
    index = comments.overview.index
    assert find_held(index, ["c_0", one, ""]) == {one}
    assert find_held(index, []) == set()
    assert index.ids(one[-6:]) == {one}
    assert index.ids("nothing") == set()


def test_a_row_says_where_its_comment_is_now_and_what_was_changed_in_it(comments: Comments) -> None:
    root, index = root_of(comments), comments.overview.index
    comments.add("a.py", 2, "one", "NOTE")
    comments.add("a.py", 6, "two", "NOTE")
    asked = "SELECT seq, place, tag, author, state FROM note ORDER BY path, place"
    comments.overview.refresh()
    before = index.select(asked)
    write(root, "a.py", "import os\n\n\n" + FUNCTIONS)
    comments.overview.refresh()
    moved = index.select(asked)
    assert moved == [(*row[:4], "moved") for row in before]
    sidecar = root / "a.py.comments"
    sidecar.write_text(sidecar.read_text().replace('"NOTE"', '"TODO"', 1))
    comments.overview.refresh()
    assert index.select(asked) == [(*moved[0][:2], "TODO", *moved[0][3:]), moved[1]]


def test_a_comment_keeps_nothing_of_the_others_on_its_line(comments: Comments) -> None:
    """Else each of n comments on one line would hold n ids, and one more would write all of them anew."""
    bodies: list[list[bytes]] = []
    for number in range(30):
        comments.add("a.py", 2, f"remark {number:02}", "NOTE")
        comments.listed("a.py")
        bodies.append([body for (body,) in comments.overview.index.select("SELECT body FROM body ORDER BY seq")])
    assert bodies[-1][:29] == bodies[-2]
    assert max(map(len, bodies[-1])) <= len(bodies[0][0]) + 4


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.678+02:00", "2026-01-02T01:04:05.678Z"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02", "2026-01-02T00:00:00.000Z"),
        ("2026-13-02T03:04:05.678Z", "2026-13-02T03:04:05.678Z"),  # no time, and no reason to lose it
        ("yesterday", "yesterday"),
    ],
)
def test_times_are_kept_so_that_they_sort_as_text(written: str, kept: str) -> None:
    assert _normalize_time(written) == kept


def test_very_many_lost_comments_are_read_in_the_order_of_files_and_not_sorted_for_every_page(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = comments.overview.index
    condition = "state IN ('orphaned', 'review')"
    assert cache.choose_order(index, condition, ()) == "note"
    monkeypatch.setattr(cache, "MOST_SORTED", 0)
    comments.add("a.py", 1, "one", "NOTE")
    write(root_of(comments), "a.py", "nothing of it\n")
    assert [each.comment.text for each in comments.overview.where("1")] == ["one"]
    assert [each.comment.text for each in index.stream(condition)] == ["one"]
    table = cache.choose_order(index, condition, ())
    sentence = f"EXPLAIN QUERY PLAN SELECT path FROM {table} WHERE {condition} ORDER BY path"
    assert not any("TEMP B-TREE" in row[-1] for row in index.select(sentence))


DAMAGES: dict[str, Callable[[Connection], object]] = {
    "a body": lambda db: db.execute("UPDATE body SET body = x'c1'"),
    "a text in a body": lambda db: db.execute(
        "UPDATE body SET body = ?",
        (db.execute("SELECT body FROM body").fetchone()[0].replace(b"one", b"\xff\xff\xff"),),
    ),
    "an id": lambda db: db.execute("UPDATE note SET id = CAST(x'ff41' AS TEXT)"),
}
READS: dict[str, Callable[[Comments], object]] = {
    "a search": lambda comments: comments.search("one"),
    "a list": lambda comments: comments.listed("a.py"),
    "a page of all": lambda comments: comments.resources.read_all(),
    "a page of a file": lambda comments: comments.resources.read_file("a.py"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("read", READS)
def test_a_cache_that_holds_what_nobody_can_read_is_made_anew(comments: Comments, read: str, damage: str) -> None:
    comments.add("a.py", 1, "one", "NOTE")
    before = READS[read](comments)
    with comments.overview.index.using() as db, db:
        DAMAGES[damage](db)
    assert READS[read](comments) == before


@pytest.mark.parametrize("table", ["gone", "corpus"])
def test_a_search_of_a_cache_with_a_damaged_page_finds_what_is_there(comments: Comments, table: str) -> None:
    comments.add("a.py", 1, "one", "NOTE")
    assert comments.search("one").totalResults == 1
    comments.overview.index.start_again(in_memory=True)
    damage_table(root_of(comments), table)
    assert Comments(str(root_of(comments))).search("one").totalResults == 1
