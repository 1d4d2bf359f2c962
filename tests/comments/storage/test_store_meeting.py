"""Another program that does not know our lock writes the same comment file: nothing of either is lost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from postil.comments.failures import SidecarDamaged
from postil.comments.index import half_written
from postil.comments.show.since import list_since
from postil.comments.storage import first_write, last_written
from postil.comments.storage import store as store_module
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, commit, workspace

CODE = "".join(f"value_{number} = {number}\n" for number in range(1, 21))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE})


def read(comments: Comments) -> dict[str, Any]:
    return json.loads(Path(comments.tree.root, "a.py.comments").read_text("utf-8"))


def add_like_the_extension(comments: Comments, identity: str) -> None:
    """What the extension does: read all, add, write in place."""
    path = Path(comments.tree.root, "a.py.comments")
    data = json.loads(path.read_text("utf-8"))
    moment = "2026-01-01T00:00:00.000Z"
    said = {"id": identity, "line": 9, "text": "theirs", "author": "ext", "created": moment, "updated": moment}
    data["comments"].append(said)
    path.write_text(json.dumps(data, indent=2), "utf-8")


def meet_the_extension(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, then: Callable[[], None] = lambda: None
) -> None:
    """The extension writes between our next reading and writing; `then` comes behind it."""
    write = store_module.atomic_write
    met: list[str] = []

    def meet(root: str, inside: RelativePath, content: bytes, check: Any = None) -> None:
        if inside.endswith(".comments") and not met:
            met.append(inside)
            add_like_the_extension(comments, "11111111-1111-4111-8111-111111111111")
            then()
        write(root, inside, content, check)

    monkeypatch.setattr(store_module, "atomic_write", meet)


def test_what_another_program_wrote_between_our_reading_and_writing_is_kept(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments.add("a.py", 1, "first", "NOTE")
    meet_the_extension(comments, monkeypatch)
    comments.add("a.py", 5, "second", "NOTE")
    assert sorted(each["text"] for each in read(comments)["comments"]) == ["first", "second", "theirs"]


def cut(comments: Comments, monkeypatch: pytest.MonkeyPatch, content: bytes = b"") -> None:
    """Another program is writing the comment file: it is this now, and whole when somebody has waited for it."""
    path = Path(comments.tree.root, "a.py.comments")
    whole = path.read_bytes()
    path.write_bytes(content)
    monkeypatch.setattr(store_module, "HALF_WRITTEN", 30.0)

    def finish(_: float) -> None:
        path.write_bytes(whole)

    clock = SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=finish)
    for module in (store_module, half_written):
        monkeypatch.setattr(module, "time", clock)


READINGS: dict[str, Callable[[Comments, str], str]] = {
    "file": lambda comments, _: comments.file_comments("a.py").for_model(),
    "search": lambda comments, _: comments.search("first").for_model(),
    "list": lambda comments, _: comments.listed().for_model(),
    "show": lambda comments, each: comments.show(each).for_model(),
    "export": lambda comments, _: str(comments.export("json")),
    "resource": lambda comments, _: str(comments.resources.read_all()),
    "diff": lambda comments, _: str(list_since(comments.store, "HEAD")),
    "reply": lambda comments, each: str(comments.reply(each, "yes")) + "first",
}


@pytest.mark.parametrize("content", [b"", b'{"file": "a.py", "comm'])
@pytest.mark.parametrize("reading", READINGS)
def test_a_comment_file_cut_by_its_writer_is_read_again(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, reading: str, content: bytes
) -> None:
    identity = comments.add("a.py", 1, "first", "NOTE").commentId
    comments.listed()
    cut(comments, monkeypatch, content)
    assert "first" in READINGS[reading](comments, identity)
    assert comments.overview.damaged() == ()


def test_a_comment_file_that_is_being_cut_while_a_comment_is_added_is_waited_for(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments.add("a.py", 1, "first", "NOTE")
    meet_the_extension(comments, monkeypatch, lambda: cut(comments, monkeypatch, b'{"file": "a.p'))
    comments.add("a.py", 5, "second", "NOTE")
    assert sorted(each["text"] for each in read(comments)["comments"]) == ["first", "second", "theirs"]


def test_a_comment_file_that_stays_damaged_is_named_as_damaged(comments: Comments) -> None:
    comments.add("a.py", 1, "first", "NOTE")
    path = Path(comments.tree.root, "a.py.comments")
    path.write_bytes(b"{")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    with pytest.raises(SidecarDamaged):
        comments.store.read(RelativePath("a.py"))


def test_the_last_delete_removes_the_comment_file(comments: Comments) -> None:
    first, second = (comments.add("a.py", line, "text", "NOTE").commentId for line in (1, 5))
    comments.delete("a.py", first)
    assert Path(comments.tree.root, "a.py.comments").exists()
    comments.delete("a.py", second)
    assert not Path(comments.tree.root, "a.py.comments").exists()


def test_a_comment_file_with_keys_of_others_stays_when_its_last_comment_goes(comments: Comments) -> None:
    only = comments.add("a.py", 1, "text", "NOTE").commentId
    path = Path(comments.tree.root, "a.py.comments")
    path.write_text(json.dumps({**read(comments), "settings": {"colour": "red"}}), "utf-8")
    comments.delete("a.py", only)
    assert read(comments)["settings"] == {"colour": "red"}


# git, which looks at a file, and replaces it a moment later


class Checkout:
    """A git that had looked at the comment file before it was written, and puts the commit's in its place."""

    def __init__(self, comments: Comments, committed: bytes | None, *, slow: bool = False) -> None:
        self._path = Path(comments.tree.root, "a.py.comments")
        self._lock = Path(comments.tree.git_dir, "index.lock")
        self._committed, self._slow, self.times = committed, slow, 0
        self._write, self._sleep = store_module.atomic_write, store_module.time.sleep

    def write(self, root: str, inside: RelativePath, content: bytes, check: Any = None) -> None:
        if self.times == 0:
            self._lock.touch()
        self._write(root, inside, content, check)
        if self.times == 0 and not self._slow:
            self.finish()

    def sleep(self, seconds: float) -> None:
        if self._slow and self.times == 0:
            self.finish()
        self._sleep(seconds)

    def finish(self) -> None:
        self.times += 1
        self._path.unlink()
        if self._committed is not None:
            self._path.write_bytes(self._committed)
        index = self._lock.with_name("index")
        self._lock.write_bytes(index.read_bytes() if index.exists() else b"")
        self._lock.rename(index)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("kept", ["the same", "an older one", "none"])
