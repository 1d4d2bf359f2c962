"""From GitLab's JSON to our structs: each field by its type, and the odd ones by their own way."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from postil.gitlab.instance.convert import decode_text, read, read_rows
from postil.gitlab.instance.logs import TAIL_CHARACTERS, cut_log
from postil.gitlab.instance.pages import Pagination
from postil.gitlab.instance.records import Record
from postil.gitlab.model import (
    Change,
    Discussion,
    IssueRow,
    Job,
    LastCommit,
    MergeRequestItem,
    MergeRequestRow,
    Note,
    Person,
    ProjectItem,
    RefItem,
)
from postil.gitlab.operations.answers import Files, IssueDetails, MergeRequestDetails

JOHN = {"id": 456, "name": "John Doe", "username": "johndoe"}


def issue(**fields: Any) -> IssueDetails:
    return read(IssueDetails, Record(fields))


def test_a_field_is_gitlabs_field_of_the_same_name() -> None:
    shown = issue(id=1, iid="2", title="T", confidential=False, author=JOHN, assignees=[JOHN, "odd"], unknown="dropped")
    assert (shown.id, shown.iid, shown.title, shown.confidential) == (1, 2, "T", False)
    assert (shown.author, shown.assignees) == (Person(456, "John Doe", "johndoe"), [Person(456, "John Doe", "johndoe")])
    assert (shown.description, shown.web_url) == (None, None)
    assert read(LastCommit, Record({"id": "a"}), author_name="given") == LastCommit("a", None, "given")


def test_the_assignee_is_the_first_of_the_assignees_where_it_is_gone() -> None:
    jane = {**JOHN, "username": "jane"}
    assert [one.username for one in (issue(assignee=JOHN).assignee, issue(assignees=[jane, JOHN]).assignee) if one] == [
        "johndoe",
        "jane",
    ]
    assert issue(assignee=None, assignees=[]).assignee is None
    assert issue(assignee=JOHN, assignees=[jane]).assignee == Person(456, "John Doe", "johndoe")


def test_a_row_of_a_list_names_people_as_one_mentions_them() -> None:
    nameless = {"id": 7, "name": "A bot"}
    fields = {"author": JOHN, "assignees": [nameless], "reviewers": [JOHN, {}, nameless]}
    row = read(MergeRequestRow, Record(fields))
    assert (row.written_by, row.assigned_to, row.asked_reviewers) == ("@johndoe", "A bot", ["@johndoe", "A bot"])
    assert read(IssueRow, Record({"author": {}})).written_by is None


def test_labels_are_names_even_where_gitlab_gives_objects() -> None:
    assert issue(labels=["a", "b"]).labels == ["a", "b"]
    assert issue(labels=[{"name": "a"}, {"color": "red"}, {"name": "b"}]).labels == ["a", "b"]
    assert (issue(labels=None).labels, issue(milestone={"title": "1.0"}).milestone, issue().milestone) == (
        [],
        "1.0",
        None,
    )


def test_a_namespace_is_its_full_path() -> None:
    given: tuple[dict[str, Any], ...]
    given = ({"namespace": {"full_path": "a/b"}}, {"namespace": "a"}, {"namespace": {}}, {})
    assert [read(ProjectItem, Record(raw)).namespace for raw in given] == ["a/b", "a", None, None]


def test_older_names_of_fields_are_read_too() -> None:
    def draft(**fields: Any) -> bool | None:
        return read(MergeRequestItem, Record(fields)).draft

    assert [draft(draft=True), draft(draft=False, work_in_progress=True), draft(work_in_progress=True), draft()] == [
        True,
        False,
        True,
        None,
    ]
    new = read(
        MergeRequestDetails,
        Record({"detailed_merge_status": "mergeable", "head_pipeline": {"id": 1}, "pipeline": {"id": 2}}),
    )
    old = read(MergeRequestDetails, Record({"merge_status": "can_be_merged", "pipeline": {"id": 2}}))
    assert (new.detailed_merge_status, new.pipeline and new.pipeline.id) == ("mergeable", 1)
    assert (old.detailed_merge_status, old.pipeline and old.pipeline.id) == ("can_be_merged", 2)
    assert read(MergeRequestDetails, Record({})).pipeline is None


def test_a_note_on_code_says_where_it_stands() -> None:
    def place(**position: Any) -> tuple[str | None, int | None]:
        note = read(Note, Record({"position": position}))
        return note.file, note.line_number

    assert place(new_path="a", old_path="b", new_line=3, old_line=4) == ("a", 3)
    assert place(old_path="b", old_line=4) == ("b", 4)
    assert read(Note, Record({"system": False})) == Note(None, None, None, None)
    assert read(Note, Record({"system": True})).system is True


@pytest.mark.parametrize(
    ("position", "side", "first"),
    [
        ({"new_line": 3, "old_line": 4}, "new", (None, None)),
        ({"new_line": 3}, "new", (None, None)),
        ({"old_line": 4}, "old", (None, None)),
        ({}, None, (None, None)),
        ({"new_line": 3, "line_range": {"start": {"new_line": 3}, "end": {"new_line": 3}}}, "new", (None, None)),
        ({"new_line": 3, "line_range": {"start": {"new_line": 1}, "end": {"new_line": 3}}}, "new", (1, "new")),
        ({"new_line": 3, "line_range": {"start": {"old_line": 1}, "end": {"new_line": 3}}}, "new", (1, "old")),
        ({"new_line": 3, "line_range": {"end": {"new_line": 3}}}, "new", (None, None)),
    ],
)
def test_a_note_on_code_says_on_which_side_and_from_where(position: Any, side: Any, first: Any) -> None:
    note = read(Note, Record({"position": position}))
    assert (note.side, (note.first_line, note.first_side)) == (side, first)


def test_a_discussion_is_resolved_when_all_that_can_be_is() -> None:
    def state(*notes: tuple[bool, bool]) -> tuple[bool, bool]:
        raw = Record({"notes": [{"resolvable": able, "resolved": done} for able, done in notes]})
        found = read(Discussion, raw)
        return found.resolvable, found.resolved

    assert state((True, True), (True, True)) == (True, True)
    assert state((True, True), (True, False)) == (True, False)
    assert state((True, True), (False, False)) == (True, True)
    assert (state((False, True)), state()) == ((False, False), (False, False))


def test_a_collapsed_diff_and_one_too_large_are_told_apart_and_a_missing_flag_is_no() -> None:
    given: tuple[dict[str, Any], ...]
    given = ({"too_large": True}, {"collapsed": True}, {"too_large": None}, {})
    assert [read(Change, Record(raw)).too_large for raw in given] == [True, False, False, False]
    assert [read(Change, Record(raw)).collapsed for raw in given] == [False, True, False, False]
    assert [read(Change, Record({"new_file": flag})).new_file for flag in (True, False, None)] == [True, False, False]
    assert [read(Job, Record({"allow_failure": flag})).allow_failure for flag in (True, False)] == [True, None]
    assert read(Job, Record({"duration": 1.5})).duration == 1.5


def test_rows_become_the_first_field_of_a_listing() -> None:
    page = Pagination(1, 20, None, None, has_next=False, has_prev=False)
    listed = read_rows(Files, [Record({"path": "a"}), Record({"path": "b"})], pagination=page)
    assert ([item.path for item in listed.files], listed.pagination) == (["a", "b"], page)


def test_the_end_of_a_log_has_forty_lines_without_colours() -> None:
    trace = "".join(f"\x1b[0;33mline {number}\x1b[0m\r\n" for number in range(100)).encode()
    lines = cut_log(trace, "").split("\n")
    assert (len(lines), lines[0], lines[-1]) == (40, "line 60", "line 99")
    assert cut_log(b"50%\r100%\nsection_start:1:build[collapsed=true]\r\x1b]0;title\x07done\n\n", "") == "100%\ndone"


def test_the_end_of_a_log_is_bounded_and_a_secret_at_the_cut_is_no_half_secret() -> None:
    secret = "glpat-" + "s" * 30
    assert len(cut_log(b"x" * 10_000, "")) == TAIL_CHARACTERS == 4000
    assert "sss" not in cut_log(f"{secret}{'.' * (TAIL_CHARACTERS - 10)}".encode(), "")
    assert "mine" not in cut_log(b"a mine b", "mine")
    assert cut_log(b"first" + b"x" * 16 * TAIL_CHARACTERS, "").startswith("x")


@pytest.mark.parametrize(
    ("content", "encoding", "text"),
    [
        (base64.b64encode("é".encode()).decode(), "base64", "é"),
        (base64.b64encode(b"\xff").decode(), "base64", None),
        ("no base64", "base64", None),
        ("eA==", "text", None),
        (None, "base64", None),
        ("", "base64", ""),
    ],
)
def test_only_text_in_base64_is_decoded(content: str | None, encoding: str, text: str | None) -> None:
    assert decode_text(content, encoding) == text


def test_the_date_of_a_branch_is_its_commits() -> None:
    assert read(RefItem, Record({"commit": {"committed_date": "2", "created_at": "1"}})).commit_date == "2"
    assert read(RefItem, Record({"commit": {"created_at": "1"}})).commit_date == "1"
