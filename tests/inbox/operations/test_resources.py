"""What can be read and watched: the view of the contract, announcements without words, the doctor's look."""

from collections.abc import Callable
from pathlib import Path

import pytest

from postil.core.failure import StorageFailed
from postil.core.group import Announcement
from postil.inbox.operations.for_people import PeopleTools
from postil.inbox.operations.resources import MessageResources
from postil.inbox.part import Inbox
from postil.storage.memory import MemoryState
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


@pytest.fixture
def state() -> MemoryState:
    return MemoryState()


@pytest.fixture
def inbox(tmp_path: Path, state: MemoryState) -> Inbox:
    root = str(new_repository(tmp_path / "r", a__txt="one\ntwo\n"))
    return Inbox(lambda: state, lambda: find_repository(root), root)


@pytest.fixture
def send(inbox: Inbox) -> Callable[[str], object]:
    return lambda comment: PeopleTools(inbox).send(comment, "a.txt")


def test_reading_clears_nothing(inbox: Inbox, send: Callable[[str], object]) -> None:
    resources = MessageResources(inbox)
    assert resources.messages() == "No new messages from lazygit"
    send("look")
    assert resources.messages() == resources.messages()
    assert "Comment: look" in resources.messages()


def test_a_watch_is_called_when_the_view_changes_and_not_otherwise(
    inbox: Inbox, send: Callable[[str], object], state: MemoryState
) -> None:
    called: list[int] = []
    stop = MessageResources(inbox).watch("lazygit://messages", lambda: called.append(1))
    send("one")
    with state.writing() as changes:
        changes.put("another part", "k", b"")
    assert called == [1]
    stop()
    send("two")
    assert called == [1]


def test_an_announcement_has_the_file_and_never_the_words(inbox: Inbox, send: Callable[[str], object]) -> None:
    send("before")
    told: list[Announcement] = []
    MessageResources(inbox).announce(told.append)
    send("secret")
    inbox.receive("GitLab", "secret", "1")
    assert [one.data for one in told] == [{"file": "a.txt"}, {"file": "GitLab"}]
    assert "secret" not in repr(told)


def test_the_glance_counts(inbox: Inbox, send: Callable[[str], object]) -> None:
    resources = MessageResources(inbox)
    assert resources.glance() == "0 messages waiting"
    send("one")
    assert resources.glance() == "1 message waiting"


def test_the_doctor_names_damaged_messages_and_a_state_that_fails(
    inbox: Inbox, send: Callable[[str], object], state: MemoryState
) -> None:
    resources = MessageResources(inbox)
    send("one")
    assert resources.check_inbox().status == "ok"
    with state.writing() as changes:
        changes.put(f"inbox/{inbox.name()}/queued", f"{7:012d}", b"{broken")
    found = resources.check_inbox()
    assert (found.status, found.seen) == ("error", "these messages are damaged: #7")

    def fail() -> MemoryState:
        raise StorageFailed("gone", advice="look")

    broken = MessageResources(Inbox(fail, inbox.repository, "/"))
    assert (broken.check_inbox().seen, broken.check_inbox().fix) == ("gone", "look")
