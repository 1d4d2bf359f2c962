"""The inbox of one repository: one store for all calls, and what an error does to a delivery."""

from pathlib import Path

import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.inbox.answers import Shown
from postil.inbox.model import Message, Place
from postil.inbox.part import Inbox, client
from postil.storage.memory import MemoryState
from postil.workspace.failures import NoRepository
from postil.workspace.repository import Repository, find_repository
from tests.workspace.repositories import new_repository


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    root, state = str(new_repository(tmp_path / "r", a__txt="one\n")), MemoryState()
    return Inbox(lambda: state, lambda: find_repository(root), root)


def add(inbox: Inbox, comment: str = "x") -> None:
    inbox.messages.add(lambda number: Message(number, Place("a.txt"), comment, "t"))


def test_the_store_is_made_once(inbox: Inbox) -> None:
    assert inbox.messages is inbox.messages


def test_outside_of_a_repository_the_folder_has_an_inbox_until_there_is_one(tmp_path: Path) -> None:
    state = MemoryState()
    found: list[Repository] = []

    def find() -> Repository:
        if not found:
            raise NoRepository(str(tmp_path))
        return found[0]

    inbox = Inbox(lambda: state, find, str(tmp_path))
    add(inbox, "to the folder")
    assert [message.comment for message in inbox.messages.open_messages()] == ["to the folder"]
    found.append(find_repository(str(new_repository(tmp_path / "r", a__txt="one\n"))))
    assert inbox.messages.open_messages() == []


def test_a_delivery_that_fails_takes_nothing_with_it(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    add(inbox)

    def fail(message: Message, *, own: bool = False) -> Shown:
        raise LookupError

    monkeypatch.setattr(inbox, "show", fail)
    with pytest.raises(LookupError):
        inbox.deliver()
    monkeypatch.undo()
    assert [shown.attempt for shown, _ in inbox.deliver()] == [2]


def test_what_was_delivered_is_seen_when_the_call_ends_well(inbox: Inbox) -> None:
    add(inbox)
    assert len(inbox.deliver()) == 1
    assert inbox.messages.get(1).state == "seen"


def test_a_report_of_another_system_is_taken_once(inbox: Inbox) -> None:
    assert inbox.receive("GitLab", "pipeline failed", "delivery 1")
    assert not inbox.receive("GitLab", "pipeline failed", "delivery 1")
    assert inbox.receive("GitLab", "pipeline failed", "delivery 2")
    assert [(one.kind, one.source) for one in inbox.messages.open_messages()] == [("note", "GitLab")] * 2


def test_a_client_is_its_connection_and_without_one_its_principal() -> None:
    call.enter(Call(Caller("me", "connection 7", "http")))
    assert client() == "connection 7"
    call.enter(Call(Caller("me", "", "http")))
    assert client() == "principal-me"
    call.enter(Call(Caller("you", "", "http")))
    assert client() == "principal-you"
