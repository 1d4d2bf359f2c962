"""The process with the lock writes what others wait for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from postil.comments.anchoring.marker import make_marker
from postil.comments.model import Addition, NewComment
from postil.comments.sidecar.document import Sidecar
from postil.comments.storage.group_commit import WAKE, PendingAdd
from postil.workspace.paths import RelativePath
from tests.comments.sidecars import extension_accepts
from tests.comments.workspaces import Comments, sidecar, workspace, write

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 101))


def addition(comments: Comments, line: int, id: str) -> Addition:
    source = comments.tree.source(RelativePath("a.py"))
    now = "2026-01-01T00:00:00.000Z"
    new = NewComment(id=id, line=line, text=id, author="ai", created=now, updated=now, startLine=line)
    return Addition(source.blob, new, make_marker(source, None, line, name=f"gm_{line}", now=now))


def waiting_folder(comments: Comments) -> str:
    return os.path.join(comments.tree.folder, f"comments-{comments.tree.key}.waiting")


def test_whoever_has_the_lock_writes_what_others_wait_for_and_tells_them(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    first = comments.add("a.py", 7, "first", "NOTE")
    left = [PendingAdd(waiting_folder(comments), "a.py", addition(comments, line, f"c_{line}")) for line in (7, 8, 9)]
    for each in left:
        each.put()
    assert [each.marker() for each in left] == ["", "", ""]
    comments.add("a.py", 8, "the next writer", "NOTE")
    answers = [each.marker() for each in left]
    stored = Sidecar("a.py", sidecar(tmp_path, "a.py"))
    assert [each.text for each in stored.comments] == ["first", "c_7", "the next writer", "c_8", "c_9"]
    assert {each.id: each.markerId for each in stored.comments if each.id.startswith("c_") and len(each.id) < 5} == {
        f"c_{line}": answer for line, answer in zip((7, 8, 9), answers, strict=True)
    }
    for each in left:
        each.take_back()
    assert answers[0] == first.ghostMarkerId
    assert os.listdir(waiting_folder(comments)) == []
    assert extension_accepts(sidecar(tmp_path, "a.py"))


def test_what_a_dead_process_left_is_thrown_away_and_other_versions_wait(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    dead = PendingAdd(waiting_folder(comments), "a.py", addition(comments, 3, "c_dead"))
    older = PendingAdd(waiting_folder(comments), "a.py", addition(comments, 4, "c_older"))
    older.put()
    write(tmp_path, "a.py", SOURCE + "one_more = 1\n")
    dead.put()
    (name,) = [name for name in os.listdir(waiting_folder(comments)) if name.endswith("c_dead")]
    left = Path(waiting_folder(comments), name)
    content = left.read_bytes()
    dead.take_back()
    left.write_bytes(content)  # nobody holds a lock on it: its process died
    comments.add("a.py", 1, "at once", "NOTE")
    os.utime(left, (0, 0))
    comments.add("a.py", 1, "alive", "NOTE")
    assert [each.text for each in Sidecar("a.py", sidecar(tmp_path, "a.py")).comments] == ["at once", "alive"]
    assert {each.partition("-")[2] for each in os.listdir(waiting_folder(comments))} == {"c_older", "c_older" + WAKE}
    assert older.marker() == ""
    older.take_back()


def test_an_addition_that_is_in_already_is_not_made_twice(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    once = addition(comments, 5, "c_once")
    marker = comments.store.add(RelativePath("a.py"), once, lambda _: None)
    assert comments.store.add(RelativePath("a.py"), once, lambda _: None) == marker
    assert len(comments.file_comments("a.py").comments) == 1


def test_a_writer_goes_on_for_others_until_another_program_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    left = [
        PendingAdd(waiting_folder(comments), "a.py", addition(comments, line, f"c_{line}")) for line in (1, 2, 3, 4)
    ]
    left[0].put()
    moments = 0

    def meanwhile(_: float) -> None:
        nonlocal moments
        moments += 1
        left[moments].put()
        if moments == 3:
            theirs = sidecar(tmp_path, "a.py").replace(b'"version"', b'"theirs": true,\n  "version"')
            write(tmp_path, "a.py.comments", theirs)

    monkeypatch.setattr("postil.comments.storage.store.time.sleep", meanwhile)
    monkeypatch.setattr("postil.comments.storage.store.LONGEST_SERVICE", 60.0)
    comments.add("a.py", 9, "ours", "NOTE")
    monkeypatch.undo()
    assert [bool(each.marker()) for each in left] == [True, True, True, False]
    assert b'"theirs": true' in sidecar(tmp_path, "a.py")
    comments.add("a.py", 9, "ours again", "NOTE")
    assert left[3].marker()
    for each in left:
        each.take_back()
    stored = sidecar(tmp_path, "a.py")
    assert [each.text for each in Sidecar("a.py", stored).comments] == [
        "c_1",
        "c_2",
        "c_3",
        "c_4",
        "ours",
        "ours again",
    ]
    assert b'"theirs": true' in stored
    assert extension_accepts(stored)


def test_a_waiting_comment_whose_folder_was_deleted_is_not_taken_for_written(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    waits = PendingAdd(waiting_folder(comments), "a.py", addition(comments, 3, "c_3"))
    waits.put()
    shutil.rmtree(comments.tree.folder)
    assert (waits.marker(), waits.is_waiting, waits.was_lost) == ("", False, True)
    waits.put()
    assert waits.is_waiting
    comments.add("a.py", 8, "the next writer", "NOTE")
    assert waits.marker()
    waits.take_back()


ADDER = """
import shutil, sys
from postil.comments.part import CommentsContext
from postil.comments.operations.contract import ContractTools
context = CommentsContext(sys.argv[1])
tools = ContractTools(context)
for n in range(25):
    tools.add("a.py", n + 1, f"{sys.argv[2]} {n}", "NOTE")
    if sys.argv[2] == "0":
        shutil.rmtree(context.tree.folder, ignore_errors=True)
