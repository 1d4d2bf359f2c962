"""Many processes write at once, some of them die: nothing is lost, nothing is doubled, every file can be read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from postil.comments.anchoring.marker import make_marker
from postil.comments.model import Addition, NewComment
from postil.comments.sidecar.dialects import extension_accepts
from postil.comments.sidecar.document import Sidecar
from postil.comments.storage.group_commit import PendingAdd
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, sidecar, workspace, write

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


MOVER = """
import os, sys
from postil.comments.storage import move_journal as moves
from tests.comments.workspaces import Comments
comments = Comments(sys.argv[1])
step, left = sys.argv[3], int(sys.argv[4])
def dying(original):
    def wrapper(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(137)
        return original(*arguments, **named)
    return wrapper
owner = comments.store if step == "write" else moves
setattr(owner, step, dying(getattr(owner, step)))
comments.move("a.py", "b.py", sys.argv[2], 3)
"""


def test_a_move_killed_at_any_step_leaves_the_comment_in_one_place(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE, "b.py": SOURCE})
    for step, left in [("_note", 0), ("write", 0), ("write", 1), ("_forget", 0)]:
        added = comments.add("a.py", 1, f"moving {step} {left}", "NOTE")
        command = [sys.executable, "-c", MOVER, str(tmp_path), added.commentId, step, str(left)]
        assert subprocess.run(command, timeout=60).returncode == 137
        comments.add("a.py", 50, "whoever writes next finishes the move", "NOTE")
        holding = [
            path
            for path in ("a.py", "b.py")
            if os.path.exists(tmp_path / f"{path}.comments")
            and any(each.id == added.commentId for each in comments.file_comments(path).comments)
        ]
        assert len(holding) == 1, (step, left)


def test_a_change_of_another_program_between_two_of_ours_is_kept(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    comments.add("a.py", 1, "ours", "NOTE")
    theirs = sidecar(tmp_path, "a.py").replace(b'"version"', b'"theirs": true,\n  "version"')
    write(tmp_path, "a.py.comments", theirs)
    comments.add("a.py", 2, "ours again", "NOTE")
    assert b'"theirs": true' in sidecar(tmp_path, "a.py")
    assert len(comments.file_comments("a.py").comments) == 2


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
    assert [each.endswith("c_older") for each in os.listdir(waiting_folder(comments))] == [True]
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
