"""The overview of a workspace never keeps one file waiting for all others."""

from __future__ import annotations

import threading
from contextvars import copy_context
from pathlib import Path

import pytest

from postil.comments.anchoring.line_holders import list_changed
from postil.comments.index import catch_up
from postil.comments.source_tree import SourceTree
from postil.core import call
from postil.core.call import Call
from tests.comments.shop import CODE, add_at
from tests.comments.workspaces import FUNCTIONS, Comments, root_of, sidecar, split, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


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


def cache_of(comments: Comments) -> Path:
    (found,) = Path(comments.overview.tree.folder).glob("comments-*.db")
    return found


def many(comments: Comments, first: int, last: int) -> None:
    root = root_of(comments)
    add_at(comments, "taxed = ")
    one = sidecar(root, "shop.py")
    for number in range(first, last):
        write(root, f"many{number}.py", CODE)
        write(root, f"many{number}.py.comments", one.replace(b"c_", b"c_%d" % number))


@pytest.mark.parametrize("torn", range(4))
def test_a_cache_torn_between_two_times_is_told_and_made_anew(comments: Comments, torn: int) -> None:
    many(comments, 0, 20)
    comments.overview.refresh()
    before = cache_of(comments).read_bytes()
    many(comments, 20, 60)
    comments.overview.refresh()
    comments.overview.index.using().__enter__().close()
    after = bytearray(cache_of(comments).read_bytes())
    for page in range(1 + torn, len(before) // 4096, 4):  # as pages that never reached the disk
        after[page * 4096 : (page + 1) * 4096] = before[page * 4096 : (page + 1) * 4096]
    cache_of(comments).write_bytes(bytes(after))
    fresh = Comments(str(root_of(comments)))
    whole = len(sidecar_ids(fresh))
    shown = len(fresh.overview.index.ids()) if not fresh.overview.find_lies() else None
    assert shown in (None, whole)
    checked = fresh.maintenance.check_files(fix=True)
    assert all(fault.fixed for fault in checked.faults)
    assert fresh.maintenance.check_files().faults == ()
    assert len(fresh.overview.index.ids()) == whole
    assert fresh.maintenance.doctor_cache().status == "ok"


def sidecar_ids(comments: Comments) -> set[str]:
    return {one.id for path in comments.overview.store.paths() for one in comments.overview.store.read(path).comments}


def test_a_cache_that_shows_less_than_the_files_hold_is_told(comments: Comments) -> None:
    many(comments, 0, 5)
    comments.overview.refresh()
    with comments.overview.index.using() as db:
        db.execute("DELETE FROM note WHERE path = 'many3.py'")
        db.commit()
    (lie,) = comments.overview.find_lies()
    assert lie.startswith("the cache shows 0 comments of many3.py, which holds ")
    assert comments.maintenance.doctor_cache().status == "error"
    assert comments.maintenance.check_files().exit_status == 7
    assert comments.maintenance.check_files(fix=True).exit_status == 0
    assert comments.overview.find_lies() == []


def test_git_is_not_asked_for_lost_code_when_no_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments = workspace(
        tmp_path, **{"a.py": "import os\n\n\ndef gone():\n    return os.getcwd()\n", "b.py": "b = 1\n"}
    )
    comments.add("a.py", 5, "about what is gone", "NOTE")
    write(tmp_path, "a.py", "nothing = None\n")
    monkeypatch.setattr(catch_up, "ONE_TICK", 0)
    assert comments.listed().comments[0].state == "orphaned"
    asked: list[str] = []

    def ask(tree: SourceTree, revision: str) -> list[str]:
        asked.append(revision)
        return list_changed(tree, revision)

    monkeypatch.setattr(catch_up, "list_changed", ask)
    assert Comments(str(tmp_path)).listed().comments[0].state == "orphaned"
    assert asked == []
    write(tmp_path, "b.py", "b = 1\n\n\ndef gone():\n    return os.getcwd()\n")
    Comments(str(tmp_path)).listed()
    assert asked


class _Watched(Call):
    """A call that keeps what is told of its progress."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.told.append(message)


def test_looking_in_other_files_has_progress_of_its_own(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": FUNCTIONS})
    comments.add("a.py", 2, "about the first")
    split(tmp_path, 0)
    watched = _Watched()

    def look() -> None:
        call.enter(watched)
        Comments(str(tmp_path)).overview.refresh()

    copy_context().run(look)
    assert "looking in other files" in watched.told
