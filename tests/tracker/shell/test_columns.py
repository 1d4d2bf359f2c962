"""Tables of what others wrote."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

from postil.core.others.visible import paint
from postil.tracker.index.tables import Row
from postil.tracker.shell.columns import DEFAULT_COLUMNS, Drawing, draw_list
from postil.tracker.text import format_age, format_moment, measure
from tests.tracker.groups import ESCAPES, Tracker, forged
from tests.tracker.programs import answered, run, said


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


def rows_of(repository: Path, *titles: str) -> list[Row]:
    for title in titles:
        Tracker(repository).tools.create(title)
    return Tracker(repository).issues.list_page("issue", None, ("title",), 50, None, False).rows


def test_a_table_fits_the_terminal_and_wide_letters_stay_in_their_column(repository: Path):
    rows = rows_of(repository, "a" * 200, "日本語の題名 " * 10, "short")
    now = datetime.datetime.now(datetime.UTC)
    text = draw_list(rows, Drawing(DEFAULT_COLUMNS, "table", 72, False, now), None, {}, {}, {})
    assert [measure(line) for line in text.split("\n") if measure(line) > 72] == []
    at = {measure(line[: line.index("open")]) for line in text.split("\n")[1:]}
    assert len(at) == 1
    assert "just now" in text


def test_a_pipe_gets_titles_and_labels_whole(repository: Path):
    labels = tuple(f"label-{number}" for number in range(30))
    Tracker(repository).tools.create("a" * 200, labels=labels)
    asked = ("list", "issue", "--columns", "title,labels")
    for told in (said(repository, *asked), said(repository, "--repo", str(repository), *asked)):
        title, names = told.splitlines()[1].split()
        assert title == "a" * 200
        assert sorted(names.split(",")) == sorted(labels)


def test_the_people_of_an_issue_have_a_column(repository: Path):
    tools = Tracker(repository).tools
    tools.create("One", assignees=("bob", "ann"))
    tools.create("Two")
    asked = ("list", "issue", "--columns", "title,assignees", "--sort", "title", "--format", "raw")
    quick, slow = said(repository, *asked), said(repository, "--repo", str(repository), *asked)
    assert quick == slow == "One\tann,bob\nTwo\t\n"
    assert "ann,bob" in said(repository, "list", "issue", "--long")
    refused = run(repository, *asked, "--as-of", "2999-01-01")
    assert (refused.returncode, "show ID --as-of" in refused.stderr) == (2, True)
    assert "ann" not in said(repository, "list", "issue", "--long", "--as-of", "2999-01-01")


def test_colours_are_there_only_where_they_may_be(repository: Path):
    rows = rows_of(repository, "One")
    plain = draw_list(rows, Drawing(DEFAULT_COLUMNS, "table"), None, {}, {}, {})
    colored = draw_list(rows, Drawing(DEFAULT_COLUMNS, "table", 0, True), None, {}, {}, {})
    assert paint(colored, False) == plain
    assert "\x1b[32m" in paint(colored, True)
    assert "\x1b" not in run(repository, "list", "issue").stdout


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(5, "just now"), (61, "1 minute ago"), (7200, "2 hours ago"), (86400 * 400, "1 year ago")],
)
def test_a_time_is_told_as_an_age(seconds: int, said: str):
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert format_age(format_moment(now - datetime.timedelta(seconds=seconds)), now) == said
    assert format_age("9999-12-31T00:00:00.000Z", now).startswith("9999")
    assert format_age("\x1bnonsense", now) == "\\x1bnonsense"


def test_a_plan_is_read_in_a_table(repository: Path):
    said(repository, "create", "issue", "Soon", "--priority", "high", "--type", "bug")
    said(repository, "create", "issue", "Some day")
    table = said(repository, "list", "issue", "--format", "raw", "--columns", "title,priority,type", "--sort", "title")
    assert table.splitlines() == ["Some day\t\t", "Soon\thigh\tbug"]
