"""The clone of a shared workspace: what was recorded is there, and nothing else."""

from __future__ import annotations

import errno
import os
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.clones import clone as clone_module
from postil.workspace.clones.clone import NotWhole, RemoteAway, SharedClone
from postil.workspace.clones.snapshot import LOGS, list_refs
from tests.hosting.hosts import make_bare


def merge(path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes:
    return b"%s+%s over %s" % (ours, theirs, base)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return make_bare(tmp_path)


def clone_at(bare: Path, name: str) -> SharedClone:
    return SharedClone("team", str(bare.parent / name), str(bare), "", merge)


def git(folder: str | Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def write(clone: SharedClone, name: str, text: str) -> None:
    path = Path(clone.folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def comments(clone: SharedClone) -> dict[str, str]:
    found = Path(clone.folder).rglob("*.comments")
    return {str(path.relative_to(clone.folder)): path.read_text() for path in found}


def add_log(clone: SharedClone, replica: str) -> str:
    """A commit at the end of a log, as the tracker would write one."""
    tree = git(clone.folder, "hash-object", "-t", "tree", "-w", "--stdin")
    commit = git(clone.folder, "commit-tree", "-m", replica, tree)
    git(clone.folder, "update-ref", LOGS + replica, commit)
    return commit


def test_what_one_host_published_the_next_one_begins_with(bare: Path) -> None:
    one, two = clone_at(bare, "one"), clone_at(bare, "two")
    one.begin("", 0)
    assert Path(one.folder, "a.py").is_file()
    assert one.publish(1, "alice") == ""
    write(one, "a.py.comments", "first")
    write(one, 'odd "name"\n/b.py.comments', "in a folder")
    log = add_log(one, "a" * 13)
    head = one.publish(1, "alice <x>")
    assert head
    one.accept()
    assert not one.has_changed()
    two.begin(head, 1)
    assert comments(two) == {"a.py.comments": "first", 'odd "name"\n/b.py.comments': "in a folder"}
    assert list_refs(two.folder) == {LOGS + "a" * 13: log}
    assert Path(two.folder, "a.py").is_file()
    os.unlink(Path(two.folder, "a.py.comments"))
    head = two.publish(2, "bob")
    two.accept()
    one.begin(head, 2)
    assert list(comments(one)) == ['odd "name"\n/b.py.comments']
    assert "alice x" in git(one.folder, "log", "--format=%cn", head)


def test_what_was_not_recorded_is_gone_when_the_next_turn_begins(bare: Path) -> None:
    one = clone_at(bare, "one")
    one.begin("", 0)
    write(one, "a.py.comments", "recorded")
    kept = add_log(one, "a" * 13)
    head = one.publish(1, "alice")
    one.accept()
    write(one, "a.py.comments", "not recorded")
    write(one, "b.py.comments", "nor this")
    write(one, "a.py", "broken\n")
    write(one, ".git/postil/comments.move", "half a move")
    add_log(one, "b" * 13)
    git(one.folder, "update-ref", LOGS + "a" * 13, git(one.folder, "rev-parse", LOGS + "b" * 13))
    assert one.has_changed()
    assert one.publish(1, "alice")  # sent, and never recorded
    one.begin(head, 1)
    assert comments(one) == {"a.py.comments": "recorded"}
    assert list_refs(one.folder) == {LOGS + "a" * 13: kept}
    assert Path(one.folder, "a.py").read_text().startswith("value_0")
    assert not Path(one.folder, ".git/postil").exists()
    assert not one.has_changed()


def test_what_people_commit_is_taken_in_and_merged_with_what_was_written_here(bare: Path) -> None:
    one, person = clone_at(bare, "one"), bare.parent / "person"
    git(bare.parent, "clone", "-q", str(bare), str(person))
    (person / "b.py.comments").write_text("theirs before")
    git(person, "add", ".")
    git(person, "commit", "-qm", "a comment")
    git(person, "push", "-q")
    one.begin("", 0)
    assert comments(one) == {"b.py.comments": "theirs before"}
    write(one, "b.py.comments", "ours")
    write(one, "a.py.comments", "ours alone")
    head = one.publish(1, "alice")
    one.accept()
    assert not one.follow()
    (person / "b.py.comments").write_text("theirs after")
    (person / "c.py").write_text("new\n")
    (person / "c.py.comments").write_text("theirs alone")
    git(person, "add", ".")
    git(person, "commit", "-qm", "more")
    git(person, "push", "-q")
    merged = {
        "a.py.comments": "ours alone",
        "b.py.comments": "ours+theirs after over theirs before",
        "c.py.comments": "theirs alone",
    }
    two = clone_at(bare, "two")
    two.begin(head, 1)  # at the beginning of a turn
    assert comments(two) == merged
    assert one.follow()  # and in the middle of one
    assert comments(one) == merged
    assert Path(one.folder, "c.py").read_text() == "new\n"
    assert one.has_changed()
    head = one.publish(1, "alice")
    one.accept()
    assert not one.follow()
    two.begin(head, 1)
    assert comments(two) == merged


def test_logs_are_sent_to_where_people_fetch_them_once_they_are_recorded(bare: Path) -> None:
    one = clone_at(bare, "one")
    one.begin("", 0)
    log = add_log(one, "a" * 13)
    one.publish(1, "alice")
    one.send_logs()
    assert git(bare, "for-each-ref", LOGS) == ""
    one.accept()
    one.send_logs()
    assert git(bare, "rev-parse", LOGS + "a" * 13) == log
    assert not one.has_unsent_logs


def test_a_clone_belongs_to_one_process(bare: Path) -> None:
    one, same = clone_at(bare, "one"), clone_at(bare, "one")
    assert one.take()
    assert one.take()
    assert not same.take()


def test_a_remote_that_is_away_is_said_to_be(bare: Path) -> None:
    one = clone_at(bare, "one")
    bare.rename(bare.parent / "moved")
    with pytest.raises(RemoteAway) as away:
        one.begin("", 0)
    assert away.value.data["status"] == 503
    assert "Nothing was changed" in away.value.advice


def test_an_empty_repository_can_be_shared_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    one = clone_at(tmp_path / "bare.git", "one")
    one.begin("", 0)
    write(one, "a.comments", "x")
    head = one.publish(1, "alice")
    two = clone_at(tmp_path / "bare.git", "two")
    two.begin(head, 1)
    assert comments(two) == {"a.comments": "x"}


def push(bare: Path, make: Callable[[Path], object]) -> None:
    """Somebody else pushes what they like."""
    work = bare.parent / "theirs"
    if not work.exists():
        git(bare.parent, "clone", "-q", str(bare), str(work))
    make(work)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "pushed")
    git(work, "push", "-q", "origin", "HEAD")


def make_link(work: Path) -> None:
    (work / "a.py.comments").unlink(missing_ok=True)
    (work / "a.py.comments").symlink_to("a.py")


def make_folder(work: Path) -> None:
    (work / "a.py.comments").unlink(missing_ok=True)
    (work / "a.py.comments").mkdir()
    (work / "a.py.comments" / "x").write_text("x")


def make_giant(work: Path) -> None:
    (work / "a.py.comments").write_bytes(b" " * (limits.FILE + 1))


@pytest.mark.parametrize("make", [make_link, make_folder, make_giant])
def test_what_somebody_pushes_in_the_place_of_a_comment_file_ends_no_turn_and_takes_no_comment(
    bare: Path, make: Callable[[Path], None]
) -> None:
    one, two = clone_at(bare, "one"), clone_at(bare, "two")
    one.begin("", 0)
    write(one, "a.py.comments", "said")
    write(one, "b.py.comments", "said here")
    head = one.publish(1, "alice")
    one.accept()
    push(bare, make)
    assert one.follow()
    write(one, "c.py.comments", "and then")
    head = one.publish(2, "alice")
    one.accept()
    assert not one.has_changed()
    two.begin(head, 2)
    assert not two.has_changed()
    push(bare, lambda work: git(work, "rm", "-rq", "a.py.comments"))
    for clone in (one, two):
        assert clone.follow()
        assert comments(clone) == {"a.py.comments": "said", "b.py.comments": "said here", "c.py.comments": "and then"}


@pytest.mark.parametrize("make", [make_link, make_folder, make_giant])
def test_a_clone_begins_beside_what_cannot_be_a_comment_file(bare: Path, make: Callable[[Path], None]) -> None:
    push(bare, make)
    one = clone_at(bare, "one")
    one.begin("", 0)
    assert not one.has_changed()
    write(one, "b.py.comments", "said")
    head = one.publish(1, "alice")
    one.accept()
    two = clone_at(bare, "two")
    two.begin(head, 1)
    assert Path(two.folder, "b.py.comments").read_text() == "said"
    assert not two.has_changed()


def test_comments_below_a_folder_that_became_a_link_come_back_with_it(bare: Path) -> None:
    push(bare, lambda work: ((work / "lib").mkdir(), (work / "lib" / "b.py").write_text("x\n")))
    one = clone_at(bare, "one")
    one.begin("", 0)
    write(one, "lib/b.py.comments", "said")
    one.publish(1, "alice")
    one.accept()

    def replace(work: Path) -> None:
        git(work, "mv", "lib", "libs")
        (work / "lib").symlink_to("libs")

    push(bare, replace)
    assert one.follow()
    write(one, "a.py.comments", "said here")
    head = one.publish(2, "alice")
    one.accept()
    push(bare, lambda work: (git(work, "rm", "-q", "lib"), git(work, "mv", "libs", "lib")))
    two = clone_at(bare, "two")
    two.begin(head, 2)
    assert one.follow()
    for clone in (one, two):
        assert comments(clone) == {"lib/b.py.comments": "said", "a.py.comments": "said here"}


def push_what_cannot_be_checked_out(bare: Path) -> None:
    """A name that no file system takes, behind those of the comment files."""
    work = bare.parent / "theirs"
    if not work.exists():
        git(bare.parent, "clone", "-q", str(bare), str(work))
    (work / "a.py").write_text("changed\n")
    git(work, "add", "-A")
    oid = git(work, "hash-object", "-w", "a.py")
    git(work, "update-index", "--add", "--cacheinfo", f"100644,{oid},{'z' * 300}")
    git(work, "commit", "-qm", "a long name")
    git(work, "push", "-q", "origin", "HEAD")


def test_a_branch_that_cannot_be_checked_out_takes_no_comment(bare: Path) -> None:
    """What the branch held stood in the place of what was said here, and the next write made that count."""
    push(bare, lambda work: (work / "a.py.comments").write_text("pushed"))
    one = clone_at(bare, "one")
    one.begin("", 0)
    write(one, "a.py.comments", "said")
    write(one, "b.py.comments", "said here")
    one.publish(1, "alice")
    one.accept()
    push_what_cannot_be_checked_out(bare)
    for _ in range(2):
        with pytest.raises(Failure):
            one.follow()
        assert comments(one) == {"a.py.comments": "said", "b.py.comments": "said here"}
    write(one, "c.py.comments", "and then")
    head = one.publish(2, "alice")
    one.accept()
    listed = git(one.folder, "ls-tree", "-r", "--name-only", head).split()
    assert listed == ["a.py.comments", "b.py.comments", "c.py.comments"]
    assert git(one.folder, "cat-file", "blob", f"{head}:a.py.comments") == "said"


def test_what_a_failing_disk_did_not_put_back_is_put_back_when_it_works_again(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(bare, lambda work: (work / "a.py.comments").write_text("before"))
    one = clone_at(bare, "one")
    one.begin("", 0)
    write(one, "a.py.comments", "ours")
    one.publish(1, "alice")
    one.accept()
    push(bare, lambda work: (work / "a.py.comments").write_text("theirs"))

    def fail(path: str, most: int) -> bytes:
        raise OSError(errno.EIO, path)

    with monkeypatch.context() as disk:
        disk.setattr(clone_module, "read_whole", fail)
        for _ in range(2):
            with pytest.raises(OSError, match="postil-aside"):
                one.follow()
    with pytest.raises(NotWhole):
        one.publish(1, "alice")
    assert one.follow()
    assert comments(one) == {"a.py.comments": "ours+theirs over before"}
    assert one.publish(1, "alice")


def test_many_large_comment_files_are_never_held_together(bare: Path) -> None:
    """Of twelve that somebody pushed, each write took 500 MB."""
    many, size = 12, 4 << 20

    def make_large(work: Path) -> None:
        for number in range(many):
            (work / f"f{number}.py.comments").write_bytes(b"%d" % number * size)

    one = clone_at(bare, "one")
    one.begin("", 0)
    write(one, "a.py.comments", "said")
    one.publish(1, "alice")
    one.accept()
    push(bare, make_large)
    tracemalloc.start()
    try:
        assert one.follow()
        write(one, "a.py.comments", "said again")
        head = one.publish(2, "alice")
        one.accept()
        assert not one.has_changed()
        push(bare, lambda work: (work / "a.py").write_text("changed\n"))
        assert one.follow()
        assert tracemalloc.get_traced_memory()[1] < 8 * size
    finally:
        tracemalloc.stop()
    assert not one.has_changed()
    assert len(git(one.folder, "ls-tree", "-r", "--name-only", head).split()) == many + 1
    assert git(one.folder, "cat-file", "-s", f"{head}:f11.py.comments") == str(2 * size)


def test_of_comment_files_that_are_too_large_to_be_merged_ours_stay_and_none_is_held_beside_another(bare: Path) -> None:
    """Ours, theirs and what both were made of stood in memory together, before the merge of them was refused."""
    size = 13 << 20

    def make_large(letter: str) -> Callable[[Path], object]:
        return lambda work: [(work / f"f{at}.py.comments").write_bytes(letter.encode() * size) for at in range(3)]

    push(bare, make_large("a"))
    one = clone_at(bare, "one")
    one.begin("", 0)
    write(one, "f0.py.comments", "o" * size)
    Path(one.folder, "f1.py.comments").unlink()
    one.publish(1, "alice")
    one.accept()
    push(bare, make_large("t"))
    tracemalloc.start()
    try:
        assert one.follow()
        assert tracemalloc.get_traced_memory()[1] < 3 * size
    finally:
        tracemalloc.stop()
    assert {name: text[:1] for name, text in comments(one).items()} == {
        "f0.py.comments": "o",
        "f1.py.comments": "t",
        "f2.py.comments": "t",
    }