"""


def test_deleting_the_folder_of_locks_under_writers_loses_and_doubles_nothing(tmp_path: Path) -> None:
    workspace(tmp_path, **{"a.py": SOURCE})
    writers = [subprocess.Popen([sys.executable, "-c", ADDER, str(tmp_path), str(n)]) for n in range(4)]
    assert [writer.wait(timeout=200) for writer in writers] == [0] * 4
    stored = Sidecar("a.py", sidecar(tmp_path, "a.py"))
    assert sorted(each.text for each in stored.comments) == sorted(f"{w} {n}" for w in range(4) for n in range(25))


def test_who_waits_is_woken_when_the_comment_is_written(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    waits = PendingAdd(waiting_folder(comments), "a.py", addition(comments, 3, "c_3"))
    waits.put()
    waits.wait(0.001)
    assert waits.marker() == ""
    comments.add("a.py", 8, "the next writer", "NOTE")
    waits.wait(86_400)  # it comes back because it was written
    assert waits.marker()
    waits.take_back()
    assert os.listdir(waiting_folder(comments)) == []


def test_the_pipe_of_a_dead_process_goes_away(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    os.makedirs(waiting_folder(comments))
    for name in ("old", "new"):
        os.mkfifo(Path(waiting_folder(comments), name + WAKE))
    os.utime(Path(waiting_folder(comments), "old" + WAKE), (0, 0))
    comments.add("a.py", 1, "alive", "NOTE")
    assert os.listdir(waiting_folder(comments)) == ["new" + WAKE]


def test_killing_some_of_the_writers_loses_nothing_acknowledged_and_doubles_nothing(tmp_path: Path) -> None:
    workspace(tmp_path, **{"a.py": SOURCE})
    said: dict[str, str] = {}
    for turn in range(2):
        writers = start_writers(tmp_path, [f"{turn}{name}" for name in "abcd"], 30)
        for victim in writers[:2]:
            assert victim.stdout is not None
            said |= dict(victim.stdout.readline().split() for _ in range(4))
            victim.kill()
        for writer in writers:
            out, _ = writer.communicate(timeout=200)
            said |= dict(line.split() for line in out.splitlines() if line.endswith("."))
    stored = Sidecar("a.py", sidecar(tmp_path, "a.py")).comments
    assert len({each.id for each in stored}) == len({each.text for each in stored}) == len(stored)
    assert said.items() <= {each.id: each.text for each in stored}.items()
    assert len(said) >= 2 * (2 * 30 + 2 * 4)
    assert extension_accepts(sidecar(tmp_path, "a.py"))


def start_writers(root: Path, names: list[str], each: int) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen([sys.executable, "-c", TELLER, str(root), name, str(each)], stdout=subprocess.PIPE, text=True)
        for name in names
    ]


TELLER = """
import sys
from tests.comments.workspaces import Comments
comments = Comments(sys.argv[1])
for number in range(int(sys.argv[3])):
    text = f"{sys.argv[2]}-{number}."
    print(comments.add("a.py", number % 100 + 1, text, "NOTE").commentId, text, flush=True)
"""
