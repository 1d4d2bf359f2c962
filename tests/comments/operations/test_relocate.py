"""Comments are taken to other lines and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.comments.failures import SourceNotFound
from postil.comments.operations.views import ViewTools
from postil.comments.show.one_comment import show_line
from postil.core.failure import Conflict, NotFound
from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import FUNCTIONS, Comments, commit, root_of, sidecar, split, workspace, write
from tests.workspace.repositories import git


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": FUNCTIONS, "b.py": "import os\n"})


def test_all_comments_of_a_file_go_to_the_one_that_has_their_code(comments: Comments) -> None:
    root = root_of(comments)
    goes = [comments.add("a.py", line, f"at {line}", "NOTE").commentId for line in (2, 6)]
    stays = comments.add("a.py", 30, "the last function", "NOTE").commentId
    half = FUNCTIONS[: FUNCTIONS.index("def function_4")]
    write(root, "half.py", "import os\n\n\n" + half)  # a copy: a.py has the code, too
    done = comments.move_all("a.py", "half.py")
    assert [each.commentId for each in done.moved] == goes
    assert [each.id for each in done.left] == [stays]
    assert {each.id: each.line for each in comments.listed("half.py").comments} == {goes[0]: 5, goes[1]: 9}
    assert comments.undo(goes[0]).targetFile == "a.py"


def test_all_that_is_listed_in_a_file_goes_whoever_keeps_it(comments: Comments) -> None:
    """It was taken from the file's own sidecar: what had come from another file was "not there"."""
    root = root_of(comments)
    ids = [comments.add("a.py", line, f"about line {line}", "NOTE").commentId for line in (29, 30)]
    commit(root, "commented")
    split(root, 7)
    commit(root, "split")
    listed = [(each.id, each.line) for each in comments.listed("b.py").comments]
    assert [name for name, _ in listed] == ids
    write(root, "c.py", "import sys\n\n\n\n" + (root / "b.py").read_text().removeprefix("import os\n"))
    done = comments.move_all("b.py", "c.py")
    assert [(each.commentId, each.sourceFile, each.sourceLine) for each in done.moved] == [
        (name, "b.py", line) for name, line in listed
    ]
    assert [each.newAnchor for each in done.moved] == ["function_7()"] * 2
    assert [each.id for each in comments.listed("c.py").comments] == ids


def test_what_is_listed_in_the_target_already_is_moved_there(comments: Comments) -> None:
    root = root_of(comments)
    goes = comments.add("a.py", 30, "about the last", "NOTE").commentId
    stays = comments.add("a.py", 2, "about the first", "NOTE").commentId
    commit(root, "commented")
    split(root, 7)
    write(root, "a.py", "import os\n" + (root / "a.py").read_text())
    (shown,) = comments.listed("b.py").comments
    done = comments.move_all("a.py", "b.py")
    assert [(each.commentId, each.targetLine) for each in done.moved] == [(goes, shown.line)]
    assert [(each.id, each.line) for each in done.left] == [(stays, 3)]


def test_what_relocates_into_an_ignored_file_is_said_to_stay_here(comments: Comments) -> None:
    root = root_of(comments)
    comments.add("a.py", 30, "about the last", "NOTE")
    write(root, ".gitignore", "b.py.comments\n")
    commit(root, "commented")
    split(root, 7)
    said = comments.relocate().for_model()
    assert said.endswith("⚠️ git ignores b.py.comments: the comment stays on this computer, no commit takes it along")


def test_a_copy_is_a_comment_of_its_own(comments: Comments) -> None:
    original = comments.add("a.py", 2, "TODO: both", "TODO", "ann").commentId
    copied = comments.add("a.py", 6, copyOf=original).commentId
    assert copied != original
    assert [(each.line, each.text, each.tag) for each in comments.listed().comments] == [
        (2, "TODO: both", "TODO"),
        (6, "TODO: both", "TODO"),
    ]
    assert f'"x-copy-of": "{original}"'.encode() in sidecar(root_of(comments), "a.py")
    comments.delete("a.py", original)
    assert comments.listed().total == 1


