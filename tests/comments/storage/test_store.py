"""Sidecars on disk: many write at once, some die, disks fill up; nothing is lost or overwritten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.comments.failures import CommentNotFound
from postil.comments.sidecar.document import Sidecar
from postil.comments.storage import store
from postil.comments.storage.store import is_sidecar
from postil.core import call
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath
from tests.comments.sidecars import (
    EXTENSION,
    as_javascript,
    extension_accepts,
)
from tests.comments.workspaces import Comments, code_of, root_of, sidecar, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 101))


WRITER = """
import sys
from tests.comments.workspaces import Comments
comments = Comments(sys.argv[1])
for number in range(int(sys.argv[3])):
    added = comments.add("a.py", number % 100 + 1, f"{sys.argv[2]}-{number}", "NOTE")
    print(added.commentId, f"{sys.argv[2]}-{number}", flush=True)
"""


def writers(root: Path, count: int, each: int) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(number), str(each)], stdout=subprocess.PIPE, text=True
        )
        for number in range(count)
    ]


def test_comments_added_by_many_processes_are_all_stored(tmp_path: Path) -> None:
    workspace(tmp_path, **{"a.py": SOURCE})
    said: dict[str, str] = {}
    for process in writers(tmp_path, 8, 40):
        out, _ = process.communicate(timeout=100)
        said |= dict(line.split() for line in out.splitlines())
    stored = Sidecar("a.py", sidecar(tmp_path, "a.py"))
    assert len(said) == 320
    assert {each.id: each.text for each in stored.comments} == said
    assert extension_accepts(sidecar(tmp_path, "a.py"))


def test_threads_of_one_process_lose_nothing(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    ids: list[str] = []

    def add(number: int) -> None:
        ids.append(comments.add("a.py", number + 1, f"{number}", "NOTE").commentId)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {each.id for each in comments.file_comments("a.py").comments} == set(ids)
    assert len(set(ids)) == 20


def test_what_was_acknowledged_survives_a_killed_writer(tmp_path: Path) -> None:
    workspace(tmp_path, **{"a.py": SOURCE})
    said: dict[str, str] = {}
    for _ in range(8):
        (process,) = writers(tmp_path, 1, 1000)
        assert process.stdout is not None
        for _ in range(5):
            said |= dict([process.stdout.readline().split()])
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=30)
        said |= dict(line.split() for line in rest.splitlines() if len(line.split()) == 2)
    stored = {each.id for each in Sidecar("a.py", sidecar(tmp_path, "a.py")).comments}
    assert said.keys() <= stored
    assert Comments(str(tmp_path)).add("a.py", 1, "and on it goes", "NOTE").line == 1  # no lock was left behind


def test_a_change_of_another_program_between_two_of_ours_is_kept(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    comments.add("a.py", 1, "ours", "NOTE")
    theirs = sidecar(tmp_path, "a.py").replace(b'"version"', b'"theirs": true,\n  "version"')
    write(tmp_path, "a.py.comments", theirs)
    comments.add("a.py", 2, "ours again", "NOTE")
    assert b'"theirs": true' in sidecar(tmp_path, "a.py")
    assert len(comments.file_comments("a.py").comments) == 2


SHORT = "".join(f"value_{n} = {n}\n" for n in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    made = workspace(tmp_path / "work", **{"a.py": SHORT})
    write(tmp_path, "work-evil/secret.py", "password = 1\n")
    return made


def test_adding_to_a_file_that_only_we_write_parses_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    comments.add("a.py", 1, "0", "NOTE")
    seen = {"parsed": 0, "replaced": 0}
    monkeypatch.setattr(store, "Sidecar", counted(store.Sidecar, seen, "parsed"))
    monkeypatch.setattr(store, "atomic_write", counted(store.atomic_write, seen, "replaced"))
    for number in range(1, 31):
        comments.add("a.py", number % 7 + 1, f"{number}", "NOTE")
    assert seen == {"parsed": 0, "replaced": 30}
    stored = Sidecar("a.py", sidecar(tmp_path, "a.py"))
    assert sorted(int(each.text) for each in stored.comments) == list(range(31))
    assert [each.line for each in stored.markers] == sorted(each.line for each in stored.markers)
    assert extension_accepts(sidecar(tmp_path, "a.py"))


def test_what_is_kept_of_a_file_is_compared_with_its_bytes_and_not_with_its_time(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    comments.add("a.py", 1, "ours", "NOTE")
    file = tmp_path / "a.py.comments"
    before = file.stat()
    with file.open("r+b") as there:  # an editor that writes in place, in the same instant, as many bytes
        there.write(sidecar(tmp_path, "a.py").replace(b"ours", b"them"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    comments.add("a.py", 2, "again", "NOTE")
    assert [each.text for each in Sidecar("a.py", sidecar(tmp_path, "a.py")).comments] == ["them", "again"]


def test_a_refused_change_leaves_nothing_of_itself_in_the_next_one(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    first = comments.add("a.py", 1, "first", "NOTE")

    def half(sidecar: Sidecar) -> None:
        sidecar.remove(first.commentId)
        raise CommentNotFound("a.py", "c_1")

    with pytest.raises(CommentNotFound):
        comments.store.change(RelativePath("a.py"), half)
    comments.add("a.py", 2, "second", "NOTE")
    assert [each.text for each in Sidecar("a.py", sidecar(tmp_path, "a.py")).comments] == ["first", "second"]


def counted(function: Callable[..., object], seen: dict[str, int], name: str) -> Callable[..., object]:
    def call(*given: object) -> object:
        seen[name] += 1
        return function(*given)

    return call


def test_a_sidecar_that_is_a_symlink_is_neither_read_nor_written(comments: Comments) -> None:
    outside = write(root_of(comments).parent, "work-evil/x.comments", as_javascript(EXTENSION))
    (root_of(comments) / "a.py.comments").symlink_to(outside)
    assert code_of(comments, "a.py") == -32004
    with pytest.raises(Failure) as caught:
        comments.file_comments("a.py")
    assert caught.value.code == -32004
    assert outside.read_bytes() == as_javascript(EXTENSION)


DAMAGED = {
    "empty": b"",
    "truncated": as_javascript(EXTENSION)[:-40],
    "conflict": b"{\n<<<<<<< HEAD\n" + as_javascript(EXTENSION)[2:] + b"\n=======\n}\n>>>>>>> other\n",
    "unknown version": as_javascript({**EXTENSION, "version": "7.0.0"}),
    "wrong type": as_javascript({**EXTENSION, "comments": [{"id": "c_1", "text": 5}]}),
    "not an object": b"[1, 2]",
    "not JSON": b"hello",
    "not text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_sidecar_is_never_overwritten(comments: Comments, kind: str) -> None:
    write(root_of(comments), "a.py.comments", DAMAGED[kind])
    identity = "714694ea-d554-4e62-9b8f-2f2e5a3a1c11"
    for ask in (
        lambda: comments.add("a.py", 1, "x", "NOTE"),
        lambda: comments.edit("a.py", identity, "x"),
        lambda: comments.delete("a.py", identity),
        lambda: comments.move("a.py", "a.py", identity, 2),
    ):
        with pytest.raises(Failure) as caught:
            ask()
        assert caught.value.code == -32007
        assert caught.value.details()["commentFile"] == "a.py.comments"
        how = "Update Postil" if kind == "unknown version" else "comments check"
        assert how in str(caught.value.details()["suggestion"])
    assert sidecar(root_of(comments), "a.py") == DAMAGED[kind]


def test_a_damaged_sidecar_does_not_hide_the_others(comments: Comments) -> None:
    write(root_of(comments), "b.py", SHORT)
    comments.add("b.py", 1, "still here", "NOTE")
    write(root_of(comments), "a.py.comments", b"{")
    assert [each.text for each in comments.listed().comments] == ["still here"]
    assert [each.filePath for each in comments.overview.damaged()] == ["a.py"]


def test_backups_of_the_extension_are_not_counted(comments: Comments) -> None:
    comments.add("a.py", 1, "once", "NOTE")
    content = sidecar(root_of(comments), "a.py")
    write(root_of(comments), "a.py.backup-2025-10-19T09-51-00-011Z.comments", content)
    assert comments.listed().total == 1


def test_a_full_disk_leaves_the_old_file_whole(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    comments.add("a.py", 1, "first", "NOTE")
    before = sidecar(root_of(comments), "a.py")

    def full(file: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(Failure) as caught:
            comments.add("a.py", 2, "second", "NOTE")
    assert caught.value.exit_status == 7
    assert sidecar(root_of(comments), "a.py") == before
    assert comments.add("a.py", 2, "second", "NOTE").line == 2  # it goes on when there is space again
    assert not [name for name in os.listdir(root_of(comments)) if name.endswith(".tmp")]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("a.ts.comments", True),
        ("simple-test.js.backup-2025-10-19T09-51-00-011Z.comments", False),
        ("x.js.comments.comments", False),
        (".comments", False),
        ("a.ts", False),
        ("backup-notes.md.comments", True),
    ],
)
def test_backups_of_the_extension_are_no_sidecars(name: str, is_one: bool) -> None:
    assert is_sidecar(name) is is_one


def test_outside_of_a_repository_some_folders_are_looked_in_the_nearest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_FOLDERS", 4)
    for name in ("near/a.py", "deep/1/2/3/b.py", "zz/c.py"):
        write(tmp_path, name, "one = 1\n")
        write(tmp_path, f"{name}.comments", '{"file": "x", "version": "2.1.0", "comments": []}')
    said: list[str] = []

    class Heard(call.Call):
        def log(self, level: call.Level, data: object, logger: str = "") -> None:
            said.append(str(data))

    call.enter(Heard())
    comments = Comments(str(tmp_path), cache_home=str(tmp_path.parent / "cache"))
    assert list(comments.store.paths()) == ["near/a.py", "zz/c.py"]
    assert list(comments.store.paths()) == ["near/a.py", "zz/c.py"]
    (told,) = said
    assert "comments were looked for in the first 4 alone. Run it in a folder further down" in told
