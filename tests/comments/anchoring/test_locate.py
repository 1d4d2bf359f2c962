"""Comments follow their code through edits, renames, branches and the work of other programs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.comments import source_tree
from postil.comments.anchoring import locate
from postil.comments.part import CommentsContext
from postil.core.failure import NotFound
from tests.comments.shop import CODE, add_at, line_of
from tests.comments.sidecars import EXTENSION, FIRST, PLAYGROUND, REFERENCE, SOURCE, as_javascript
from tests.comments.workspaces import Comments, commit, root_of, sidecar, workspace, write
from tests.workspace.repositories import git

PROSE = """\
sandbox block the every with template
be with of can not
value code template with value the
not a python
of name loader
engine template does template cache
python call block cache of line not
value call engine value call cache
python value can template engine a
with not loader
"""
REWRITTEN = """\
sandbox block the every with template
be with of can not
value code template with value the
loader is and does
with value cache
call every and is name does
name does code
value call engine value call cache
python value can template engine a
with not loader
"""
"""What was rewritten is like other lines of the old text, and hardly like any."""


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


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


def test_an_orphan_comes_back_with_its_code(comments: Comments) -> None:
    root = root_of(comments)
    add_at(comments, "self.items.append")
    begin, end = CODE.index("    def add("), CODE.index("    def total(")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    assert comments.file_comments("shop.py").orphanedCount == 1
    write(root, "shop.py", CODE)
    assert comments.file_comments("shop.py").orphanedCount == 0


def test_a_range_ends_where_its_code_ends(comments: Comments) -> None:
    start, end = line_of(CODE, "def gross"), line_of(CODE, "return round")
    comments.add("shop.py", start, "all of it", endLine=end)
    changed = "# top\n" + CODE.replace("    taxed =", "    log(price)\n    log(RATE)\n    taxed =")
    write(root_of(comments), "shop.py", changed)
    (found,) = comments.file_comments("shop.py").comments
    assert (found.line, found.endLine) == (line_of(changed, "def gross"), line_of(changed, "return round"))


def test_code_changed_in_substance_makes_the_comment_stale(comments: Comments) -> None:
    add_at(comments, "return sum")
    changed = CODE.replace("return sum(gross(item.price) for item in self.items)", "return self.cache or compute()")
    write(root_of(comments), "shop.py", changed)
    (found,) = comments.file_comments("shop.py").comments
    assert found.stale or found.state in ("orphaned", "review")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("raise DecodingError from exc", "raise DecodingError(str(exc)) from exc"),
        ("return value", "return convert(value)"),
    ],
)
def test_code_that_was_only_extended_is_not_stale(comments: Comments, old: str, new: str) -> None:
    root = root_of(comments)
    around = "def decode(value):\n    prepare(value)\n    {}\n    finish(value)\n\n\ndef last():\n    pass\n"
    write(root, "extended.py", around.format(old))
    comments.add("extended.py", 3, "of the line that grows")
    write(root, "extended.py", around.format(new))
    (found,) = comments.file_comments("extended.py").comments
    assert (found.state, found.line, found.stale) == ("modified", 3, False)


def test_a_long_range_that_was_only_extended_is_not_stale(comments: Comments) -> None:
    """Less is compared than was written: the end of the old code is further down."""
    root = root_of(comments)
    rows = [f"    first_{number} = make_{number}(value)" for number in range(39)]
    write(root, "long.py", "\n".join(["def decode(value):", *rows, "    return value", ""]))
    comments.add("long.py", 1, "of all of it", endLine=41)
    grown = [f"    other_{number} = {number} + load_{number}[key]" for number in range(30)]
    write(root, "long.py", "\n".join(["def decode(value):", *rows[:4], *grown, *rows[4:], "    return value", ""]))
    (found,) = comments.file_comments("long.py").comments
    assert (found.line, found.endLine, found.stale) == (1, 71, False)


def test_a_line_of_very_many_equal_words_is_compared_at_once(comments: Comments) -> None:
    """Five hundred of them took minutes: every list of a clone with such a line did."""
    root = root_of(comments)
    write(root, "long.txt", "start\n" + "a " * 2_000 + "\nend\n")
    comments.add("long.txt", 2, "of a long line")
    write(root, "long.txt", "start\n" + "a b " * 2_000 + "\nend\n")
    (found,) = comments.file_comments("long.txt").comments
    assert found.line == 2


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


def test_code_whose_best_place_is_hardly_likely_is_gone(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"faq.rst": PROSE})
    identity = comments.add("faq.rst", 5, "so?", "QUESTION").commentId
    commit(tmp_path, "commented")
    write(tmp_path, "faq.rst", REWRITTEN)
    culprit = commit(tmp_path, "rewritten")
    (shown,) = comments.listed().comments
    assert (shown.state, shown.line, shown.newText) == ("orphaned", 5, "")
    assert 0 < max(option.confidence for option in shown.candidates) < 0.05
    (lost,) = comments.reviewing.list_orphans().comments
    assert (lost.candidates, lost.commit.id if lost.commit else "") == ((), culprit)
    with pytest.raises(NotFound):
        comments.contract.move(identity)  # to confirm it: where no place is


def test_with_high_caution_a_place_that_is_not_quite_sure_is_left_to_a_person(tmp_path: Path) -> None:
    code = "def first(value):\n    total = value + 1\n    return total\n\n\ndef second(value):\n    return value\n"
    comments = workspace(tmp_path, **{"a.py": code})
    identity = comments.add("a.py", 2, "why one?", "QUESTION").commentId
    commit(tmp_path, "commented")
    write(
        tmp_path,
        "a.py",
        "import os\n\n\n"
        + code.replace("total = value + 1", "sum_ = value + offset").replace("return total", "return sum_"),
    )
    usual = comments.show(identity).comment
    careful = CommentsContext(str(tmp_path), cautious=True).find(identity).place
    assert usual.state in ("modified", "review")
    assert careful.state == "review"
    assert careful.candidates[0].line == usual.line


def test_caution_counts_whatever_the_cache_was_filled_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_tree, "ONE_TICK", 0)  # no file is so new that it is read again anyway
    monkeypatch.setattr(locate, "VERY_SURE", 1.1)  # as if nothing that was edited were sure
    code = "def first(value):\n    total = value + 1\n    return total\n\n\ndef second(value):\n    return value\n"
    comments = workspace(tmp_path, **{"a.py": code})
    identity = comments.add("a.py", 2, "why one?", "QUESTION").commentId
    commit(tmp_path, "commented")
    write(tmp_path, "a.py", code.replace("total = value + 1", "total = value + 2"))
    for cautious, state in ((False, "modified"), (True, "review"), (False, "modified")):
        assert CommentsContext(str(tmp_path), cautious=cautious).find(identity).place.state == state


_BLOCK = CODE[CODE.index("def gross") : CODE.index("class Basket")]
_EDITED = _BLOCK.replace("price * (1 + RATE)", "price * (1 + RATE) + FEE")


@pytest.mark.parametrize(
    "text",
    [
        CODE.rstrip() + "\n\n\n" + _EDITED.replace("gross", "gross_fee"),
        CODE.replace(_BLOCK, _EDITED.replace("gross", "gross_fee") + _BLOCK),
        CODE.replace(_BLOCK, _EDITED).rstrip() + "\n\n\n" + _BLOCK.replace("gross", "old_gross"),
        CODE.replace(_BLOCK, _EDITED).rstrip() + "\n\n\n" + _EDITED.replace("gross", "other"),
        CODE.replace(_BLOCK, _EDITED.replace("gross", "other") + _EDITED),
        CODE.replace(_BLOCK, _BLOCK.replace("gross", "old_gross") + _EDITED),
    ],
    ids=["copy below", "copy above", "kept below", "both, below", "both, above", "kept above"],
)
def test_of_a_block_that_is_copied_and_edited_in_one_commit_the_one_in_place_keeps_the_comments(
    tmp_path: Path, text: str
) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    for code in ("def gross", "taxed = ", "return round(taxed"):
        add_at(comments, code)
    commit(tmp_path, "commented")
    write(tmp_path, "shop.py", text)
    commit(tmp_path, "copied and edited")
    first = line_of(text, "def gross(")
    found = [(each.line, each.state) for each in comments.listed().comments]
    assert found[0][0] == first
    assert all(line == first + at or state == "review" for (line, state), at in zip(found, (0, 2, 3), strict=True))
