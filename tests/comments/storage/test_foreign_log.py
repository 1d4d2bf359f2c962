"""A log that somebody else brought, or that was made to hurt: bounded work, and nothing outside of the workspace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.comments.storage import erased, write_log
from tests.comments.workspaces import Comments, workspace, write

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))


def _begin(root: Path) -> tuple[Comments, Path]:
    comments = workspace(root, **{"a.py": CODE, "b.py": CODE})
    comments.add("a.py", 2, "ours", "NOTE")
    (log,) = Path(comments.tree.folder).glob("comments-*.log")
    return comments, log


def _line(path: str, name: str, **values: object) -> str:
    held = {"at": "2026-01-01T00:00:00.000Z", "path": path, "id": name, **values}
    return json.dumps(held, separators=(",", ":")) + "\n"


def _comment(name: str, **values: object) -> dict[str, object]:
    return {"id": name, "text": "theirs", "line": 1, **values}


def test_a_log_of_very_many_short_lines_is_read_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files of 32 MB with the shortest of lines took 43 s and 564 MB of `postil status`."""
    comments, log = _begin(tmp_path)
    log.write_text("".join(_line(f"{number}.py", str(number)) for number in range(300)))
    monkeypatch.setattr(write_log, "MOST_LINES", 100)
    monkeypatch.setattr(erased, "MOST_FILES", 10)
    asked: list[str] = []
    find = comments.tree.path
    monkeypatch.setattr(comments.tree, "path", lambda path: asked.append(path) or find(path))  # type: ignore[func-returns-value]
    with comments.store.log.open() as reader:
        assert len([*reader.rows()]) == 100
    comments.glance()
    assert len(asked) == 10
    asked.clear()
    comments.maintenance.check_files()
    assert len(asked) <= 20, "ten for the comments, ten for the replies"


def test_so_many_comments_and_replies_of_a_log_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comments, log = _begin(tmp_path)
    (held,) = comments.listed().comments
    replies = [{"id": f"r{number}", "text": "x"} for number in range(90)]
    lines = [_line("a.py", f"c{number}", comment=_comment(f"c{number}")) for number in range(90)]
    lines += [_line("a.py", held.id, comment=_comment(held.id, replies=replies))]
    log.write_text("".join(lines))
    monkeypatch.setattr(erased, "MOST_COMMENTS", 20)
    found = comments.maintenance.check_files().erased
    assert len([each for each in found if not each.replyTo]) == 20
    assert len([each for each in found if each.replyTo]) == 20


@pytest.mark.parametrize(
    "made",
    [
        lambda: _line("a.py", "x" * 2000, comment=_comment("x" * 2000)),
        lambda: _line("a.py", "many", comment=_comment("many", junk=[0] * 200_000)),
        lambda: "\n" * 1000 + "[" * 100_000 + "\n",
    ],
)
def test_a_line_that_is_none_of_ours_is_passed_over(tmp_path: Path, made: Callable[[], str]) -> None:
    comments, log = _begin(tmp_path)
    log.write_text(made() + _line("b.py", "good", comment=_comment("good")))
    assert [each.id for each in comments.maintenance.restore(all=True).comments] == ["good"]


def test_very_many_changes_of_a_long_comment_are_read_at_once(tmp_path: Path) -> None:
    """Each copied the places of all before it."""
    comments, log = _begin(tmp_path)
    first = _line("b.py", "long", comment=_comment("long"))
    log.write_text(first + "".join(_line("b.py", "long", comment={"text": str(n)}, part=True) for n in range(40_000)))
    (found,) = comments.maintenance.check_files().erased
    assert found.text == "39999"


def test_nothing_is_written_where_a_log_leads_out_of_the_workspace(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    comments, log = _begin(root)
    write(root, ".git/thing", "x")
    write(tmp_path, "outside.py", CODE)
    paths = ("../outside.py", str(tmp_path / "outside.py"), ".git/thing", "./b.py", "sub/../b.py", "b.py.comments", "")
    log.write_text("".join(_line(path, f"c{n}", comment=_comment(f"c{n}")) for n, path in enumerate(paths)))
    assert comments.maintenance.restore(all=True).comments == ()
    assert not [*tmp_path.rglob("*outside*.comments"), *(root / ".git").rglob("*.comments")]
    assert not (root / "b.py.comments").exists()