def test_a_checkout_in_the_same_instant_takes_nothing_that_was_acknowledged(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, kept: str, slow: bool
) -> None:
    """Two of 459 comments were nowhere: git looks at a file before it replaces it."""
    comments.add("a.py", 1, "first", "NOTE")
    path = Path(comments.tree.root, "a.py.comments")
    older = path.read_bytes()
    comments.add("a.py", 2, "second", "NOTE")
    committed = {"the same": path.read_bytes(), "an older one": older, "none": None}[kept]
    git = Checkout(comments, committed, slow=slow)
    monkeypatch.setattr(store_module, "atomic_write", git.write)
    monkeypatch.setattr(store_module.time, "sleep", git.sleep)
    comments.add("a.py", 3, "third", "NOTE")
    assert git.times == 1
    assert "third" in [each["text"] for each in read(comments)["comments"]]


@pytest.mark.parametrize("brought", [True, False])
def test_a_checkout_beside_the_first_comment_of_a_deleted_file_does_not_take_it(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, brought: bool
) -> None:
    comments.add("a.py", 1, "first", "NOTE")
    path = Path(comments.tree.root, "a.py.comments")
    committed = path.read_bytes()
    commit(Path(comments.tree.root), "with a comment")
    path.unlink()
    git = Checkout(comments, committed if brought else None)
    monkeypatch.setattr(first_write, "atomic_write", git.write)
    comments.add("a.py", 3, "second", "NOTE")
    assert git.times == 1
    assert "second" in [each["text"] for each in read(comments)["comments"]]


def test_a_lock_of_a_git_that_commits_is_not_waited_for_long(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_written, "CHECKOUT", 0.01)
    Path(comments.tree.git_dir, "index.lock").touch()
    comments.add("a.py", 1, "first", "NOTE")
    assert [each["text"] for each in read(comments)["comments"]] == ["first"]
