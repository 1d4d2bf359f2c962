"""One inotify instance a process, however many watch; each hears of its own folders."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from postil.workspace import inotify
from postil.workspace.operations.checks import Watching
from postil.workspace.watch import Watch
from tests.workspace.repositories import workspace


def instances() -> int:
    links = (os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if exists(name))
    return sum("inotify" in link for link in links)


def exists(name: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{name}")


def test_all_watches_of_a_process_share_one_instance(tmp_path: Path) -> None:
    watches = [Watch([str(tmp_path)]) for _ in range(20)]
    assert instances() == 1
    for watch in watches:
        watch.close()


def test_each_hears_of_its_own_folders_and_only_while_it_watches(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one, other, both = Watch([str(tmp_path / "a")]), Watch([str(tmp_path / "b")]), Watch([str(tmp_path / "a")])
    both.add(str(tmp_path / "b"))
    (tmp_path / "a" / "x").write_text("")
    assert one.wait(10) == {str(tmp_path / "a" / "x")}
    assert both.wait(10) == {str(tmp_path / "a" / "x")}
    assert other.changed() == frozenset()
    one.close()
    (tmp_path / "a" / "y").write_text("")
    (tmp_path / "b" / "y").write_text("")
    assert both.changed() == {str(tmp_path / "a" / "y"), str(tmp_path / "b" / "y")}
    assert other.changed() == {str(tmp_path / "b" / "y")}
    other.close()
    both.close()


def test_nobody_is_woken_who_only_looks(tmp_path: Path) -> None:
    watch = Watch([str(tmp_path)])
    before = threading.active_count()
    (tmp_path / "x").write_text("")
    assert watch.changed() == {str(tmp_path / "x")}
    assert threading.active_count() == before
    (tmp_path / "y").write_text("")
    assert watch.wait(10) == {str(tmp_path / "y")}  # what happened before it waited wakes it, too
    watch.close()


def test_a_folder_under_two_names_is_told_under_both(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Watch([str(tmp_path / "real")]) as real, Watch([str(tmp_path / "link")]) as link:
        (tmp_path / "real" / "x").write_text("")
        assert real.wait(10) == {str(tmp_path / "real" / "x")}
        assert link.wait(10) == {str(tmp_path / "link" / "x")}


def test_a_folder_that_goes_and_comes_back_is_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    with Watch([str(tmp_path), str(folder)]) as watch:
        folder.rmdir()
        assert str(folder) in watch.wait(10)
        folder.mkdir()
        assert watch.wait(10)
        (folder / "x").write_text("")
        assert str(folder / "x") in watch.wait(10)


FORKED = """
import os, sys
from postil.workspace.watch import Watch
mine = Watch([sys.argv[1]])
if os.fork() == 0:
    with Watch([sys.argv[1]]) as watch:
        open(sys.argv[1] + "/x", "w").close()
        os._exit(0 if watch.wait(10) else 1)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_a_child_has_an_instance_of_its_own(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", FORKED, str(tmp_path)], timeout=60).returncode == 0


def test_when_none_is_left_it_looks_by_itself_and_the_doctor_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(folders: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(inotify, "subscribe", none_left)
    with Watch([str(tmp_path)]) as watch:
        assert not watch.immediate
        (tmp_path / "x").write_text("")
        assert str(tmp_path / "x") in watch.wait(30)
    finding = Watching(workspace(tmp_path)).changes_are_told()
    assert (finding.status, "max_user_instances" in finding.fix) == ("warning", True)
    monkeypatch.undo()
    assert Watching(workspace(tmp_path)).changes_are_told().status == "ok"
