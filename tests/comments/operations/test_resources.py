"""Resources: what stands at each address, and who is told when it changes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postil.comments.operations import resources
from postil.core.failure import Failure
from tests.comments.workspaces import Comments, commit, contract_workspace, workspace, write
from tests.workspace.repositories import git


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return contract_workspace(tmp_path)


def read(comments: Comments, uri: str) -> Any:
    registry = comments.registry()
    entry, variables = registry.resource(uri)
    return msgspec.json.decode(msgspec.json.encode(registry.method(entry)(**variables)))


def test_all_comments_stand_at_one_address_by_file(comments: Comments) -> None:
    comments.add("src/app.ts", 1, "one", "NOTE")
    comments.add("src/app.ts", 2, "two", "TODO")
    comments.add("src/api/login.ts", 3, "three", "TODO")
    body = read(comments, "comment://workspace/all")
    assert body["totalComments"] == 3
    assert [(file["filePath"], len(file["comments"])) for file in body["files"]] == [
        ("src/api/login.ts", 1),
        ("src/app.ts", 2),
    ]


def test_a_file_a_tag_and_the_enriched_have_addresses(comments: Comments) -> None:
    comments.add("src/app.ts", 1, "one", "NOTE")
    comments.add("src/services/auth.ts", 2, "two", "TODO")
    file = read(comments, "comment://workspace/src/services/auth.ts.comments")
    assert [each["text"] for each in file["comments"]] == ["two"]
    assert read(comments, "comment://workspace/src%2Fapp.ts.comments")["totalComments"] == 1
    tagged = read(comments, "comment://workspace/tags/TODO")
    assert [item["comment"]["text"] for item in tagged["comments"]] == ["two"]
    assert read(comments, "comment://workspace/ai-enriched") == {"comments": [], "totalCount": 0, "models": []}


def test_a_source_in_a_folder_called_tags_is_a_file_and_not_a_tag(comments: Comments) -> None:
    write(Path(comments.tree.root), "tags/TODO", "a\n")
    comments.add("tags/TODO", 1, "here", "NOTE")
    assert read(comments, "comment://workspace/tags/TODO.comments")["filePath"] == "tags/TODO"
    assert read(comments, "comment://workspace/tags/TODO")["totalCount"] == 0


def test_an_orphan_is_listed_with_its_reason(comments: Comments) -> None:
    comments.add("src/services/auth.ts", 42, "gone soon", "TODO")
    write(Path(comments.tree.root), "src/services/auth.ts", "export {};\n")
    body = read(comments, "comment://workspace/orphaned")
    assert body["totalCount"] == 1
    assert body["orphanedComments"][0]["reason"]
    assert body["orphanedComments"][0]["ghostMarker"]["isOrphaned"] is True


@pytest.mark.parametrize(
    ("uri", "status"),
    [
        ("comment://workspace/no/such.ts.comments", 5),
        ("comment://workspace/tags/NONE", 5),
        ("comment://workspace/../up.ts.comments", 2),
        ("comment://workspace/.env.comments", 3),
        ("comment://workspace/all?after=x", 5),
        ("comment://workspace/src/app.ts.comments?after=x", 5),
    ],
)
def test_an_address_of_nothing_is_not_found_and_named(comments: Comments, uri: str, status: int) -> None:
    with pytest.raises(Failure) as caught:
        read(comments, uri)
    assert caught.value.exit_status == status
    assert caught.value.data["uri"] == uri


class Bell:
    """Counts what a subscriber hears."""

    def __init__(self) -> None:
        self.rings = 0
        self._rang = threading.Condition()

    def __call__(self) -> None:
        with self._rang:
            self.rings += 1
            self._rang.notify_all()

    def waits_for(self, count: int, seconds: float = 5.0) -> bool:
        with self._rang:
            return self._rang.wait_for(lambda: self.rings >= count, seconds)


def subscribed(comments: Comments, uri: str) -> tuple[Bell, Callable[[], None]]:
    bell = Bell()
    return bell, comments.registry().watch(uri, bell)


def test_only_those_whose_comments_changed_are_told(comments: Comments) -> None:
    file, stop_file = subscribed(comments, "comment://workspace/src/app.ts.comments")
    other, stop_other = subscribed(comments, "comment://workspace/src/api/login.ts.comments")
    todo, stop_todo = subscribed(comments, "comment://workspace/tags/TODO")
    everything, stop_all = subscribed(comments, "comment://workspace/all")
    comments.add("src/app.ts", 1, "one", "NOTE")
    assert file.waits_for(1)
    assert everything.waits_for(1)
    comments.add("src/app.ts", 2, "two", "TODO")
    assert todo.waits_for(1)
    assert everything.waits_for(2)
    for stop in (stop_file, stop_other, stop_todo, stop_all):
        stop()
    assert other.rings == 0
    assert todo.rings == 1


def test_another_process_an_editor_and_git_are_heard(comments: Comments) -> None:
    root = Path(comments.tree.root)
    file, stop = subscribed(comments, "comment://workspace/src/app.ts.comments")
    script = "import sys; from tests.comments.workspaces import Comments\n"
    script += "Comments(sys.argv[1]).add('src/app.ts', 5, 'from outside', 'NOTE')"
    subprocess.run([sys.executable, "-c", script, str(root)], check=True, timeout=60)
    assert file.waits_for(1)
    commit(root, "commented")
    text = (root / "src/app.ts").read_text()
    write(root, "src/app.ts", "// a new first line\n" + text)  # an editor moves the code
    assert file.waits_for(2)
    git(root, "checkout", "-q", "--", "src/app.ts")  # git moves it back
    assert file.waits_for(3)
    stop()


def test_a_source_edited_away_from_its_comments_tells_nobody(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("src/app.ts", 1, "at the top", "NOTE")
    note, stop_note = subscribed(comments, "comment://workspace/tags/NOTE")
    login, stop_login = subscribed(comments, "comment://workspace/src/api/login.ts.comments")
    write(root, "src/api/login.ts", "export const nothing = 1;\n")
    comments.add("src/api/login.ts", 1, "new", "TODO")
    assert login.waits_for(1)
    stop_note()
    stop_login()
    assert note.rings == 0


def test_damaged_comment_files_are_named_in_resources_and_exports(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": "value = 1\n", "b.py": "value = 1\n"})
    comments.add("a.py", 1, "TODO: read", "TODO")
    (tmp_path / "b.py.comments").write_text("{")
    there = comments.resources
    for found in (there.read_all(), there.read_tag("TODO"), there.read_orphaned(), there.read_enriched()):
        assert [each.filePath for each in found.damaged] == ["b.py"]
    exported = comments.export("json")
    assert (exported.exit_status, exported.damaged[0].filePath) == (7, "b.py")
    assert "b.py.comments" in str(exported.for_model()[1])
    assert comments.listed().exit_status == 7
    assert comments.export("json", "a.py").exit_status == 0


def test_a_list_reads_only_the_files_that_it_shows(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{f"f{number}.py": "value = 1\n" for number in range(6)})
    for number in range(6):
        for _ in range(3):
            comments.add(f"f{number}.py", 1, "text", "NOTE")
    found = comments.listed(limit=4)
    assert (found.total, [each.filePath for each in found.comments]) == (18, ["f0.py"] * 3 + ["f1.py"])


def items_of(body: Any) -> list[Any]:
    """The comments of any resource's body."""
    if "files" in body:
        return [each for file in body["files"] for each in file["comments"]]
    return [each.get("comment", each) for each in body["comments"]]


