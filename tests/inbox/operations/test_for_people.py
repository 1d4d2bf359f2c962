"""What people do with their messages, asked directly."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postil.core.ports import Records
from postil.core.registry import Offer, Registry
from postil.inbox.failures import AlreadyRead, EmptyComment, NoSuchMessage
from postil.inbox.operations.for_people import PeopleTools
from postil.inbox.operations.for_reviews import ReviewTools
from postil.inbox.operations.resources import MessageResources
from postil.inbox.part import Inbox
from postil.storage.memory import MemoryState
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    root, state = str(new_repository(tmp_path / "r", a__txt="one\ntwo\n")), MemoryState()
    return Inbox(lambda: state, lambda: find_repository(root), root)


@pytest.fixture
def people(inbox: Inbox) -> PeopleTools:
    return PeopleTools(inbox)


def test_a_receipt_has_the_number_and_how_many_wait(people: PeopleTools) -> None:
    people.send("first", "a.txt", 1)
    receipt = people.send("second", "a.txt", "2")
    assert (receipt.id, receipt.file, receipt.line, receipt.waiting, receipt.note) == (2, "a.txt", "2", 2, "")


def test_a_quiet_receipt_names_the_file_as_it_was_typed(people: PeopleTools) -> None:
    assert people.send("x", "./a.txt", quiet=True).for_model() == "Message sent successfully for ./a.txt"


def test_from_eleven_on_the_sender_is_told(people: PeopleTools) -> None:
    notes = [people.send(str(number), "a.txt").note for number in range(11)]
    assert notes[:10] == [""] * 10
    assert notes[10].startswith("11 messages wait")


def test_a_refused_send_stores_nothing(people: PeopleTools, inbox: Inbox) -> None:
    with pytest.raises(EmptyComment):
        people.send(" ", "a.txt")
    assert inbox.messages.open_messages() == []


def test_closed_messages_are_listed_on_request_in_their_order(people: PeopleTools) -> None:
    for comment in ("one", "two", "three"):
        people.send(comment, "a.txt")
    people.withdraw(2)
    assert [one.comment for one in people.list_messages().messages] == ["one", "three"]
    assert [one.state for one in people.list_messages(all=True).messages] == ["queued", "dismissed", "queued"]
    assert [people.list_messages(all=True).asked, people.list_messages(drafts=True).asked] == ["all", "drafts"]


class _Busy(MemoryState):
    """A state in which something happens after each read, as long as there is something to do."""

    def __init__(self) -> None:
        super().__init__()
        self.then: list[Callable[[], object]] = []

    @contextmanager
    def reading(self) -> Generator[Records]:
        with super().reading() as records:
            yield records
        if self.then:
            self.then.pop()()


@pytest.mark.parametrize("how", ["list", "export", "rounds", "complete"])
def test_a_message_that_is_closed_while_all_are_listed_is_listed_once(tmp_path: Path, how: str) -> None:
    root, state = str(new_repository(tmp_path / "r", a__txt="one\ntwo\n")), _Busy()
    inbox = Inbox(lambda: state, lambda: find_repository(root), root)
    people, reviews = PeopleTools(inbox), ReviewTools(inbox)
    count: dict[str, Callable[[], int]] = {
        "list": lambda: len(people.list_messages(all=True).messages),
        "export": lambda: str(reviews.export(all=True).for_model()).count("the only one"),
        "rounds": lambda: len(reviews.rounds(all=True).rounds),
        "complete": lambda: len(MessageResources(inbox).complete_id("", {})),
    }
    people.send("the only one", "a.txt")
    for reads in range(5):  # it is closed after the first read, after the second, and so on
        state.then = [lambda: people.withdraw(1), *[lambda: None] * reads]
        assert count[how]() == 1
        state.then = [lambda: people.reopen(1), *[lambda: None] * reads]
        assert count[how]() == 1
        state.then = []
        if inbox.messages.get(1).state == "dismissed":
            people.reopen(1)


def test_edit_withdraw_and_reopen_say_what_they_did(people: PeopleTools) -> None:
    people.send("x", "a.txt")
    assert people.edit(1, "y").for_model() == "#1 changed"
    assert "    y" in people.show(1).for_model()
    assert people.withdraw(1).for_model() == "#1 withdrawn"
    with pytest.raises(AlreadyRead):
        people.edit(1, "z")
    assert people.reopen(1).for_model() == "#1 queued again"
    with pytest.raises(NoSuchMessage):
        people.show(2)


def test_a_quiet_send_is_for_the_shell_alone(people: PeopleTools) -> None:
    operation = Registry.of([("inbox", people)], Offer(hidden=frozenset())).operation("inbox_send")
    with pytest.raises(Exception, match="unknown field `quiet`"):
        operation.decode({"comment": "x", "quiet": True})
    assert operation.decode({"comment": "x", "quiet": True}, from_shell=True)["quiet"] is True
