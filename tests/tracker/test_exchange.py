"""Import and export: nothing is lost, nothing comes twice, other trackers' refs are understood."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from postil.tracker.failures import InvalidParams
from postil.tracker.imports.files import read_markdown, write_markdown
from postil.tracker.imports.model import ForeignComment, ForeignIssue
from postil.tracker.log.verify import hash_state
from postil.tracker.operations.answers import Shown
from tests.tracker.conftest import git
from tests.tracker.groups import Tracker
from tests.tracker.shell import answered, run, said


def tracker(where: Path) -> Tracker:
    return Tracker(where)


@pytest.fixture
def filled(repository: Path) -> Path:
    mine = tracker(repository)
    mile = mine.tools.create("1.0", "milestone", due="2027-01-01").id
    one = mine.tools.create(
        "Crash, often", labels=("bug", "ui"), milestone=mile, description="# Head\n\ntext", assignees=("ann",)
    )
    two = mine.tools.create("Second", draft=True).id
    mine.tools.comment(one.id, "first\n\n## with a heading")
    mine.tools.comment(one.id, "second")
    mine.tools.link(one.id, "blocks", two)
    mine.identity.create("Ann", "ann@example.org", login="ann")
    mine.tools.close(one.id)
    return repository


def essence(shown: Shown) -> tuple[object, ...]:
    links = sorted((link.type, link.id) for link in shown.links or ())
    words = [(c.author, c.body, c.ts) for c in shown.comments]
    return (
        shown.id,
        shown.title,
        shown.status,
        shown.description,
        shown.labels,
        shown.milestone,
        shown.due,
        links,
        words,
    )


def everything(where: Path) -> list[tuple[object, ...]]:
    mine = tracker(where)
    kinds = ("issue", "milestone")
    return sorted(
        (essence(mine.show(kind, item.id)) for kind in kinds for item in mine.list(kind, includeClosed=True).items),
        key=str,
    )


@pytest.mark.parametrize("format_", ["jsonl", "markdown", "events"])
def test_what_was_exported_can_be_imported_elsewhere_and_twice(
    filled: Path, make_repository: Callable[[str], Path], tmp_path: Path, format_: str
):
    dump = tmp_path / "dump"
    dump.write_text(said(filled, "export", "--format", format_))
    other = make_repository("other")
    assert answered(other, "import", str(dump))["created"] == 4
    assert everything(other) == everything(filled)
    assert answered(other, "list", "identity") == answered(filled, "list", "identity")
    clock = tracker(other).issues.refresh().index.clock()
    again = answered(other, "import", str(dump))
    assert (again["created"], again["updated"]) == (0, 0)
    assert tracker(other).issues.refresh().index.clock() == clock
    # And back where it came from: nothing new either.
    assert answered(filled, "import", str(dump))["created"] == 0
    assert everything(other) == everything(filled)


def test_events_carry_the_state_to_the_last_bit(filled: Path, make_repository: Callable[[str], Path], tmp_path: Path):
    dump = tmp_path / "dump"
    dump.write_text(said(filled, "export", "--format", "events"))
    other = make_repository("other")
    said(other, "import", str(dump))
    assert hash_state(tracker(other).issues.refresh().index) == hash_state(tracker(filled).issues.refresh().index)


def test_markdown_goes_into_one_file_an_entity(filled: Path, tmp_path: Path):
    said(filled, "export", "--format", "markdown", "--folder", str(tmp_path / "out"))
    files = sorted(path.name.partition("-")[0] for path in (tmp_path / "out").iterdir())
    assert files == ["identity", "issue", "issue", "milestone"]


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
    mine = tracker(repository)
    second = next(i for i in mine.list("issue", includeClosed=True).items if i.title == "Second")
    shown = mine.show("issue", second.id)
    assert (shown.status, shown.labels, shown.comments[0].author) == ("closed", ("type:task", "x"), "bob")
    assert [(link.type, link.title) for link in shown.links or ()] == [("blocked-by", "First")]


@pytest.mark.parametrize("text", ["{not json", '{"title": 3}', "---\nno facts\n---\n", '{"id":"x"}'])
def test_a_file_that_cannot_be_read_is_refused_and_nothing_is_written(repository: Path, tmp_path: Path, text: str):
    file = tmp_path / "bad"
    file.write_text(text)
    with pytest.raises(InvalidParams):
        tracker(repository).transfer.import_((str(file),))
    assert git(repository, "for-each-ref") == ""


def blob(where: Path, content: bytes) -> str:
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], input=content, cwd=where, capture_output=True, timeout=30
    )
    return done.stdout.decode().strip()


def tree(where: Path, entries: dict[str, tuple[str, str]]) -> str:
    text = "".join(
        f"{'040000 tree' if kind == 'tree' else '100644 blob'} {oid}\t{name}\n" for name, (kind, oid) in entries.items()
    )
    done = subprocess.run(["git", "mktree"], input=text.encode(), cwd=where, capture_output=True, timeout=30)
    return done.stdout.decode().strip()


def commit(where: Path, tree_oid: str, message: str, *parents: str, at: int = 1_700_000_000) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    done = subprocess.run(
        ["git", "commit-tree", tree_oid, *words],
        input=message.encode(),
        cwd=where,
        capture_output=True,
        timeout=30,
        env={**os.environ, "GIT_COMMITTER_DATE": f"{at} +0000", "GIT_AUTHOR_DATE": f"{at} +0000"},
    )
    return done.stdout.decode().strip()


def told(where: Path, id_: str) -> list[tuple[str, str, str, str]]:
    """The history as `git mile log` has it: time, author, type, what."""
    events = answered(where, "log", id_)["events"]
    return [(e["ts"][:19], e["author"], e["type"], e["what"].partition(": ")[2] or e["what"]) for e in events]


ALPHA = {"title": "Alpha", "description": "d", "status": "open", "labels": ["a"]}
OLD = "3f2b8c1e-0000-4000-8000-00000000abcd"


def write_entity(repository: Path, events: list[dict[str, object]]) -> None:
    """An entity of the old git-mile, each operation a minute after the one before it, each write a commit."""
    blobs: dict[str, tuple[str, str]] = {}
    packs: dict[str, tuple[str, str]] = {}
    tip: list[str] = []
    for counter, event in enumerate(events, 1):
        raw = json.dumps(event).encode()
        digest = hashlib.sha256(raw).hexdigest()
        blobs[f"{digest}.blob"] = ("blob", blob(repository, raw))
        author = "Ann <ann@x>" if counter % 2 else "Bob <bob@x>"
        files = {
            "id": f"{counter}@host1",
            "meta.json": json.dumps({"author": author, "message": "why" if counter == 2 else None}),
            "parents": "",
            "payload": digest,
        }
        packs[f"{counter:020d}-host1-0000"] = (
            "tree",
            tree(repository, {name: ("blob", blob(repository, text.encode())) for name, text in files.items()}),
        )
        top = tree(repository, {"blobs": ("tree", tree(repository, blobs)), "pack": ("tree", tree(repository, packs))})
        tip = [commit(repository, top, "persist operation pack: x", *tip, at=1_700_000_000 + 60 * counter)]
    git(repository, "update-ref", f"refs/git-mile/entities/{OLD}", tip[0])


EVENTS: list[dict[str, object]] = [
    {"version": 3, "type": "created", "data": {**ALPHA, "initial_comment": {"comment_id": "c-1", "body": "hello"}}},
    {"version": 3, "type": "label_attached", "data": {"label": "b"}},
    {"version": 3, "type": "label_detached", "data": {"label": "a"}},
    {"version": 3, "type": "status_changed", "data": {"status": "closed"}},
    {"version": 9, "type": "from_the_future", "data": {"x": 1}},
    {"version": 3, "type": "comment_appended", "data": {"comment_id": "c-2", "body": "again"}},
]


def test_entities_of_the_old_git_mile_are_imported_under_their_ids_with_their_history(repository: Path):
    write_entity(repository, EVENTS)
    assert answered(repository, "import", "--source", "git-mile") == {"created": 1, "updated": 0, "unchanged": 0}
    shown = tracker(repository).show("issue", OLD)
    assert (shown.title, shown.status, shown.labels, shown.author) == ("Alpha", "closed", ("b",), "Ann")
    assert [(c.author, c.body, c.ts) for c in shown.comments] == [
        ("Ann", "hello", "2023-11-14T22:14:20Z"),
        ("Bob", "again", "2023-11-14T22:19:20Z"),
    ]
    assert told(repository, OLD) == [
        ("2023-11-14T22:14:20", "Ann <ann@x>", "created", "“Alpha” +a"),
        ("2023-11-14T22:14:20", "Ann <ann@x>", "comment", "hello"),
        ("2023-11-14T22:15:20", "Bob <bob@x>", "labels", "+b — why"),
        ("2023-11-14T22:16:20", "Ann <ann@x>", "labels", "-a"),
        ("2023-11-14T22:17:20", "Bob <bob@x>", "set", "status → closed"),
        ("2023-11-14T22:19:20", "Bob <bob@x>", "comment", "again"),
    ]
    assert answered(repository, "import", "--source", "git-mile")["unchanged"] == 1


def test_what_happened_there_since_the_last_import_is_added_and_nothing_else(repository: Path):
    write_entity(repository, EVENTS[:3])
    said(repository, "import", "--source", "git-mile")
    mine = tracker(repository)
    mine.tools.comment(OLD, "written here")
    write_entity(repository, EVENTS)
    assert answered(repository, "import", "--source", "git-mile", "--dry-run")["updated"] == 1
    assert answered(repository, "import", "--source", "git-mile") == {"created": 0, "updated": 1, "unchanged": 0}
    shown = tracker(repository).show("issue", OLD)
    assert ([c.body for c in shown.comments], shown.status) == (["hello", "written here", "again"], "closed")
    assert len(told(repository, OLD)) == 7


def test_two_clones_that_import_the_same_have_each_thing_once(repository: Path, tmp_path: Path):
    write_entity(repository, EVENTS)
    git(tmp_path, "clone", "--quiet", str(repository), "other")
    other = tmp_path / "other"
    git(other, "fetch", "--quiet", "origin", "refs/git-mile/*:refs/git-mile/*")
    for clone in (repository, other):
        said(clone, "import", "--source", "git-mile")
    said(other, "pull")
    shown = tracker(other).show("issue", OLD)
    assert ([c.body for c in shown.comments], shown.labels, shown.conflicts) == (["hello", "again"], ("b",), UNSET)


def test_a_ref_that_cannot_be_read_is_named_and_hides_no_other(repository: Path):
    write_entity(repository, EVENTS)
    empty = commit(repository, tree(repository, {}), "nothing")
    broken = commit(repository, tree(repository, {"pack": ("blob", blob(repository, b"x"))}), "odd")
    git(repository, "update-ref", f"refs/git-mile/entities/{'0' * 36}", empty)
    git(repository, "update-ref", f"refs/git-mile/entities/{'1' * 36}", broken)
    done = run(repository, "import", "--source", "git-mile", "--json")
    assert (done.returncode, json.loads(done.stdout)["created"]) == (7, 1)
    (line,) = json.loads(done.stdout)["unread"]
    assert line.startswith(f"refs/git-mile/entities/{'1' * 36}: ")
    assert "where a tree belongs" in line


def test_tasks_of_the_new_git_mile_are_imported_under_their_ids_with_their_history(repository: Path):
    id_, parent = "0199f000-0000-7000-8000-000000000001", "0199f000-0000-7000-8000-0000000000ff"
    kinds = [
        {"type": "taskCreated", "title": "Task", "labels": ["a"], "assignees": ["ann"], "state": "state/todo"},
        {"type": "taskTitleSet", "title": "Better"},
        {"type": "labelsAdded", "labels": ["b"]},
        {"type": "commentAdded", "comment_id": "e9", "body_md": "hi"},
        {"type": "commentUpdated", "comment_id": "e9", "body_md": "hi!"},
        {"type": "childLinked", "parent": parent, "child": id_},
        {"type": "taskStateSet", "state": "state/done", "state_kind": "done"},
    ]  # fmt: skip
    empty = git(repository, "write-tree").strip()
    tip: list[str] = []
    for i, kind in enumerate(kinds):
        event = {
            "schema": "git-mile-event@1",
            "id": f"e{i}",
            "lamport": 0,
            "ts": f"2025-11-0{i + 1}T00:00:00.123456789Z",
            "actor": {"name": "Ann", "email": "ann@x"},
            "task": id_,
            "kind": kind,
        }
        tip = [commit(repository, empty, f"git-mile-event: e{i}\n\n{json.dumps(event, indent=2)}", *tip)]
    git(repository, "update-ref", f"refs/git-mile/tasks/{id_}", tip[0])
    said(repository, "import", "--source", "git-mile")
    shown = tracker(repository).show("issue", id_)
    assert (shown.title, shown.status, shown.labels, shown.assignees) == ("Better", "closed", ("a", "b"), ("ann",))
    assert [(c.body, c.ts, c.edited_at) for c in shown.comments] == [
        ("hi!", "2025-11-04T00:00:00Z", "2025-11-05T00:00:00Z")
    ]
    assert (shown.created_at, shown.updated_at) == ("2025-11-01T00:00:00Z", "2025-11-07T00:00:00Z")
    assert shown.fields == {"state": "state/done"}
    days = [(ts[8:10], what) for ts, _, _, what in told(repository, id_)]
    assert days == [
        ("01", "“Task” +a for ann"),
        ("01", "state → state/todo"),
        ("02", "title → Better"),
        ("03", "+b"),
        ("04", "hi"),
        ("05", "hi!"),
        ("06", f"+parent {parent[:8]}"),
        ("07", "status → closed"),
        ("07", "state → state/done"),
    ]


PERSON = "a" * 64


def write_bug(repository: Path, *packs: tuple[str, tuple[int, ...]]) -> None:
    """A bug of git-bug: packs of operations, each with the numbers of the packs it follows."""
    version = json.dumps({"name": "Ann", "email": "ann@x"}).encode()
    people = tree(repository, {"version": ("blob", blob(repository, version))})
    git(repository, "update-ref", f"refs/identities/{PERSON}", commit(repository, people, "id"))
    made: list[str] = []
    for clock, (ops, parents) in enumerate(packs, 1):
        pack = f'{{"author":{{"id":"{PERSON}"}},"ops":[{ops}]}}'
        empty = ("blob", blob(repository, b""))
        files = {f"edit-clock-{clock}": empty, "ops": ("blob", blob(repository, pack.encode()))}
        made.append(commit(repository, tree(repository, files), "ops", *(made[parent] for parent in parents)))
    git(repository, "update-ref", f"refs/bugs/{'b' * 64}", made[-1])


FIRST = '{"type":1,"timestamp":1700000000,"title":"Bug","message":"It breaks"}'
REMARK = '{"type":3,"timestamp":1700000100,"message":"me too"}'


def key_of(operation: str) -> str:
    return hashlib.sha256(operation.encode()).hexdigest()


def test_bugs_of_git_bug_are_imported_with_their_people_and_their_history(repository: Path):
    later = (
        f'{{"type":5,"timestamp":1700000200,"added":["bug"],"removed":[]}},'
        f'{{"type":6,"timestamp":1700000300,"target":"{key_of(REMARK)}","message":"me too!"}},'
        f'{{"type":6,"timestamp":1700000350,"target":"{key_of(FIRST)}","message":"It broke"}},'
        '{"type":4,"timestamp":1700000400,"status":2},{"type":2,"timestamp":1700000500,"title":"Better"}'
    )
    write_bug(repository, (f"{FIRST},{REMARK}", ()), (later, (0,)))
    assert answered(repository, "import", "--source", "git-bug")["created"] == 1
    assert answered(repository, "import", "--source", "git-bug")["unchanged"] == 1
    mine = tracker(repository)
    (item,) = mine.list("issue", includeClosed=True).items
    shown = mine.show("issue", item.id)
    assert (shown.title, shown.status, shown.labels, shown.author) == ("Better", "closed", ("bug",), "Ann")
    assert ([c.body for c in shown.comments], shown.description) == (["me too!"], "It broke")
    assert (shown.created_at, shown.updated_at) == ("2023-11-14T22:13:20Z", "2023-11-14T22:21:40Z")
    assert [(ts[14:], what) for ts, _, _, what in told(repository, item.id)] == [
        ("13:20", "“Bug”"),
        ("15:00", "me too"),
        ("16:40", "+bug"),
        ("18:20", "me too!"),
        ("19:10", "It broke"),
        ("20:00", "status → closed"),
        ("21:40", "title → Better"),
    ]


def test_both_sides_of_a_merged_bug_are_read_in_the_order_of_its_clock(repository: Path):
    left = '{"type":4,"timestamp":1700000200,"status":2}'
    right = '{"type":3,"timestamp":1700000150,"message":"from the other side"}'
    write_bug(repository, (FIRST, ()), (left, (0,)), (right, (0,)), ("", (1, 2)))
    said(repository, "import", "--source", "git-bug")
    mine = tracker(repository)
    (item,) = mine.list("issue", includeClosed=True).items
    shown = mine.show("issue", item.id)
    assert (shown.status, [c.body for c in shown.comments]) == ("closed", ["from the other side"])


def test_lists_of_what_was_imported_have_the_order_of_its_origin(repository: Path):
    for number, letter in ((5, "b"), (1, "c"), (3, "d")):
        ops = f'{{"type":1,"timestamp":{1700000000 + number},"title":"{number}","message":""}}'
        pack = f'{{"author":{{"id":"x","name":"Ann"}},"ops":[{ops}]}}'
        made = commit(repository, tree(repository, {"ops": ("blob", blob(repository, pack.encode()))}), "ops")
        git(repository, "update-ref", f"refs/bugs/{letter * 64}", made)
    said(repository, "import", "--source", "git-bug")
    assert [item["title"] for item in answered(repository, "list", "issue")["items"]] == ["5", "3", "1"]


def test_a_title_too_long_for_a_title_is_kept_whole_in_the_description(repository: Path, tmp_path: Path):
    file = tmp_path / "long.jsonl"
    huge = "word " * 60_000
    file.write_text(json.dumps({"origin": "x:1", "title": huge, "labels": ["a\x1b[0m", "l" * 900]}) + "\n")
    answered(repository, "import", "--source", "jsonl", str(file))
    assert answered(repository, "import", "--source", "jsonl", str(file))["unchanged"] == 1
    (item,) = answered(repository, "list", "issue")["items"]
    assert (len(item["title"]), item["title"][-1], len(item["labels"][1])) == (1000, "…", 200)
    assert "\x1b" not in item["labels"][0]
    assert answered(repository, "show", item["id"])["description"] == huge.strip()


def test_a_file_of_many_megabytes_is_read_to_its_end(repository: Path, tmp_path: Path):
    file = tmp_path / "large.jsonl"
    large = [{"origin": f"x:{i}", "title": f"Issue {i}", "description": "d" * 100_000} for i in range(60)]
    file.write_text("".join(json.dumps(one) + "\n" for one in large))
    assert file.stat().st_size > 5_000_000
    assert answered(repository, "import", str(file))["created"] == 60
    refused = run(repository, "create", "issue", "T", "--description-file", str(file))
    assert (refused.returncode, "more than 4194304 characters" in refused.stderr) == (2, True)


def test_what_an_import_does_not_know_becomes_what_is_known(repository: Path, tmp_path: Path):
    file = tmp_path / "odd.jsonl"
    file.write_text(json.dumps({"origin": "x:1", "title": "T", "kind": "epic", "due": "soon", "status": "wip"}) + "\n")
    answered(repository, "import", "--source", "jsonl", str(file))
    (item,) = answered(repository, "list", "issue")["items"]
    assert (item["status"], "due" in item) == ("open", False)


def test_the_same_event_twice_in_a_file_is_taken_once(
    filled: Path, make_repository: Callable[[str], Path], tmp_path: Path
):
    dump = tmp_path / "dump"
    dump.write_text(said(filled, "export", "--format", "events") * 2)
    other = make_repository("other")
    assert answered(other, "import", str(dump))["created"] == 4
    assert answered(other, "metrics", "dump")["events"] == answered(filled, "metrics", "dump")["events"]


def test_a_bulk_of_thousands_is_imported_in_one_commit(repository: Path, tmp_path: Path):
    file = tmp_path / "many.jsonl"
    file.write_text(
        "".join(json.dumps({"origin": f"elsewhere:{i}", "title": f"Issue {i}"}) + "\n" for i in range(2000))
    )
    assert answered(repository, "import", "--source", "jsonl", str(file))["created"] == 2000
    (ref,) = git(repository, "for-each-ref", "--format=%(refname)").split()
    assert git(repository, "rev-list", "--count", ref).strip() == "1"
    assert len(answered(repository, "list", "issue", "--limit", "1000")["items"]) == 1000


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12)
line = words.map(lambda text: " ".join(text.split())).filter(bool)
marks = st.sampled_from(["---", "origin: x", "<!-- comment a b c -->", "\\<!-- comment a b c -->", "# T", ""])
text = st.lists(line | marks, max_size=6).map(lambda lines: "\n".join(lines).strip("\n"))
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
