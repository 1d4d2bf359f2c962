"""Text that nobody should write: in arguments, in files that are imported, in logs that others push."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.failures import InvalidParams
from postil.tracker.index.db_files import find_current
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.conftest import git
from tests.tracker.groups import Tracker
from tests.tracker.shell import answered, run, said

HUGE = "x" * 300_000
ESCAPES = "\x1b]0;owned\x07 two\nlines\tand \x9b2J \u202eback"


def tracker(where: Path) -> Tracker:
    return Tracker(where)


@pytest.mark.parametrize("title", [HUGE, "\x1b[2J", "a\x00b", "bell\x07", "\x9b31m", "del\x7f", "\ud800"])
def test_a_title_of_any_size_or_with_control_characters_is_refused_and_writes_nothing(repository: Path, title: str):
    with pytest.raises(InvalidParams, match=r"at most 1000|control character"):
        tracker(repository).tools.create(title)
    assert git(repository, "for-each-ref") == ""


@pytest.mark.parametrize("title", [HUGE, "\x1b[2J"])
def test_the_same_is_refused_on_standard_input_with_the_contracts_code(repository: Path, title: str):
    arguments = json.dumps({"title": title})
    done = run(repository, "call", "git_mile.create", "-", "--json", program="main", stdin=arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["error"]["code"] == -32602
    assert len(done.stderr) < 2000


def test_a_title_on_several_lines_is_put_on_one(repository: Path):
    assert tracker(repository).tools.create(" two\r\n\t lines ").title == "two lines"


def test_labels_people_and_comments_are_bounded_too(repository: Path):
    mine = tracker(repository)
    id_ = mine.tools.create("T").id
    for attempt in (
        lambda: mine.tools.label(id_, add=(HUGE,)),
        lambda: mine.tools.label(id_, add=("\x1b[31m",)),
        lambda: mine.tools.update(id_, assign=("a\x07",)),
        lambda: mine.tools.comment(id_, "x" * 1_000_001),
        lambda: mine.tools.claim(id_, who="\x1b]0;me\x07"),
        lambda: mine.tools.claim(id_, who=HUGE),
    ):
        with pytest.raises(InvalidParams):
            attempt()
    mine.tools.comment(id_, HUGE)
    assert len(mine.show("issue", id_).comments[0].body) == 300_000


@pytest.mark.parametrize(
    "id_", ["*", "?" * 36, "[0-9a-f]*", "../../HEAD", "%", "_", "-", "'; DROP TABLE ent; --", "\0", ""]
)
def test_an_id_made_of_patterns_or_paths_names_nothing(repository: Path, id_: str):
    mine = tracker(repository)
    mine.tools.create("One")
    mine.tools.create("Two")
    for attempt in (
        lambda: mine.tools.close(id_),
        lambda: mine.show("issue", id_),
        lambda: mine.tools.claim(id_),
    ):
        with pytest.raises(InvalidParams):
            attempt()
    assert len(mine.list("issue").items) == 2


def forged(repository: Path, kind: str = "issue", id_: str = "") -> str:
    """An issue as a hostile writer's log could hold it: no check of ours ever saw it."""
    store = Store(find_repository(str(repository)))
    id_ = id_ or ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, id_, kind=kind, title=ESCAPES, labels=(ESCAPES,), a=f"{ESCAPES} <a@b>")
        tx.write(ev.Claimed, id_, who=ESCAPES, until="9999-01-01T00:00:00.000Z")
        tx.write(ev.Commented, id_, c="c", body=ESCAPES)
    return id_


@pytest.mark.parametrize("style", ["table", "raw"])
def test_what_others_wrote_stays_in_its_line_and_commands_no_terminal(repository: Path, style: str):
    id_ = forged(repository)
    quick = said(repository, "list", "issue", "--long", "--format", style)
    slow = said(repository, "--repo", str(repository), "list", "issue", "--long", "--format", style)
    assert quick == slow
    assert len(quick.splitlines()) == (2 if style == "table" else 1)
    told = (
        quick
        + said(repository, "log", id_)
        + said(repository, "ready")
        + said(repository, "show", id_).partition("\n")[0]
    )
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told) is None
    assert answered(repository, "show", id_)["title"] == ESCAPES  # nothing is lost: JSON has it as it is


def test_nonsense_for_days_makes_no_picture_fail_or_grow(repository: Path):
    store = Store(find_repository(str(repository)))
    mile = ev.new_entity_id()
    with store.transaction() as tx:
        tx.write(ev.Created, mile, kind="milestone", title="M", due="never")
        for ts in ("", "9999999-99", "2026-13-45T00", "0001-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"):
            tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="x", milestone=mile, ts=ts)
    mine = tracker(repository)
    for words in ((), ("--svg",), ("--bar",), ("--svg", "--bar")):
        assert len(said(repository, "milestone", "chart", mile, *words)) < 400_000
    chart = mine.charts.chart(mile)
    assert not isinstance(chart, str)
    assert len(chart.days) <= 3654
    assert chart.days[0].open == 1


def test_bytes_that_are_no_text_are_refused(repository: Path, tmp_path: Path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{}")
    code = "import sys; from postil.surfaces.shell.main import git_mile; sys.exit(git_mile())"
    for name in (str(tmp_path / "bytes"), "-"):
        with (tmp_path / "bytes").open("rb") as given:
            done = subprocess.run(
                [sys.executable, "-c", code, "import", name],
                cwd=repository,
                stdin=given,
                capture_output=True,
                timeout=60,
            )
        assert (done.returncode, b"not UTF-8" in done.stderr) == (2, True)


def test_an_export_never_leaves_its_folder(repository: Path, tmp_path: Path):
    forged(repository, kind="../../up", id_="../" * 12)
    forged(repository, kind="/etc/passwd\0")
    out = tmp_path / "deep" / "er" / "out"
    said(repository, "export", "--format", "markdown", "--folder", str(out))
    assert [len(list(folder.iterdir())) for folder in (out, out.parent, out.parent.parent)] == [2, 1, 1]
    (tmp_path / "file").write_text("x")
    refused = run(repository, "export", "--format", "markdown", "--folder", str(tmp_path / "file" / "x"))
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)


def test_damage_that_only_a_question_finds_rebuilds_the_cache(repository: Path):
    mine = tracker(repository)
    mine.tools.create("Kept")
    mine.issues.store.index.close()
    path = find_current(str(repository / ".git/postil"))
    assert path is not None
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE ent")
    db.close()
    assert [item["title"] for item in answered(repository, "list", "issue")["items"]] == ["Kept"]
