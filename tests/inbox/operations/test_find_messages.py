"""Finding messages: a page of the newest, about some files or about none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.core.failure import InvalidArguments
from postil.core.registry import Offer, Registry
from postil.inbox.answers import Shown
from postil.inbox.operations.find_messages import FindTools
from postil.inbox.operations.for_assistants import AssistantTools
from postil.inbox.operations.for_people import PeopleTools
from postil.inbox.operations.for_reviews import ReviewTools
from postil.inbox.part import Inbox
from postil.storage.memory import MemoryState
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


class Person(Call):
    """A call of a person."""

    def __init__(self, principal: str = "local") -> None:
        super().__init__(Caller(principal, "page", "http"))
        self.person = True


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    root, state = str(new_repository(tmp_path / "r", a__txt="one\ntwo\n", b__txt="x\n")), MemoryState()
    inbox = Inbox(lambda: state, lambda: find_repository(root), root)
    people = PeopleTools(inbox)
    for number in range(1, 7):
        people.send(f"remark {number}", "a.txt" if number % 2 else "b.txt", 1, draft=number > 4)
    inbox.messages.close(2, "addressed", None, "", "")
    return inbox


def numbers(inbox: Inbox, **asked: object) -> list[int]:
    found = FindTools(inbox).find(**asked)  # type: ignore[arg-type]
    return [one.id for one in found.messages]


def test_the_newest_come_first_and_the_page_says_how_many_are_older(inbox: Inbox) -> None:
    first = FindTools(inbox).find(limit=2)
    assert ([one.id for one in first.messages], first.more) == ([4, 3], 1)
    assert "1 older: before=3" in first.for_model()
    assert numbers(inbox, limit=2, before=3) == [1]


def test_messages_about_some_files_or_about_none_of_them_are_found(inbox: Inbox) -> None:
    assert numbers(inbox, files=("a.txt",)) == [3, 1]
    assert numbers(inbox, besides=("a.txt",)) == [4]
    assert numbers(inbox, files=("b.txt",), all=True) == [4, 2]
    assert numbers(inbox, files=("c.txt",)) == []


def test_drafts_are_the_persons_alone(inbox: Inbox) -> None:
    assert FindTools(inbox).find().drafts == 0
    call.enter(Person())
    found = FindTools(inbox).find()
    assert ([one.id for one in found.messages], found.drafts) == ([6, 5, 4, 3, 1], 2)


def test_a_limit_that_is_none_is_refused(inbox: Inbox) -> None:
    operation = Registry.of([("inbox", FindTools(inbox))], Offer(hidden=frozenset())).operation("inbox_find")
    with pytest.raises(InvalidArguments):
        operation.decode({"limit": 0})


def test_a_remark_of_a_gateways_user_bears_their_name(inbox: Inbox) -> None:
    call.enter(Person("key:ann"))
    sent = PeopleTools(inbox).send("mine", "a.txt", 2)
    AssistantTools(inbox).reply(sent.id, "and this")
    shown = PeopleTools(inbox).show(sent.id)
    assert isinstance(shown, Shown)
    assert (shown.author, [one.author for one in shown.replies]) == ("key:ann", ["key:ann"])
    call.enter(Call(Caller("local", "assistant", "stdio")))
    checked = AssistantTools(inbox).check_messages()
    assert f"#{sent.id} leased  a.txt:2  by key:ann" in checked.for_model()
    assert "ann" not in checked.for_contract().replace("key:ann: and this", "")
    assert [one.author for one in checked.messages if one.id != sent.id] == [""] * (len(checked.messages) - 1)


def test_what_changed_since_is_asked_of_one_message(inbox: Inbox) -> None:
    rounds = ReviewTools(inbox).rounds(id=3)
    assert [one.id for one, _ in rounds.rounds] == [3]
    assert ReviewTools(inbox).rounds(id=5).rounds == ()  # a draft
