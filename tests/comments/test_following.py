"""Comments follow their code through edits, renames, branches and other files, or say honestly that it is gone."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from postil.comments.index.refresh_worker import ENOUGH
from postil.comments.operations.by_id import ListedAt
from postil.comments.sidecar.dialects import extension_accepts
from postil.workspace import watch
from tests.comments.sidecars import EXTENSION, FIRST, PLAYGROUND, REFERENCE, SOURCE, as_javascript
from tests.comments.workspaces import Comments, commit, sidecar, workspace, write
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


def test_an_untouched_file_keeps_its_comments_exactly(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    (found,) = comments.file_comments("shop.py").comments
    assert (found.state, found.line, found.confidence) == ("exact", line_of(CODE, "taxed = "), 1.0)


def test_lines_inserted_and_deleted_above_move_a_comment(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    write(root_of(comments), "shop.py", CODE.replace('"""Prices and taxes."""\n\n', "import math\nimport sys\n\n\n\n"))
    (found,) = comments.file_comments("shop.py").comments
    assert found.state == "moved"
    assert found.line == line_of((root_of(comments) / "shop.py").read_text(), "taxed = ")


def test_an_inserted_line_inside_a_function_does_not_shift_the_comment_to_another_line(comments: Comments) -> None:
    # The extension's offset from the function's first line would now point at another statement.
    add_at(comments, "return round")
    changed = CODE.replace("    taxed =", "    check(price)\n    taxed =")
    write(root_of(comments), "shop.py", changed)
    (found,) = comments.file_comments("shop.py").comments
    assert found.line == line_of(changed, "return round")


def test_reading_leaves_the_work_tree_clean(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    commit(root_of(comments), "commented")
    write(root_of(comments), "shop.py", "# new\n" + CODE)
    commit(root_of(comments), "moved")
    comments.file_comments("shop.py")
    comments.listed()
    comments.search("look")
    assert git(root_of(comments), "status", "--porcelain") == ""


def test_relocate_writes_the_new_place_and_the_extension_takes_it(comments: Comments) -> None:
    identity = add_at(comments, "taxed = ")
    write(root_of(comments), "shop.py", "# new\n" + CODE)
    (step,) = comments.relocate().moved
    assert (step.commentId, step.targetLine) == (identity, line_of(CODE, "taxed = ") + 1)
    written = msgspec.json.decode(sidecar(root_of(comments), "shop.py"))
    (marker,) = written["ghostMarkers"]
    assert (marker["line"], marker["lineText"]) == (step.targetLine, "taxed = price * (1 + RATE)")
    assert marker["x-anchor"]["history"][0]["line"] == step.sourceLine
    assert extension_accepts(sidecar(root_of(comments), "shop.py"))
    assert comments.file_comments("shop.py").comments[0].state == "exact"
    assert comments.relocate().moved == ()


def test_a_branch_switch_and_back_needs_no_hook(comments: Comments) -> None:
    root = root_of(comments)
    add_at(comments, "def total")
    commit(root, "commented")
    git(root, "checkout", "-q", "-b", "other")
    write(root, "shop.py", CODE.replace("RATE = 0.19\n", "RATE = 0.19\nREDUCED = 0.07\nNONE = 0\n"))
    commit(root, "rates")
    here = line_of(CODE, "def total")
    assert comments.file_comments("shop.py").comments[0].line == here + 2
    git(root, "checkout", "-q", "main")
    assert comments.file_comments("shop.py").comments[0].line == here
    git(root, "merge", "-q", "other")
    assert comments.file_comments("shop.py").comments[0].line == here + 2


def test_a_rename_of_the_symbol_and_its_variables_is_followed(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    changed = CODE.replace("def gross(price)", "def with_tax(amount)").replace("taxed = price", "full = amount")
    write(root_of(comments), "shop.py", changed.replace("round(taxed", "round(full"))
    (found,) = comments.file_comments("shop.py").comments
    assert found.state in ("modified", "review")
    assert found.line == line_of(changed, "full = amount")
    assert found.oldText.strip() == "taxed = price * (1 + RATE)"


def test_deleted_code_orphans_its_comment_and_names_the_commit(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "self.items.append")
    commit(root, "commented")
    begin, end = CODE.index("    def add("), CODE.index("    def total(")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    guilty = commit(root, "drop add")
    write(root, "shop.py", "# later\n" + CODE[:begin] + CODE[end:])
    commit(root, "later")
    shown = comments.show(identity)
    assert shown.comment.state == "orphaned"
    assert shown.comment.oldText.strip() == "self.items.append(item)"
    assert shown.commit is not None
    assert (shown.commit.id, shown.commit.subject) == (guilty, "drop add")
    assert comments.file_comments("shop.py", includeOrphaned=False).comments == ()
    assert comments.file_comments("shop.py").orphanedCount == 1


def test_an_orphan_comes_back_with_its_code(comments: Comments) -> None:
    root = root_of(comments)
    add_at(comments, "self.items.append")
    begin, end = CODE.index("    def add("), CODE.index("    def total(")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    assert comments.file_comments("shop.py").orphanedCount == 1
    write(root, "shop.py", CODE)
    assert comments.file_comments("shop.py").orphanedCount == 0


def test_the_moving_commit_is_named(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", CODE + "\nEND = 1\n")
    commit(root, "below: moves nothing")
    write(root, "shop.py", "# top\n" + CODE + "\nEND = 1\n")
    guilty = commit(root, "above")
    shown = comments.show(identity)
    assert shown.comment.state == "moved"
    assert shown.commit is not None
    assert shown.commit.id == guilty


def test_a_range_ends_where_its_code_ends(comments: Comments) -> None:
    start, end = line_of(CODE, "def gross"), line_of(CODE, "return round")
    comments.add("shop.py", start, "all of it", endLine=end)
    changed = "# top\n" + CODE.replace("    taxed =", "    log(price)\n    log(RATE)\n    taxed =")
    write(root_of(comments), "shop.py", changed)
    (found,) = comments.file_comments("shop.py").comments
    assert (found.line, found.endLine) == (line_of(changed, "def gross"), line_of(changed, "return round"))


def test_a_function_moved_to_another_file_takes_its_comment_along(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    begin, end = CODE.index("def gross"), CODE.index("class Basket")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    moved = '"""Taxes."""\n\nRATE = 0.19\n\n\n' + CODE[begin:end]
    write(root, "tax.py", moved)
    commit(root, "split")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line) == ("tax.py", line_of(moved, "taxed = "))
    (step,) = comments.relocate().moved
    assert (step.source, step.target) == ("shop.py", "tax.py")
    assert [each.id for each in comments.file_comments("tax.py").comments] == [identity]
    assert comments.file_comments("shop.py").comments == ()
    assert extension_accepts(sidecar(root, "tax.py"))
    undone = comments.undo(identity)
    assert (undone.targetFile, undone.targetLine) == ("shop.py", line_of(CODE, "taxed = "))
    assert [each.id for each in comments.file_comments("shop.py").comments] == [identity]


def test_a_renamed_file_whose_sidecar_stayed_behind_is_found(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "def total")
    commit(root, "commented")
    git(root, "mv", "shop.py", "store.py")
    commit(root, "renamed")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line) == ("store.py", line_of(CODE, "def total"))
    comments.relocate()
    assert [each.id for each in comments.file_comments("store.py").comments] == [identity]


def test_copied_code_does_not_take_the_comment_away(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    begin, end = CODE.index("def gross"), CODE.index("class Basket")
    write(root_of(comments), "shop.py", CODE + "\n\n" + CODE[begin:end].replace("gross", "gross_again"))
    (found,) = comments.file_comments("shop.py").comments
    assert (found.state, found.line) == ("exact", line_of(CODE, "taxed = "))


def test_code_changed_in_substance_makes_the_comment_stale(comments: Comments) -> None:
    add_at(comments, "return sum")
    changed = CODE.replace("return sum(gross(item.price) for item in self.items)", "return self.cache or compute()")
    write(root_of(comments), "shop.py", changed)
    (found,) = comments.file_comments("shop.py").comments
    assert found.stale or found.state in ("orphaned", "review")


def test_markers_of_the_extension_are_followed_by_their_text(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "simple.js", SOURCE)
    write(root, "simple.js.comments", as_javascript(EXTENSION))
    assert comments.file_comments("simple.js").comments[0].state == "exact"
    write(root, "simple.js", "'use strict';\n\n" + SOURCE)
    (found,) = comments.file_comments("simple.js").comments
    assert (found.state, found.line) == ("moved", 4)
    write(root, "simple.js", "'use strict';\n")
    assert comments.file_comments("simple.js").comments[0].state == "orphaned"


def test_a_marker_the_extension_moved_counts_where_it_put_it(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    root = root_of(comments)
    text = "# one\n# two\n" + CODE
    write(root, "shop.py", text)
    written = msgspec.json.decode(sidecar(root, "shop.py"))
    written["ghostMarkers"][0] |= {
        "line": line_of(text, "return round"),
        "lineText": "return round(taxed, 2)",
        "prevLineText": "taxed = price * (1 + RATE)",
        "nextLineText": "",
    }
    write(root, "shop.py.comments", as_javascript(written))
    assert comments.file_comments("shop.py").comments[0].line == line_of(text, "return round")


@pytest.mark.parametrize(("value", "line"), [(REFERENCE, 7), (PLAYGROUND, 3), (FIRST, 8)], ids=["B", "C", "1.0"])
def test_markers_without_text_are_believed_while_their_line_is_there(
    comments: Comments, value: dict[str, object], line: int
) -> None:
    root = root_of(comments)
    write(root, "simple.js", SOURCE)
    write(root, "simple.js.comments", as_javascript(value))
    (found,) = comments.file_comments("simple.js").comments
    assert (found.state, found.line) == ("exact", line)
    assert found.confidence < 1
    write(root, "simple.js", "x\n")
    assert comments.file_comments("simple.js").comments[0].state == "orphaned"


def test_the_reference_servers_marker_whose_symbol_is_gone_says_so(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "simple.js", SOURCE.replace("multiply", "product"))
    write(root, "simple.js.comments", as_javascript(REFERENCE))
    (found,) = comments.file_comments("simple.js").comments
    assert (found.state, found.reason) == ("orphaned", "Anchor 'multiply' no longer exists")


def test_without_git_comments_still_follow(tmp_path: Path) -> None:
    write(tmp_path, "shop.py", CODE)
    comments = Comments(str(tmp_path), cache_home=str(tmp_path / ".cache"))
    assert not comments.tree.git
    comments.add("shop.py", line_of(CODE, "taxed = "), "plain folder", "NOTE")
    write(tmp_path, "shop.py", "# top\n" + CODE)
    assert comments.file_comments("shop.py").comments[0].line == line_of(CODE, "taxed = ") + 1


def test_an_unchanged_file_is_not_read_again(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    add_at(comments, "taxed = ")
    settled = threading.Event()
    threading.Timer(0.1, settled.set).start()  # older than one tick of the file system's clock
    assert settled.wait(5)
    assert comments.listed().total == 1

    def never(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(comments.store, "read", never)
    assert comments.listed().total == 1
    assert comments.search("look").totalResults == 1


def test_two_saves_within_one_tick_of_the_clock_are_two(comments: Comments) -> None:
    # Same size, same inode, and on most file systems the same time: a stat alone cannot tell them apart.
    add_at(comments, "taxed = ")
    here = line_of(CODE, "taxed = ")
    first, second = "# ab\n" + CODE + "# cd\n", CODE + "# ab\n# cd\n"
    for text, line in [(first, here + 1), (second, here)] * 20:
        write(root_of(comments), "shop.py", text)
        assert comments.file_comments("shop.py").comments[0].line == line
        assert comments.listed().comments[0].line == line


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


def test_blame_lists_the_commits_that_touched_the_code(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", "# top\n" + CODE)
    commit(root, "above: does not touch it")
    write(root, "shop.py", "# top\n" + CODE.replace("taxed = price * (1 + RATE)", "taxed = price * (1.0 + RATE)"))
    commit(root, "touches it")
    assert [each.commit.subject for each in comments.blame(identity).touches] == ["touches it", "first"]


def test_the_engine_can_be_measured_on_this_history(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "shop.py", "# top\n" + CODE.replace("count=1", "count=2"))
    commit(root, "two changes")
    measured = comments.history.bench()
    assert measured.lines > 10
    assert measured.right == measured.lines


def test_after_a_pull_that_changed_many_files_all_are_placed(comments: Comments) -> None:
    root = root_of(comments)
    here = line_of(CODE, "taxed = ")
    for number in range(ENOUGH + 5):
        write(root, f"many/shop{number}.py", CODE)
        comments.add(f"many/shop{number}.py", here, f"in {number}", "NOTE")
    commit(root, "many")
    for number in range(ENOUGH + 5):
        write(root, f"many/shop{number}.py", f"# {number}\n" * (number % 3 + 1) + CODE)
    found = comments.listed("many").comments
    assert {(each.filePath, each.line, each.text) for each in found} == {
        (f"many/shop{number}.py", here + number % 3 + 1, f"in {number}") for number in range(ENOUGH + 5)
    }


def test_one_file_does_not_wait_until_all_others_are_read(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = add_at(comments, "taxed = ")
    root = root_of(comments)
    for number in range(6):
        write(root, f"other{number}.py", CODE)
        write(root, f"other{number}.py.comments", sidecar(root, "shop.py").replace(b"c_", b"c_%d" % number))
    monkeypatch.setattr("postil.comments.index.overview.MANY_UNREAD", 3)
    fresh = Comments(str(root))
    may_read = threading.Event()
    catch_up = fresh.overview.refresh
    monkeypatch.setattr(fresh.overview, "refresh", lambda: may_read.wait(20) and catch_up())
    assert [each.id for each in fresh.file_comments("shop.py").comments] == [identity]
    assert fresh.overview.index.paths() == []  # nothing but that file was read for it
    may_read.set()
    assert fresh.overview._meanwhile is not None  # pyright: ignore[reportPrivateUsage]
    fresh.overview._meanwhile.join(20)  # pyright: ignore[reportPrivateUsage]
    assert len(fresh.overview.index.paths()) == 7
    assert [each.id for each in fresh.file_comments("shop.py").comments] == [identity]


def test_without_watches_left_a_change_is_still_seen_at_once(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_source", watch._Polling)  # pyright: ignore[reportPrivateUsage]
    identity = add_at(comments, "taxed = ", "before")
    for number in range(8):
        comments.edit("shop.py", identity, f"edit {number}")
        assert comments.search(f"edit {number}").totalResults == 1
