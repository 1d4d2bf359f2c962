"""One thing on one line, whatever GitLab leaves out."""

from __future__ import annotations

import inspect
from typing import Any

from postil.gitlab import model
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Change, Discussion, FileItem, FoundIssue, IssueItem, Job, MergeRequestItem, Note, Person

JOHN = Person(1, "John", "john")


def test_every_thing_has_a_line_even_when_gitlab_says_nothing() -> None:
    kinds: list[Any] = [kind for _, kind in inspect.getmembers(model, inspect.isclass) if hasattr(kind, "line")]
    assert len(kinds) >= 10
    for kind in kinds:
        assert isinstance(read(kind, Record({})).line(), str), kind


def test_issues_and_merge_requests_are_said_with_who_and_what() -> None:
    issue = IssueItem(1, 7, "Title", "two\n  lines", "opened", None, JOHN)
    assert issue.line() == "#7 [opened] @john Title: two lines"
    assert IssueItem(1, 7, None, None, "closed", None, None).line() == "#7 [closed] "
    assert FoundIssue(1, 7, 9, "T", None, "opened", None, None, None).line() == "project 9 #7 [opened] T"
    wanted = MergeRequestItem(1, 7, "T", "not said", "opened", True, "a", "b", None, JOHN, None, None, None, None)
    assert wanted.line() == "!7 [opened, draft] @john T a → b"


def test_people_are_named_by_their_username_first() -> None:
    assert [Person(1, "N", "u").line(), Person(1, "N").line(), Person().line()] == ["@u", "N", "somebody"]


def test_jobs_files_and_changes() -> None:
    assert Job(1, "unit", "test", "failed", "script_failure").line() == "test/unit (1): failed (script_failure)"
    assert Job(1, "unit", "test", "success").line() == "test/unit (1): success"
    assert [FileItem(None, None, kind, "src", None).line() for kind in ("tree", "blob")] == ["src/", "src"]
    assert Change("a", "b", "+x").line() == "--- a\n+++ b\n+x"


def test_a_discussion_says_whether_it_is_open() -> None:
    note = Note(1, "why?", JOHN, "today", file="a.py", line_number=3)
    lines = [Discussion("d", able, done, [note]).line() for able, done in ((True, True), (True, False), (False, False))]
    assert [line.split("\n")[0] for line in lines] == [
        "discussion d (resolved)",
        "discussion d (open)",
        "discussion d (talk)",
    ]
    assert lines[0].split("\n")[1] == "  @john on a.py:3, today: why?"
