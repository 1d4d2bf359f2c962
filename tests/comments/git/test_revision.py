"""The comments that a revision held."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postil.comments.git import revision
from postil.comments.model import Located
from postil.comments.operations.by_id import ListedAt
from postil.comments.sidecar.document import Sidecar
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


def test_a_list_of_the_past_follows_renames_and_edits_step_by_step(comments: Comments) -> None:
    """From the first version to the last git sees no rename: nearly all of it was written anew in between."""
    root, text, name = root_of(comments), CODE, "shop.py"
    first = commit(root, "first") if git(root, "status", "--porcelain") else git(root, "rev-parse", "HEAD")
    blocks = CODE.split("\n\n\n")
    for number, block in enumerate([*blocks[1:2], *blocks[3:], blocks[0]]):
        git(root, "mv", name, f"shop_{number}.py")
        commit(root, "renamed")
        name = f"shop_{number}.py"
        text = text.replace(block, "".join(f"step_{number}_{n} = call_{number}({n})\n" for n in range(12)))
        write(root, name, text)
        commit(root, "edited")
    later = comments.add(name, line_of(text, "taxed = "), "later", "NOTE").commentId
    there = comments.listed(revision=first)
    assert isinstance(there, ListedAt)
    line = line_of(CODE, "taxed = ")
    assert [(each.id, each.path, each.line) for each in there.later] == [(later, "shop.py", line)]


def test_a_damaged_sidecar_of_then_is_named(comments: Comments) -> None:
    root = root_of(comments)
    add_at(comments, "taxed = ", "kept")
    write(root, "other.py", CODE)
    write(root, "other.py.comments", "{ not a sidecar")
    commit(root, "damaged")
    (root / "other.py.comments").unlink()
    there = comments.listed(revision="HEAD")
    assert [each.text for each in there.comments] == ["kept"]
    assert [each.filePath for each in there.damaged] == ["other.py"]
    assert there.exit_status == 7
    assert "other.py.comments" in there.for_model()
    assert msgspec.to_builtins(there.plain())["damaged"]


def test_a_sidecar_of_then_whose_content_git_has_lost_is_named(comments: Comments) -> None:
    root = root_of(comments)
    add_at(comments, "taxed = ", "lost")
    commit(root, "commented")
    blob = git(root, "rev-parse", "HEAD:shop.py.comments").strip()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    there = comments.listed(revision="HEAD")
    assert [(each.filePath, each.problem) for each in there.damaged or ()] == [
        ("shop.py", "git names it, and has not got its content here")
    ]


def test_of_very_many_comments_of_a_revision_no_more_are_held_than_are_shown(comments: Comments) -> None:
    root = root_of(comments)
    for number in range(6):
        comments.add("shop.py", number + 1, f"on {number}", "TODO" if number % 2 else "NOTE")
    then = commit(root, "commented")
    found = revision.list_at(comments.context.reader, then, "", 0, 2, lambda each: each.tag == "TODO")
    assert ([each.text for each in found.held], found.total) == (["on 1", "on 3"], 3)
    there = comments.listed(revision=then, limit=2)
    assert isinstance(there, ListedAt)
    assert (len(there.comments), there.total) == (2, 6)


def test_a_sidecar_that_is_what_it_was_is_not_asked_again(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    root = root_of(comments)
    add_at(comments, "taxed = ", "then")
    write(root, "other.py", CODE)
    comments.add("other.py", 1, "then, too", "NOTE")
    then = commit(root, "commented")
    later = comments.add("other.py", 2, "later", "NOTE").commentId
    asked: list[str] = []
    really = comments.context.reader.locate

    def note(sidecar: Sidecar, *given: Any, **named: Any) -> list[Located]:
        asked.append(sidecar.path)
        return really(sidecar, *given, **named)

    monkeypatch.setattr(comments.context.reader, "locate", note)
    there = comments.listed(revision=then)
    assert isinstance(there, ListedAt)
    assert [each.id for each in there.later] == [later]
    assert sorted(asked) == ["other.py", "other.py", "shop.py"]


def test_large_files_of_a_revision_are_read_one_after_another(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(comments)
    for number in range(7):
        write(root, f"f{number}.py", CODE)
        comments.add(f"f{number}.py", 1, f"on {number}", "NOTE")
    commit(root, "many")
    before = [(each.text, each.line, each.state) for each in comments.listed(revision="HEAD").comments]
    held: list[int] = []
    read = revision.read_objects

    def count(*given: Any, **named: Any) -> dict[str, bytes]:
        found = read(*given, **named)
        held.append(sum(map(len, found.values())))
        return found

    monkeypatch.setattr(revision, "read_objects", count)
    monkeypatch.setattr(revision, "TOGETHER", 4 * len(CODE))
    assert [(each.text, each.line, each.state) for each in comments.listed(revision="HEAD").comments] == before
    assert len(before) == 7
    assert max(held) <= 4 * len(CODE)


def test_names_are_looked_for_in_the_history_a_limited_number_of_times(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(comments)
    add_at(comments, "taxed = ", "kept")
    sidecar = (root / "shop.py.comments").read_text()
    for number in range(5):
        write(root, f"never{number}.py.comments", sidecar.replace("c_", f"c_{number}"))
    commit(root, "comments on nothing")
    asked: list[str] = []

    def note(_root: str, path: str, _commit: str) -> str:
        asked.append(path)
        return ""

    monkeypatch.setattr(revision, "MOST_FOLLOWED", 3)
    monkeypatch.setattr(revision, "find_new_name", note)
    assert len(comments.listed(revision="HEAD").comments) == 6
    assert len(asked) == 3


def test_a_sidecar_whose_name_is_no_text_is_left_out(comments: Comments) -> None:
    root = root_of(comments)
    kept = add_at(comments, "taxed = ", "kept")
    with open(os.path.join(os.fsencode(root), b"\xff.py.comments"), "wb") as file:
        file.write((root / "shop.py.comments").read_bytes().replace(kept.encode(), b"c_other"))
    commit(root, "odd")
    there = comments.listed(revision="HEAD")
    assert [each.id for each in there.comments] == [kept]
    assert msgspec.json.encode(there.plain())


BASKET = CODE[CODE.index("class Basket") :]
REST = CODE.removesuffix(BASKET)
NEW = '\n\ndef discount(price):\n    """For members."""\n    return price * 0.9\n'


def split_upstream(comments: Comments) -> tuple[Path, str, str]:
    """A branch takes a class to a file of its own, and adds code later; its two commits."""
    root = root_of(comments)
    git(root, "checkout", "-q", "-b", "upstream")
    write(root, "shop.py", REST)
    write(root, "basket.py", '"""What is bought."""\n\nfrom shop import gross\n\n\n' + BASKET)
    moved = commit(root, "a file of its own")
    write(root, "basket.py", '"""What is bought."""\n\nfrom shop import gross\n\n\n' + BASKET + NEW)
    more = commit(root, "discount")
    git(root, "checkout", "-q", "-")
    return root, moved, more


def test_later_comments_are_found_in_the_file_that_their_code_was_in_then(comments: Comments) -> None:
    root, moved, more = split_upstream(comments)
    first = add_at(comments, "self.items.append(item)", "early")
    commit(root, "commented")
    git(root, "merge", "-q", "--no-edit", more)
    line = line_of((root / "basket.py").read_text(), "self.items.append(item)")
    for file in ("basket.py", "shop.py", ""):
        there = comments.listed(revision=moved, file=file)
        assert isinstance(there, ListedAt)
        assert [(each.id, each.path, each.line, each.state) for each in there.later] == [
            (first, "basket.py", line, "moved")
        ]


def test_comments_that_a_revision_held_are_found_in_the_file_that_their_code_was_in(comments: Comments) -> None:
    root, _, more = split_upstream(comments)
    first = add_at(comments, "self.items.append(item)", "early")
    commit(root, "commented")
    git(root, "merge", "-q", "--no-edit", more)
    line = line_of((root / "basket.py").read_text(), "self.items.append(item)")
    there = comments.listed(revision="HEAD", file="basket.py")
    assert [(each.id, each.path, each.line) for each in there.comments] == [(first, "basket.py", line)]


def test_a_comment_that_was_taken_along_is_found_where_its_code_was_before(comments: Comments) -> None:
    root, _, more = split_upstream(comments)
    before = git(root, "rev-parse", "HEAD")
    first = add_at(comments, "self.items.append(item)", "early")
    git(root, "merge", "-q", "--no-edit", more)
    comments.relocate()
    assert not (root / "shop.py.comments").exists()
    there = comments.listed(revision=before)
    assert isinstance(there, ListedAt)
    line = line_of(CODE, "self.items.append(item)")
    assert [(each.id, each.path, each.line) for each in there.later] == [(first, "shop.py", line)]


def test_it_is_said_how_many_later_comments_had_no_code_then(comments: Comments) -> None:
    root, moved, more = split_upstream(comments)
    git(root, "merge", "-q", "--no-edit", more)
    for code in ("def discount", "price * 0.9"):
        comments.add("basket.py", line_of((root / "basket.py").read_text(), code), "new", "NOTE")
    there = comments.listed(revision=moved)
    assert isinstance(there, ListedAt)
    assert (there.later, there.later_without) == ((), 2)
    assert "2 made since had no code there then" in there.for_model()
    assert msgspec.to_builtins(there.plain())["laterWithoutCode"] == 2
    other = comments.listed(revision=moved, file="shop.py")
    assert isinstance(other, ListedAt)
    assert (other.later, other.later_without) == ((), 0)


def test_code_of_another_file_that_is_alike_takes_no_later_comment(comments: Comments) -> None:
    """Only the files are asked that its code is known to have been in."""
    root, moved, more = split_upstream(comments)
    git(root, "merge", "-q", "--no-edit", more)
    write(root, "shop.py", REST + "\n\n" + "def discount(price):\n    return price - 1\n")
    first = comments.add("shop.py", line_of((root / "shop.py").read_text(), "price - 1"), "new", "NOTE").commentId
    commit(root, "another discount")
    there = comments.listed(revision=moved)
    assert isinstance(there, ListedAt)
    assert first not in [each.id for each in there.later]
    assert there.later_without == 1
