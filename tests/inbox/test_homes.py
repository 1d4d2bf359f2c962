"""A repository that was renamed or moved finds its messages again."""

import json

import pytest

from postil.inbox.homes import HOMES, list_orphans
from postil.storage.memory import MemoryState
from tests.inbox.people import Person, git


def diagnose(person: Person, *flags: str) -> dict[str, str]:
    rows = json.loads(person.run("postil", "doctor", "--json", *flags).stdout)
    (row,) = [row for row in rows if row["name"] == "moved repositories"]
    return row


def test_a_renamed_repository_is_recognized_and_its_messages_adopted(person: Person) -> None:
    person.send("kept", "a.txt", "2")
    person.send("a draft", "a.txt", "3", "--draft")
    assert diagnose(person)["status"] == "ok"
    person.root = person.root.rename(person.root.with_name("renamed"))
    assert person.messages() == []
    found = diagnose(person)
    assert (found["status"], "2 open messages" in found["seen"]) == ("warning", True)
    assert diagnose(person, "--fix")["status"] == "ok"
    assert person.states() == {1: "queued", 2: "draft"}
    assert person.messages()[0]["anchor"]["state"] == "exact"  # the text came along
    person.send("goes on")
    assert sorted(person.states()) == [1, 2, 3]


def test_a_moved_work_tree_is_recognized_beside_its_repository(person: Person) -> None:
    tree = person.root.with_name("tree")
    git(person.root, "worktree", "add", "-q", str(tree))
    done = person.run("postil", "inbox", "send", "-f", "a.txt", "-c", "in the tree", cwd=tree)
    assert done.returncode == 0
    person.send("in the first")
    moved = tree.with_name("moved")
    git(person.root, "worktree", "move", str(tree), str(moved))
    assert "nothing" not in person.run("postil", "inbox", "adopt", "--fix").stdout  # the first one takes none of it
    assert person.states() == {2: "queued"}
    assert "are here now" in person.run("postil", "inbox", "adopt", "--fix", cwd=moved).stdout
    listed = json.loads(person.run("postil", "inbox", "list", "--json", cwd=moved).stdout)
    assert [message["comment"] for message in listed["messages"]] == ["in the tree"]


def test_another_place_is_adopted_only_by_name(person: Person) -> None:
    person.send("left behind")
    old = person.root
    copy = old.with_name("copy")
    git(old, "clone", "-q", str(old), str(copy))
    old.rename(old.with_name("elsewhere"))
    person.root = copy
    assert "No messages" in person.run("postil", "inbox", "adopt", "--fix").stdout
    assert str(old) in person.run("postil", "inbox", "adopt").stdout
    assert "1 messages" in person.run("postil", "inbox", "adopt", "--path", str(old)).stdout
    assert person.states() == {1: "queued"}


@pytest.mark.parametrize("damage", [b"{", b'{"root":"\xff","mark":"\xff"}', b'{"x":' + b"[" * 100_000])
def test_a_home_that_cannot_be_read_hides_no_other(damage: bytes) -> None:
    state = MemoryState()
    with state.writing() as changes:
        changes.put(HOMES, "damaged", damage)
        changes.put(HOMES, "gone", b'{"root":"/gone/away","mark":"1"}')
        changes.put("inbox/gone/queued", "1", b"{}")
    assert [home.key for home in list_orphans(state, None)] == ["gone"]