def test_a_file_that_is_not_there_is_said_and_an_empty_folder_is_not(comments: Comments) -> None:
    with pytest.raises(NotFound):
        comments.listed("no-such-file.py")
    assert comments.listed("b.py").total == 0
    assert comments.listed("*.rs").total == 0


def test_a_comment_can_be_changed_by_the_file_its_code_is_in(comments: Comments) -> None:
    root = root_of(comments)
    ids = [comments.add("a.py", line, f"about line {line}", "NOTE").commentId for line in (29, 30)]
    commit(root, "commented")
    split(root, 7)
    assert {each.id for each in comments.file_comments("b.py").comments} == set(ids)
    comments.edit("b.py", ids[0], "edited where its code is")
    assert comments.show(ids[0]).comment.text == "edited where its code is"
    moved = comments.move("b.py", "b.py", ids[0], 4)
    assert moved.targetFile == "b.py"
    comments.delete("b.py", ids[1])
    assert [each.id for each in comments.listed().comments] == [ids[0]]
    with pytest.raises(NotFound):
        comments.edit("b.py", ids[1], "gone")


def test_what_lost_its_code_goes_along_when_its_file_is_renamed(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    lost, stays = add_at(comments, "return price / ", "why no rounding?"), add_at(comments, "self.items.append", "here")
    commit(tmp_path, "commented")
    (tmp_path / "shop.py").unlink()
    begin, end = CODE.index("def net"), CODE.index("def gross")
    write(tmp_path, "store.py", CODE[:begin] + CODE[end:])
    commit(tmp_path, "renamed, one function deleted")
    shown = comments.show(lost).comment
    assert (shown.state, shown.path, shown.origin) == ("orphaned", "store.py", "was in shop.py")
    seen = ViewTools(comments.context).view("store.py").text
    assert "why no rounding?" in seen[seen.index("Without their code:") :]
    assert [each.id for each in comments.reviewing.list_orphans("store.py").comments] == [lost]
    assert {each.id for each in comments.listed("store.py").comments} == {lost, stays}
    assert "Their code is in another file now" not in _view_of(comments, "shop.py", "why no rounding?")
    dry = comments.relocate("store.py", dryRun=True)
    assert {(each.commentId, each.target) for each in dry.moved} == {(stays, "store.py")}
    assert dry.for_model().startswith("1 would move, 0 to review, 1 orphaned (1 of them would go with their file)\n")
    done = comments.relocate().for_model()
    assert done.startswith("1 moved, 0 to review, 1 orphaned (1 of them went with their file)\n")
    assert done.count(lost) == 1
    assert not (tmp_path / "shop.py.comments").exists()
    after = {each.id: each for each in comments.listed().comments}
    assert (after[lost].filePath, after[lost].state, after[stays].filePath) == ("store.py", "orphaned", "store.py")
    assert "return price / (1 + RATE)" in after[lost].oldText
    commit(tmp_path, "relocated")
    write(tmp_path, "store.py", CODE)  # and when the code comes back, it is found
    assert comments.show(lost).comment.state in ("exact", "moved")
    assert comments.undo(lost).targetFile == "shop.py"


def _view_of(comments: Comments, path: str, said: str) -> str:
    """What stands above a comment in the view of a file that is gone."""
    text = ViewTools(comments.context).view(path).text
    above = text[: text.index(said)]
    return above[above.rindex(":\n") - 40 :]


def test_what_is_uncertain_is_shown_where_it_may_belong(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    unsure = add_at(comments, "taxed = ")
    commit(tmp_path, "commented")
    (tmp_path / "shop.py").unlink()
    edited = "    amount = price + tax(price)\n    return round(amount, 2)"
    write(tmp_path, "store.py", CODE.replace("    taxed = price * (1 + RATE)\n    return round(taxed, 2)", edited))
    commit(tmp_path, "renamed, one function edited")
    assert comments.show(unsure).comment.state == "review"
    seen = ViewTools(comments.context).view("store.py").text
    assert "look here" in seen
    assert "was in shop.py" in seen[seen.index("amount = price") : seen.index("return round(amount")]
    assert [each.id for each in comments.reviewing.list_orphans("store.py").comments] == [unsure]


@pytest.mark.parametrize("how", ["relocate", "add"])
def test_writing_places_changes_no_verdict_about_what_is_stale(comments: Comments, how: str) -> None:
    """A range that grew, one that shrank, one with long lines, and one of more lines than a marker keeps."""
    root = root_of(comments)
    long = "x = " + " + ".join(f"value_{n}" for n in range(90))
    body = [f"    step_{n} = take({n})" for n in range(60)]
    grown, shrunk = [f"grown_{n} = {n}" for n in range(4)], [f"shrunk_{n} = of({n})" for n in range(8)]
    rows = [*grown, "", *shrunk, "", long, "", "def whole():", *body]
    write(root, "c.py", "\n".join(rows) + "\n")
    ranges = {"grown": (1, 4), "shrunk": (6, 13), "long": (15, 15), "whole": (17, 77)}
    for text, (first, last) in ranges.items():
        comments.add("c.py", first, text, "NOTE", endLine=last)
    commit(root, "commented")
    more = [f"other_{n} = wholly.different(code, {n})" for n in range(6)]
    rows = [*grown[:2], *more, *grown[2:], "", shrunk[0], shrunk[7], "", long.replace("value", "amount", 60), ""]
    rows += ["def whole():", *body[:20], *(row.replace("take", "give") for row in body[20:])]
    write(root, "c.py", "\n".join(rows) + "\n")
    commit(root, "edited")

    def list_stale() -> set[str]:
        return {each.text for each in comments.listed(stale=True).comments}

    before = list_stale()
    assert before
    if how == "relocate":
        comments.relocate()
    else:
        comments.add("c.py", 1, "another", "NOTE")
    assert list_stale() == before


def test_undoing_a_decision_does_not_state_a_place_that_is_uncertain(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    unsure = add_at(comments, "taxed = ")
    commit(tmp_path, "commented")
    (tmp_path / "shop.py").unlink()
    edited = "    amount = price + tax(price)\n    return round(amount, 2)"
    write(tmp_path, "store.py", CODE.replace("    taxed = price * (1 + RATE)\n    return round(taxed, 2)", edited))
    commit(tmp_path, "renamed, one function edited")
    assert comments.show(unsure).comment.state == "review"
    comments.contract.move(unsure, "store.py", 14)
    undone = comments.undo(unsure)
    assert undone.codeNow == "perhaps at store.py:13"
    assert "\nThat code is perhaps at store.py:13 now\n" in undone.for_model()


def test_what_was_edited_where_it_is_is_told_and_no_more_than_twenty_are_printed(tmp_path: Path) -> None:
    code = "".join(f"value_{number} = compute({number}, first, second)\n" for number in range(30))
    comments = workspace(tmp_path, **{"a.py": code})
    for line in range(1, 26):
        comments.add("a.py", line, f"number {line}")
    write(tmp_path, "a.py", "import os\n" + code)
    assert comments.relocate(dryRun=True).for_model().endswith("  … and 5 more")
    write(tmp_path, "a.py", code.replace("compute(3, first", "compute(3, third"))
    assert comments.relocate().for_model().startswith("1 moved (1 of them edited where they are), 0 to review")


def test_an_undo_takes_back_the_reply_that_came_after_a_move(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    identity = add_at(comments, "taxed = ")
    line = comments.show(identity).comment.line
    comments.edit("shop.py", identity, "why twice?")
    comments.move("shop.py", "shop.py", identity, 1)
    first, second = (comments.reply(identity, text).replyId for text in ("one", "two"))

    def list_said() -> list[str]:
        return [reply.text for reply in comments.show(identity).comment.replies]

    answers = [comments.relocating.undo(identity).for_model().split("\n") for _ in range(2)]
    assert {answer[0] for answer in answers} == {"✅ Reply taken back"}
    assert [answer[-1] for answer in answers] == ["two", "one"]
    assert (list_said(), comments.show(identity).comment.line) == ([], 1)
    assert not {first, second} & {each.id for each in comments.maintenance.check_files().erased}
    comments.relocating.undo(identity)
    assert (comments.show(identity).comment.line, comments.show(identity).comment.text) == (line, "why twice?")
    comments.relocating.undo(identity)
    assert comments.show(identity).comment.text != "why twice?"


def test_an_undo_leaves_replies_alone_that_are_gone_or_were_not_meant(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    identity = add_at(comments, "taxed = ")
    commit(tmp_path, "commented")
    edited = comments.edit("shop.py", identity, "why twice?")
    before = (tmp_path / "shop.py.comments").read_bytes()
    comments.reply(identity, "stays")
    comments.relocating.undo(identity, madeAt=edited.updated)
    now_ = comments.show(identity).comment
    assert (now_.text == "why twice?", [reply.text for reply in now_.replies]) == (False, ["stays"])
    comments.edit("shop.py", identity, "why twice?")
    comments.reply(identity, "goes")
    write(tmp_path, "shop.py.comments", before)
    comments.relocating.undo(identity)
    assert comments.show(identity).comment.text != "why twice?"


def test_a_comment_in_review_is_listed_where_its_file_is_and_goes_along(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    unsure = add_at(comments, "taxed = ")
    commit(tmp_path, "commented")
    (tmp_path / "lib").mkdir()
    git(tmp_path, "mv", "shop.py", "lib/store.py")
    edited = "    amount = price + tax(price)\n    return round(amount, 2)"
    write(tmp_path, "lib/store.py", CODE.replace("    taxed = price * (1 + RATE)\n    return round(taxed, 2)", edited))
    commit(tmp_path, "renamed, one function edited")
    (listed,) = comments.listed("lib").comments
    assert (listed.id, listed.state, listed.path) == (unsure, "review", "lib/store.py")
    assert listed.line == listed.candidates[0].line
    assert "lib/store.py" in show_line(listed)
    assert [each.id for each in ViewTools(comments.context).view("lib/store.py").comments] == [unsure]
    assert "1 to review, 0 orphaned (1 of them went with their file)" in comments.relocate().for_model()
    assert not (tmp_path / "shop.py.comments").exists()
    after = comments.show(unsure).comment
    assert (after.filePath, after.movedTo, after.state, after.oldText) == ("lib/store.py", "", "review", listed.oldText)
    assert [each.line for each in after.candidates] == [each.line for each in listed.candidates]


def test_an_undo_takes_no_reply_that_somebody_else_gave_the_id_of_ours(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    identity = add_at(comments, "taxed = ")
    made = comments.reply(identity, "ours").replyId
    held = json.loads((tmp_path / "shop.py.comments").read_bytes())
    [ours] = held["comments"][0]["replies"]
    theirs = {**ours, "author": "eve", "text": "theirs"}
    held["comments"][0]["replies"] = [ours, theirs]
    write(tmp_path, "shop.py.comments", json.dumps(held))
    assert comments.relocating.undo(identity).for_model().endswith("\n\nours")
    assert [(reply.id, reply.text) for reply in comments.show(identity).comment.replies] == [(made, "theirs")]


def test_an_undo_takes_no_reply_whose_words_another_program_changed(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"shop.py": CODE})
    identity = add_at(comments, "taxed = ")
    comments.reply(identity, "ours")
    held = json.loads((tmp_path / "shop.py.comments").read_bytes())
    held["comments"][0]["replies"][0]["text"] = "longer by another hand"
    write(tmp_path, "shop.py.comments", json.dumps(held))
    with pytest.raises(Conflict):
        comments.relocating.undo(identity)
    assert [reply.text for reply in comments.show(identity).comment.replies] == ["longer by another hand"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It said that nothing was moved, as of a file without comments."""
    comments = workspace(tmp_path, **{"a.py": FUNCTIONS})
    comments.add("a.py", 1, "one", "NOTE")
    with pytest.raises(SourceNotFound):
        comments.relocating.relocate(files=("b.py",))
    assert not comments.relocating.relocate(files=("b/*.py",)).moved
