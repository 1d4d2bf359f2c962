"""Arguments that are too long, too empty or dangerous are refused, on every surface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.tracker.failures import InvalidParams
from tests.tracker.groups import Tracker
from tests.tracker.programs import git, run

HUGE = "x" * 300_000


@pytest.mark.parametrize("title", [HUGE, "\x1b[2J", "a\x00b", "bell\x07", "\x9b31m", "del\x7f", "\ud800"])
def test_a_title_of_any_size_or_with_control_characters_is_refused_and_writes_nothing(repository: Path, title: str):
    with pytest.raises(InvalidParams, match=r"at most 1000|control character"):
        Tracker(repository).tools.create(title)
    assert git(repository, "for-each-ref") == ""


@pytest.mark.parametrize("title", [HUGE, "\x1b[2J"])
def test_the_same_is_refused_on_standard_input_with_the_contracts_code(repository: Path, title: str):
    arguments = json.dumps({"title": title})
    done = run(repository, "call", "git_mile.create", "-", "--json", program="main", stdin=arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["error"]["code"] == -32602
    assert len(done.stderr) < 2000


def test_a_title_on_several_lines_is_put_on_one(repository: Path):
    assert Tracker(repository).tools.create(" two\r\n\t lines ").title == "two lines"


def test_labels_people_and_comments_are_bounded_too(repository: Path):
    mine = Tracker(repository)
    id_ = mine.tools.create("T").id
    for attempt in (
        lambda: mine.tools.label(id_, add=(HUGE,)),
        lambda: mine.tools.label(id_, add=("\x1b[31m",)),
        lambda: mine.tools.update(id_, assign=("a\x07",)),
        lambda: mine.tools.comment(id_, "x" * 1_000_001),
        lambda: mine.plan.claim(id_, who="\x1b]0;me\x07"),
        lambda: mine.plan.claim(id_, who=HUGE),
    ):
        with pytest.raises(InvalidParams):
            attempt()
    mine.tools.comment(id_, HUGE)
    assert len(mine.issues.find(id_).comments[0].body) == 300_000
