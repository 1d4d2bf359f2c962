"""`export` and `import`."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from postil.tracker.events import Linked, Set
from postil.tracker.index import entity_lines
from postil.tracker.store import Store
from tests.tracker.foreign import everything
from tests.tracker.groups import Clock, Tracker, forged
from tests.tracker.programs import answered, git, run, said
from tests.tracker.questions import fill
from tests.tracker.stores import hash_state
from tests.tracker.teams import list_titles


def test_an_export_never_leaves_its_folder(repository: Path, tmp_path: Path):
    forged(repository, kind="issue", id_="../" * 12)  # an entity whose name is no id is none
    forged(repository, kind="../../up")
    forged(repository, kind="/etc/passwd\0")
    out = tmp_path / "deep" / "er" / "out"
    said(repository, "export", "--format", "markdown", "--folder", str(out))
    assert [len(list(folder.iterdir())) for folder in (out, out.parent, out.parent.parent)] == [2, 1, 1]
    (tmp_path / "file").write_text("x")
    refused = run(repository, "export", "--format", "markdown", "--folder", str(tmp_path / "file" / "x"))
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)


@pytest.fixture
def filled(repository: Path) -> Path:
    mine = Tracker(repository)
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
    clock = Tracker(other).issues.refresh().index.clock()
    again = answered(other, "import", str(dump))
    assert (again["created"], again["updated"]) == (0, 0)
    assert Tracker(other).issues.refresh().index.clock() == clock
    # And back where it came from: nothing new either.
    assert answered(filled, "import", str(dump))["created"] == 0
    assert everything(other) == everything(filled)


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_times_order_and_comment_ids_come_back(
    form: str, make_repository: Callable[[str], Path], tmp_path: Path, clock: Clock
):
    here = Tracker(make_repository("here"), clock)
    ids: list[str] = []
    for title in ("Old", "Middle", "New"):
        ids.append(here.tools.create(title).id)
        clock.at += datetime.timedelta(days=1)
    said_first = here.tools.comment(ids[1], "before it was closed").comment_id
    clock.at += datetime.timedelta(days=1)
    here.tools.close(ids[1])
    clock.at += datetime.timedelta(days=1)
    here.tools.comment(ids[1], "after it was closed")
    clock.at += datetime.timedelta(days=1)
    here.comments.edit_comment(ids[1], str(said_first), "edited")
    clock.at += datetime.timedelta(days=1)
    here.tools.label(ids[0], add=("gone",))
    here.tools.label(ids[0], remove=("gone",))
    with here.issues.transaction() as tx:
        tx.write(Set, ids[2], f="status", value="reviewed")
        tx.write(Linked, ids[2], add=(("mentions", ids[0]),))
    file = tmp_path / "out"
    file.write_text(said(Path(here.issues.store.repository.root), "export", "--format", form))
    there = Tracker(make_repository("there"))
    there.transfer.import_((str(file),))
    for sort in (("created",), ("updated",)):
        one, two = (mine.list(sort=sort, includeClosed=True).items for mine in (here, there))
        assert [(item.id, item.status) for item in one] == [(item.id, item.status) for item in two]
    for id_ in ids:
        one, two = here.issues.find(id_), there.issues.find(id_)
        assert (one.updated_ts, one.created_ts, one.closed_ts) == (two.updated_ts, two.created_ts, two.closed_ts)
        assert one.comments == two.comments
        assert [(link.type, link.target) for link in one.links] == [(link.type, link.target) for link in two.links]
    again = there.transfer.import_((str(file),))
    assert (again.created, again.updated) == (0, 0)


def test_events_carry_the_state_to_the_last_bit(filled: Path, make_repository: Callable[[str], Path], tmp_path: Path):
    dump = tmp_path / "dump"
    gone = Tracker(filled).tools.create("A mistake").id
    said(filled, "delete", gone)
    dump.write_text(said(filled, "export", "--format", "events"))
    other = make_repository("other")
    said(other, "import", str(dump))
    assert "It was deleted" in run(other, "show", gone).stderr
    assert said(other, "list", "identity") == said(filled, "list", "identity")
    assert hash_state(Tracker(other).issues.refresh()) == hash_state(Tracker(filled).issues.refresh())


def test_markdown_goes_into_one_file_an_entity(filled: Path, tmp_path: Path):
    said(filled, "export", "--format", "markdown", "--folder", str(tmp_path / "out"))
    files = sorted(path.name.partition("-")[0] for path in (tmp_path / "out").iterdir())
    assert files == ["identity", "issue", "issue", "milestone"]


def test_a_file_of_many_megabytes_is_read_to_its_end(repository: Path, tmp_path: Path):
    file = tmp_path / "large.jsonl"
    large = [{"origin": f"x:{i}", "title": f"Issue {i}", "description": "d" * 100_000} for i in range(60)]
    file.write_text("".join(json.dumps(one) + "\n" for one in large))
    assert file.stat().st_size > 5_000_000
    assert answered(repository, "import", str(file))["created"] == 60
    refused = run(repository, "create", "issue", "T", "--description-file", str(file))
    assert (refused.returncode, "more than 4194304 characters" in refused.stderr) == (2, True)


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


def test_a_second_import_asks_git_a_few_times_whatever_is_imported(
    store: Store, repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fill(store, 300, random.Random(1))
    tracker = Tracker(repository)
    tracker.issues.store.index.forget()
    written = tracker.transfer.export("events")
    assert not isinstance(written, str)
    (tmp_path / "events").write_text("\n".join(bytes(one).decode() for one in written if isinstance(one, msgspec.Raw)))
    started: list[object] = []
    real = entity_lines.open_objects

    def count(root: str):
        started.append(root)
        return real(root)

    monkeypatch.setattr(entity_lines, "open_objects", count)
    done = Tracker(repository).transfer.import_((str(tmp_path / "events"),))
    assert (done.created, done.updated) == (0, 0)
    assert done.unchanged > 100
    assert len(started) <= 2


def test_of_several_files_the_one_that_cannot_be_read_is_named_and_nothing_is_imported(
    repository: Path, tmp_path: Path
):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(json.dumps({"id": "bd-1", "title": "Good", "status": "open", "issue_type": "task"}) + "\n")
    bad.write_text("no issue at all\n")
    told = run(repository, "import", str(good), str(bad))
    assert told.returncode == 2
    assert f"{bad}: " in told.stderr
    assert "nothing was imported" in told.stderr
    assert list_titles(repository) == []


def test_a_link_out_of_a_folder_is_not_imported(repository: Path, tmp_path: Path):
    secret = tmp_path / "secret.md"
    secret.write_text("---\nid: task-7\ntitle: Secret\n---\n")
    tasks = tmp_path / "backlog"
    tasks.mkdir()
    (tasks / "a.md").write_text("---\nid: task-1\ntitle: T\n---\n")
    (tasks / "b.md").symlink_to(secret)
    done = run(repository, "import", str(tasks))
    assert (done.returncode, "leads out of" in done.stderr) == (2, True)
    (tasks / "b.md").unlink()
    (tasks / "b.md").symlink_to(tasks / "a.md")
    assert run(repository, "import", str(tasks)).returncode == 0
