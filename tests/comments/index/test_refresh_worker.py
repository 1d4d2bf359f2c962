"""The processes that read many files at once: they run our code only."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.comments.index import refresh_worker
from postil.comments.index.refresh_worker import ENOUGH, read_and_collect
from postil.core import limits
from tests.comments.shop import CODE, line_of
from tests.comments.workspaces import FUNCTIONS, Comments, commit, root_of, workspace, write

# Two processors, whatever this machine has, and workers however quick it is: else one process would read all files.
SHELL = (
    "import os, sys; os.cpu_count = lambda: 2\n"
    "from postil.comments.index import refresh_worker; refresh_worker.WORTH = 0\n"
    "from postil.surfaces.shell.main import main; sys.exit(main())"
)


def commented_files(root: Path, count: int) -> None:
    for number in range(count):
        comment = {"id": f"c_{number}", "line": 1, "text": f"note {number}", "author": "ann"}
        comment |= {"created": "2026-01-01T00:00:00.000Z", "updated": "2026-01-01T00:00:00.000Z"}
        write(root, f"code{number}.py", "value = 1\n")
        sidecar = {"file": f"code{number}.py", "version": "1.0", "comments": [comment]}
        write(root, f"code{number}.py.comments", json.dumps(sidecar))


@pytest.mark.parametrize("command", [["status"], ["comments", "list", "--limit", "1000"]])
def test_modules_that_lie_in_the_repository_are_never_run(tmp_path: Path, command: list[str]) -> None:
    repository, trap = tmp_path / "cloned", tmp_path / "ran"
    commented_files(repository, ENOUGH + 10)
    hostile = f"open({str(trap)!r}, 'a').write(__name__ + chr(10))\nraise ImportError(__name__)\n"
    for name in ("msgspec.py", "postil/__init__.py", "sitecustomize.py", "usercustomize.py", "hashlib.py", "os.py"):
        write(repository, name, hostile)
    done = subprocess.run(
        [sys.executable, "-P", "-c", SHELL, *command], cwd=repository, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not trap.exists(), trap.read_text()
    assert "Traceback" not in done.stderr  # the workers themselves did start and did the work


def test_several_workers_read_what_one_process_reads(tmp_path: Path) -> None:
    commented_files(tmp_path, ENOUGH + 10)
    program = [sys.executable, "-P", "-c", SHELL, "comments", "list", "--limit", "1000"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path.parent / "cache")}
    listed = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60).stdout
    assert listed.count("note ") == ENOUGH + 10


@pytest.mark.parametrize(("worth", "by_workers"), [(float("inf"), 0), (0.0, ENOUGH + 10)])
def test_workers_are_started_where_the_rest_takes_longer_than_their_start(
    comments: Comments, monkeypatch: pytest.MonkeyPatch, worth: float, by_workers: int
) -> None:
    names = [f"code{number}.py" for number in range(refresh_worker.FIRST + ENOUGH + 10)]
    commented_files(root_of(comments), len(names))
    asked: list[str] = []

    def run(jobs: list[refresh_worker.Job]) -> Iterator[refresh_worker.Read]:
        asked.extend(path for job in jobs for path in job.paths)
        yield from map(refresh_worker.Read, asked)

    monkeypatch.setattr(refresh_worker, "_run_workers", run)
    monkeypatch.setattr(refresh_worker, "WORTH", worth)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    found = [each.path for each in refresh_worker.read_many(comments.reader, names, {})]
    assert sorted(found) == sorted(names), "each of them once"
    assert len(asked) == by_workers


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_after_a_pull_that_changed_many_files_all_are_placed(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh_worker, "WORTH", 0)
    root = root_of(comments)
    here = line_of(CODE, "taxed = ")
    for number in range(ENOUGH + 5):
        write(root, f"many/shop{number}.py", CODE)
        comments.add(f"many/shop{number}.py", here, f"in {number}", "NOTE")
    commit(root, "many")
    for number in range(ENOUGH + 5):
        write(root, f"many/shop{number}.py", f"# {number}\n" * (number % 3 + 1) + CODE)
    found = comments.listed("many").comments
    assert {(each.filePath, each.line, each.text) for each in found} == {
        (f"many/shop{number}.py", here + number % 3 + 1, f"in {number}") for number in range(ENOUGH + 5)
    }


LARGE = "".join(f"def function_{number}(value):\n    return value + {number}\n\n\n" for number in range(3000))
"""More than this process compares itself: a worker does."""


def test_comments_of_a_large_file_follow_their_code(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    root = root_of(comments)
    assert len(LARGE) > limits.HERE
    write(root, "large.py", LARGE)
    comments.add("large.py", line_of(LARGE, "value + 2000"), "here", "NOTE")
    write(root, "large.py", "import os\n\n\n" + LARGE.replace("value + 7\n", "value + 77\n"))

    def fail(*_: object) -> None:
        raise AssertionError("this process compared it itself")

    monkeypatch.setattr(refresh_worker, "locate_comments", fail)
    (found,) = comments.listed("large.py").comments
    assert (found.line, found.state) == (line_of(LARGE, "value + 2000") + 3, "moved")
    comments.add("large.py", 1, "there", "NOTE")  # which renews the other's marker, too
    held = json.loads((root / "large.py.comments").read_text())
    assert sorted(each["line"] for each in held["ghostMarkers"]) == [1, line_of(LARGE, "value + 2000") + 3]


def test_comments_of_a_large_file_follow_it_to_another_name(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "large.py", LARGE)
    commit(root, "large")
    comments.add("large.py", line_of(LARGE, "value + 2000"), "here", "NOTE")
    (root / "large.py").rename(root / "other.py")
    (found,) = comments.listed().comments
    assert (found.path, found.line, found.state) == ("other.py", line_of(LARGE, "value + 2000"), "moved")


def test_what_takes_a_worker_too_long_stays_where_it_was_for_a_person(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = root_of(comments)
    for name in ("a.py", "b.py", "c.py"):
        write(root, name, LARGE)
        comments.add(name, 2, f"in {name}", "NOTE")
        write(root, name, "import os\n" + LARGE)
    heard = refresh_worker._run_workers  # pyright: ignore[reportPrivateUsage]

    def run(jobs: list[refresh_worker.Job]) -> Iterator[refresh_worker.Read]:
        """Workers that die of b.py."""
        for read in heard(jobs):
            if read.path == "b.py" and not jobs[0].plain:
                return
            yield read

    monkeypatch.setattr(refresh_worker, "_run_workers", run)
    found = {each.path: (each.line, each.state) for each in comments.listed().comments}
    assert found == {"a.py": (3, "moved"), "b.py": (2, "review"), "c.py": (3, "moved")}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound a process's memory otherwise, or not")
def test_a_worker_for_large_files_has_limits() -> None:
    program = (
        "import resource\nfrom postil.comments.index import refresh_worker as worker\n"
        "worker.limit_memory()\nworker.allow_time(worker.LONGEST)\n"
        "soft = resource.getrlimit(resource.RLIMIT_CPU)[0]\nassert 0 < soft <= worker.LONGEST + 3, soft\n"
        "try:\n    bytearray(worker.LARGEST)\nexcept MemoryError:\n    print('refused')\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "refused\n"


def test_many_large_files_are_read_by_several_workers(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"f{number}.py" for number in range(2 * ENOUGH)]
    asked: list[list[refresh_worker.Job]] = []

    def run(jobs: list[refresh_worker.Job]) -> Iterator[refresh_worker.Read]:
        asked.append(jobs)
        for job in jobs:
            for path in job.paths:
                if path == "f3.py" and not job.plain:
                    break  # its worker ended
                yield refresh_worker.Read(path)

    monkeypatch.setattr(refresh_worker, "_run_workers", run)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    found = [each.path for each in refresh_worker.read_apart(comments.reader, names, {})]
    assert sorted(found) == sorted(names), "each of them once"
    assert len(asked[0]) == 2
    assert [job.paths for jobs in asked for job in jobs if job.plain] == [["f3.py"]]


def test_a_worker_keeps_nothing_of_the_files_that_it_has_read(tmp_path: Path) -> None:
    names = [f"file_{number}.py" for number in range(4)]
    comments = workspace(tmp_path, **dict.fromkeys(names, FUNCTIONS))
    for name in names:
        comments.add(name, 6, "here", "NOTE")
        write(tmp_path, name, "".join(FUNCTIONS.splitlines(keepends=True)[8:]))  # its function is gone
    gc.collect()
    try:
        assert len([*read_and_collect(comments.reader, names, {})]) == len(names)
        left = gc.collect()
        assert left < 100, "what was compared is still in memory"
    finally:
        gc.enable()
        gc.unfreeze()
