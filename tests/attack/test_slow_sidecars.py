"""Comment files that another program made to be slow: whatever hangs on what, they are changed in linear time.

Each runs in a process that gets far more CPU than linear time takes, and far less than quadratic time would.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postil.comments.failures import CommentFileFull
from postil.comments.sidecar.document import LineTexts, Sidecar
from postil.comments.sidecar.merge import merge_sidecars
from tests.attack.test_ending import make_environ
from tests.workspace.repositories import git, new_repository

MOST_CPU = 20
MANY = 39_000
Made = tuple[list[dict[str, Any]], list[dict[str, Any]], str]


def run_postil(folder: Path, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the shell command with a limit of CPU: one that takes more is killed."""
    return subprocess.run(
        [sys.executable, "-m", "postil", *words],
        cwd=root,
        env=make_environ(folder),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU)),
    )


def plain(line: int = 1) -> list[dict[str, Any]]:
    return [{"id": str(n), "text": str(n), "line": line} for n in range(MANY)]


def twins_on_one_marker() -> Made:
    return [{**each, "id": "1"} for each in plain()], [{"id": "m", "line": 1, "commentIds": ["1"]}], "x\n"


def all_on_one_marker() -> Made:
    return plain(), [{"id": "m", "line": 1, "commentIds": [str(n) for n in range(MANY)]}], "x\n"


