"""Refs of git-bug."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from postil.tracker.imports.git_refs import read_refs
from tests.tracker.foreign import blob, commit, told, tree
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git, run, said

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
    mine = Tracker(repository)
    (item,) = mine.list("issue", includeClosed=True).items
    for length in (64, 7, 4):  # git-bug shows seven letters
        assert answered(repository, "show", "b" * length)["id"] == item.id
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
    mine = Tracker(repository)
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


def test_an_id_of_git_bug_that_begins_two_of_them_is_refused_with_both(repository: Path):
    for letter in "12":
        write_bug(repository, (FIRST, ()))
        git(repository, "update-ref", f"refs/bugs/{'b' * 63}{letter}", f"refs/bugs/{'b' * 64}")
    git(repository, "update-ref", "-d", f"refs/bugs/{'b' * 64}")
    said(repository, "import", "--source", "git-bug")
    refused = run(repository, "show", "bbbbbbb")
    assert refused.returncode == 2
    assert refused.stderr.count("-") >= 8  # both ids, in full
    git(repository, "gc", "--quiet")
    (repository / ".git" / "postil" / "cache").unlink()  # and so from an index that was built anew
    assert answered(repository, "show", "b" * 63 + "1")["title"] == "Bug"
    assert run(repository, "show", "bbbbbbb").returncode == 2


def test_a_clock_of_other_digits_hides_no_bug(repository: Path):
    write_bug(repository, (FIRST, ()))
    pack = blob(repository, f'{{"author":{{"id":"{PERSON}"}},"ops":[{FIRST}]}}'.encode())
    files = {"edit-clock-²": ("blob", blob(repository, b"")), "ops": ("blob", pack)}
    git(repository, "update-ref", f"refs/bugs/{'c' * 64}", commit(repository, tree(repository, files), "ops"))
    stories, unread = read_refs(str(repository), "git-bug")
    assert (len(stories), unread) == (2, [])


def test_a_giant_pack_that_each_commit_names_is_refused_and_hides_no_other(repository: Path):
    write_bug(repository, (FIRST, ()))
    giant = blob(repository, FIRST.replace("It breaks", "m" * (11 << 20)).join(('{"ops":[', "]}")).encode())
    made = ""
    for clock in range(4):
        files = {f"edit-clock-{clock}": ("blob", blob(repository, b"")), "ops": ("blob", giant)}
        made = commit(repository, tree(repository, files), "ops", *([made] if made else []))
    git(repository, "update-ref", f"refs/bugs/{'c' * 64}", made)
    stories, (said_of_it,) = read_refs(str(repository), "git-bug")
    assert len(stories) == 1
    assert "more than 24 MB" in said_of_it