@pytest.mark.parametrize("name", ["all", "src/app.ts.comments", "tags/NOTE"])
def test_many_comments_are_read_page_by_page(comments: Comments, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(resources, "MOST_ON_PAGE", 3)
    texts = [comments.add("src/app.ts", 1 + number, f"number {number}", "NOTE").commentId for number in range(7)]
    comments.add("src/api/login.ts", 3, "elsewhere", "TODO")
    seen: list[str] = []
    at, pages = f"comment://workspace/{name}", 0
    while at:
        body = read(comments, at)
        assert 1 <= len(items_of(body)) <= 3
        assert body.get("totalComments", body.get("totalCount")) == (
            8 if at.startswith("comment://workspace/all") else 7
        )
        seen += [each["id"] for each in items_of(body)]
        at, pages = body.get("next", ""), pages + 1
    assert pages == 3
    assert [each for each in seen if each in texts] == texts
    assert len(set(seen)) == len(seen)


def test_a_page_has_a_size_and_one_large_comment_is_a_page(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "LARGEST_PAGE", 4000)
    for number in range(3):
        comments.add("src/app.ts", 1 + number, f"{number} " + "x" * 3900, "NOTE")
    for uri in ("comment://workspace/all", "comment://workspace/src/app.ts.comments"):
        body = read(comments, uri)
        assert len(body.get("comments") or body["files"][0]["comments"]) == 1
        assert body["next"]


@pytest.mark.parametrize("after", ["x", "-1", "1e3", "9" * 40, "%00", "5"])
@pytest.mark.parametrize("uri", ["comment://workspace/all", "comment://workspace/orphaned"])
def test_a_page_that_does_not_exist_is_not_found(comments: Comments, uri: str, after: str) -> None:
    with pytest.raises(Failure) as caught:
        read(comments, f"{uri}?after={after}")
    assert caught.value.exit_status == 5