def markers_on_one_long_line() -> Made:
    return plain()[:10], [{"id": f"m{n}", "line": 1} for n in range(MANY // 16)], "x" * 15_000_000


@pytest.mark.parametrize("make", [twins_on_one_marker, all_on_one_marker, markers_on_one_long_line])
def test_a_remark_is_added_to_a_file_whatever_hangs_on_what(tmp_path: Path, make: Callable[[], Made]) -> None:
    root = new_repository(tmp_path / "r")
    comments, markers, source = make()
    (root / "a.py").write_text(source)
    (root / "a.py.comments").write_text(json.dumps({"comments": comments, "ghostMarkers": markers}))
    done = run_postil(tmp_path, root, "comments", "add", "a.py", "1", "hello")
    assert done.returncode == 0, done.stderr
    kept = json.loads((root / "a.py.comments").read_text())
    assert len(kept["comments"]) == len({each["id"] for each in kept["comments"]}) == len(comments) + 1


def test_comments_that_share_an_id_and_its_markers_are_listed(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    held = [{**each, "id": "1"} for each in plain()[:8_000]]
    markers = [{"id": f"m{n}", "line": 1, "commentIds": ["1"]} for n in range(8_000)]
    (root / "a.py").write_text("x\n")
    (root / "a.py.comments").write_text(json.dumps({"comments": held, "ghostMarkers": markers}))
    done = run_postil(tmp_path, root, "comments", "list", "a.py")
    assert done.returncode == 0, done.stderr
    assert "7800 more" in done.stdout


def test_a_remark_is_added_to_a_file_that_git_alone_has(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    (root / "a.py").write_text("x\n")
    (root / "a.py.comments").write_text(json.dumps({"comments": plain(), "ghostMarkers": []}))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    (root / "a.py.comments").unlink()
    done = run_postil(tmp_path, root, "comments", "add", "a.py", "1", "hello")
    assert done.returncode == 0, done.stderr
    assert len(json.loads((root / "a.py.comments").read_text())["comments"]) == MANY + 1


def test_comments_of_one_line_without_a_marker_get_one_in_linear_time(tmp_path: Path) -> None:
    asked = (
        "from postil.comments.sidecar.document import LineTexts, Sidecar\n"
        'made = b\',\'.join(b\'{"id":"%d","text":"a","line":1}\' % n for n in range(90_000))\n'
        "sidecar = Sidecar('a.py', b'{\"comments\":[' + made + b']}')\n"
        "sidecar.finish(lambda line: LineTexts('', ''), 'now', lambda prefix: prefix + '1')\n"
        "print(len(sidecar.markers[0].commentIds))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env=make_environ(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU)),
    )
    assert (done.stdout.strip(), done.returncode) == ("90000", 0)


@pytest.mark.parametrize("of_each", ["comments", "ghostMarkers"])
def test_a_file_is_given_no_more_than_it_may_hold(of_each: str) -> None:
    """Counted as it is written: 38,000 markers on lines of control characters held 400 MB until they were refused."""
    given: list[int] = []

    def give(line: int) -> LineTexts:
        given.append(line)
        return LineTexts("", "\x01" * 2000)

    # A comment has nothing to be given that is long, but its own keys are longer as they are written.
    held = [{"id": str(n), "text": "a", "line": 1, "x": [0] * 700 if of_each == "comments" else 0} for n in range(3000)]
    sidecar = Sidecar("a.py", json.dumps({"comments": [], "ghostMarkers": []} | {of_each: held}).encode())
    with pytest.raises(CommentFileFull):
        sidecar.finish(give, "now", lambda prefix: prefix + "1")
    assert len(given) < 2000
    assert max(map(len, sidecar.lists()[of_each == "ghostMarkers"].texts[2500:])) < 5000


def test_a_file_that_has_what_is_demanded_is_asked_for_no_lines() -> None:
    texts = {"lineHash": "", "lineText": "a", "prevLineText": "", "nextLineText": ""}
    markers = [{"id": str(n), "line": 1, **texts} for n in range(3)]
    sidecar = Sidecar("a.py", json.dumps({"comments": [], "ghostMarkers": markers}).encode())
    sidecar.finish(lambda line: pytest.fail(f"line {line} was asked for"), "now", lambda prefix: prefix + "1")
    assert [each.lastVerified for each in sidecar.markers] == ["now"] * 3


def test_versions_are_not_merged_to_more_than_a_file_may_hold() -> None:
    theirs = [{"id": str(n), "text": "a", "line": 1, "x": [0] * 1000} for n in range(2000)]
    with pytest.raises(CommentFileFull):
        merge_sidecars("a.py", None, b'{"comments":[]}', json.dumps({"comments": theirs}).encode())


def write_sides(root: Path, many: int, *, text: str = "a") -> None:
    """Writes three versions of which each side added comments, as git hands them to its merge driver."""
    for name, first, count in (("base", 0, 0), ("ours", 0, many), ("theirs", many, many)):
        held = [{"id": str(n), "text": text, "line": 1, "ghostMarkerId": "m"} for n in range(first, first + count)]
        marker = {"id": "m", "line": 1, "commentIds": [each["id"] for each in held]}
        (root / name).write_text(json.dumps({"version": "2.1.0", "comments": held, "ghostMarkers": [marker]}))


def test_very_many_comments_of_both_sides_are_merged(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    write_sides(root, MANY // 2)
    done = run_postil(tmp_path, root, "comments", "merge", "base", "ours", "theirs", "x.comments")
    assert done.returncode == 0, done.stderr
    merged = json.loads((root / "ours").read_text())
    assert len(merged["comments"]) == len(merged["ghostMarkers"][0]["commentIds"]) == 2 * (MANY // 2)


def test_what_is_too_large_to_be_merged_by_comment_is_left_to_git(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    write_sides(root, 13, text="a" * 1_000_000)
    done = run_postil(tmp_path, root, "comments", "merge", "base", "ours", "theirs", "x.comments")
    assert done.returncode != 0
    assert "too large to be merged by comment" in done.stdout + done.stderr
    assert "<<<<<<< " in (root / "ours").read_text()


def test_of_a_large_comment_file_git_shows_the_beginning(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    write_sides(root, 14, text="a" * 1_000_000)
    done = run_postil(tmp_path, root, "comments", "text", "ours")
    assert done.returncode == 0, done.stderr
    assert "bytes more" in done.stdout[-100:]
    assert len(done.stdout) < 3 << 20
