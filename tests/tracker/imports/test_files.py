"""Files of other trackers, and our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.tracker.failures import InvalidParams
from postil.tracker.imports.files import read_beads, read_markdown, write_markdown
from postil.tracker.imports.model import ForeignComment, ForeignIssue
from tests.tracker.foreign import everything, line, text
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git, said


def test_beads_come_with_their_dependencies(repository: Path, tmp_path: Path):
    beads = [
        {
            "id": "bd-1",
            "title": "First",
            "status": "open",
            "issue_type": "bug",
            "created_at": "2025-01-01T00:00:00.123456789Z",
        },
        {
            "id": "bd-2",
            "title": "Second",
            "status": "closed",
            "issue_type": "task",
            "priority": 1,
            "assignee": "ann",
            "labels": ["x"],
            "created_at": "2025-01-02T00:00:00Z",
            "closed_at": "2025-01-03T00:00:00Z",
            "comments": [{"id": 1, "author": "bob", "text": "done", "created_at": "2025-01-03T00:00:00Z"}],
            "dependencies": [{"issue_id": "bd-2", "depends_on_id": "bd-1", "type": "blocks"}],
        },
    ]  # fmt: skip
    file = tmp_path / "issues.jsonl"
    file.write_text("".join(json.dumps(bead) + "\n" for bead in beads))
    assert answered(repository, "import", str(file), "--dry-run")["created"] == 2
    assert everything(repository) == []
    assert answered(repository, "import", str(file))["created"] == 2
    assert answered(repository, "import", str(file))["unchanged"] == 2
    mine = Tracker(repository)
    second = next(i for i in mine.list("issue", includeClosed=True).items if i.title == "Second")
    shown = mine.show("issue", second.id)
    assert (shown.status, shown.labels, shown.comments[0].author) == ("closed", ("x",), "bob")
    assert shown.fields == {"type": "task", "priority": "high"}  # once, as fields: not as labels too
    assert [(link.type, link.title) for link in shown.links or ()] == [("blocked-by", "First")]


def test_what_no_field_can_say_of_a_bead_is_a_label(repository: Path, tmp_path: Path):
    file = tmp_path / "issues.jsonl"
    file.write_text(json.dumps({"id": "bd-1", "title": "First", "issue_type": "molecule", "priority": 4}) + "\n")
    answered(repository, "import", str(file))
    (item,) = answered(repository, "list", "issue")["items"]
    assert sorted(item["labels"]) == ["priority:4", "type:molecule"]


def test_what_a_bead_waits_for_and_is_in_no_file_is_named_and_kept(repository: Path, tmp_path: Path):
    waits = [{"issue_id": "bd-2", "depends_on_id": name, "type": "blocks"} for name in ("bd-9", "bd-1")]
    second = {"id": "bd-2", "title": "Second", "issue_type": "task", "dependencies": waits}
    first = {"id": "bd-1", "title": "First", "issue_type": "bug"}
    ninth = {"id": "bd-9", "title": "Ninth", "issue_type": "bug"}
    (tmp_path / "all").write_text(f"{json.dumps(second)}\n{json.dumps(first)}\n")
    (tmp_path / "late").write_text(json.dumps(ninth))
    told = said(repository, "import", str(tmp_path / "all"))
    assert "not here: beads:bd-9, for which beads:bd-2 waits" in told
    shown = answered(repository, "show", "bd-2")
    assert shown["fields"]["waits_for"] == "beads:bd-9"
    assert [(link["type"], link["title"]) for link in shown["links"]] == [("blocked-by", "First")]
    assert "missing" not in answered(repository, "import", str(tmp_path / "late"))
    assert "missing" not in answered(repository, "import", str(tmp_path / "all"))  # now the link can be made
    shown = answered(repository, "show", "bd-2")
    assert "waits_for" not in shown.get("fields", {})
    assert {link["title"] for link in shown["links"]} == {"First", "Ninth"}
    assert answered(repository, "import", str(tmp_path / "all"))["unchanged"] == 2


@pytest.mark.parametrize("text", ["{not json", '{"title": 3}', "---\nno facts\n---\n", '{"id":"x"}'])
def test_a_file_that_cannot_be_read_is_refused_and_nothing_is_written(repository: Path, tmp_path: Path, text: str):
    file = tmp_path / "bad"
    file.write_text(text)
    with pytest.raises(InvalidParams):
        Tracker(repository).transfer.import_((str(file),))
    assert git(repository, "for-each-ref") == ""


names = (
    st.lists(line, max_size=3, unique=True).map(lambda found: sorted(found, key=lambda name: "," in name)).map(tuple)
)


comments = st.builds(
    ForeignComment, key=st.from_regex(r"[a-z2-7]{4}", fullmatch=True), author=line, ts=st.just("t"), body=text
)


foreigners = st.builds(
    ForeignIssue,
    origin=st.just("x:1"),
    title=line,
    description=text,
    labels=names,
    assignees=names,
    author=line,
    comments=st.lists(comments, max_size=3).map(tuple),
    links=st.just((("blocks", "x:2"), ("parent", "x:3"))),
    fields=st.dictionaries(st.from_regex(r"[a-z:]{1,5}", fullmatch=True), line, max_size=2),
)  # fmt: skip


@given(st.lists(foreigners, min_size=1, max_size=3))
def test_markdown_written_and_read_again_is_the_same(several: list[ForeignIssue]):
    assert read_markdown("".join(write_markdown(one) for one in several)) == several


def test_beads_come_with_all_that_was_there(repository: Path, tmp_path: Path):
    common = {"issue_type": "bug", "created_at": "2025-01-01T00:00:00Z"}
    beads = [
        {"id": "bd-1", "title": "Gone", "status": "tombstone", **common},
        {"id": "bd-2", "title": "Doing", "status": "in_progress", "priority": 1, "owner": "ann", **common},
        {
            **common,
            "id": "bd-3",
            "title": "Done",
            "status": "closed",
            "close_reason": "fixed in main",
            "external_ref": "gh-9",
            "created_by": "bob",
        },
    ]
    (tmp_path / "issues.jsonl").write_text("\n".join(json.dumps(bead) for bead in beads))
    assert answered(repository, "import", str(tmp_path / "issues.jsonl"))["created"] == 3
    assert {item["title"] for item in answered(repository, "list", "issue", "--all")["items"]} == {"Doing", "Done"}
    doing, done = answered(repository, "show", "bd-2"), answered(repository, "show", "bd-3")
    assert doing["fields"] == {"priority": "high", "state": "in_progress", "type": "bug"}
    assert (doing["assignees"], done["author"]) == (["ann"], "bob")
    assert (done["fields"]["close_reason"], done["fields"]["external_ref"]) == ("fixed in main", "gh-9")
    assert answered(repository, "import", str(tmp_path / "issues.jsonl"))["unchanged"] == 3


@pytest.mark.parametrize("time", ["yesterday", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_is_none_ends_no_import(time: str):
    (one,) = read_beads(json.dumps({"id": "bd-1", "title": "T", "issue_type": "bug", "created_at": time}))
    assert (one.title, one.ts) == ("T", "")
