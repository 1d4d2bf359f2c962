"""What assistants do with messages, asked directly: whose lease it is, and in whose name a reply stands."""

import asyncio
from pathlib import Path

import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.inbox.answers import describe_answers
from postil.inbox.failures import AlreadyClosed, StaleLease
from postil.inbox.operations.for_assistants import AssistantTools
from postil.inbox.operations.for_people import PeopleTools
from postil.inbox.operations.resources import MessageResources
from postil.inbox.part import Inbox
from postil.storage.memory import MemoryState
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


class Connection(Call):
    """A client whose answers are on their way until it says otherwise."""

    def __init__(self, name: str, *, person: bool = False) -> None:
        super().__init__(Caller("local", name, "stdio"))
        self.person = person

    def when_delivered(self, confirmed: object, lost: object) -> None: ...


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    root, state = str(new_repository(tmp_path / "r", a__txt="one\ntwo\n")), MemoryState()
    inbox = Inbox(lambda: state, lambda: find_repository(root), root)
    PeopleTools(inbox).send("please", "a.txt", "2")
    return inbox


@pytest.fixture
def assistant(inbox: Inbox) -> AssistantTools:
    return AssistantTools(inbox)


def test_a_message_is_given_once_with_its_lease(assistant: AssistantTools) -> None:
    call.enter(Connection("one"))
    (message,) = assistant.check_messages().messages
    assert message.lease
    assert assistant.check_messages().for_model() == "No new messages from lazygit"


def test_another_assistant_cannot_settle_it_and_the_person_can(assistant: AssistantTools) -> None:
    call.enter(Connection("one"))
    assistant.check_messages()
    call.enter(Connection("two"))
    with pytest.raises(StaleLease):
        assistant.acknowledge(1)
    with pytest.raises(StaleLease):
        assistant.resolve(1)
    call.enter(Connection("shell", person=True))
    assert assistant.resolve(1).for_model() == "#1 addressed"


def test_an_acknowledgement_names_its_lease(assistant: AssistantTools) -> None:
    call.enter(Connection("one"))
    (message,) = assistant.check_messages().messages
    with pytest.raises(StaleLease):
        assistant.acknowledge(1, "another")
    changed = assistant.acknowledge(1, message.lease)
    assert (changed.for_model(), changed.message.state, changed.message.lease) == ("#1 seen", "seen", "")


def test_a_reply_stands_in_the_name_of_who_calls(assistant: AssistantTools) -> None:
    call.enter(Connection("one"))
    assistant.reply(1, "which one?")
    call.enter(Connection("shell", person=True))
    said = assistant.reply(1, "the second").message.replies
    assert [(reply.author, reply.text) for reply in said] == [("assistant", "which one?"), ("you", "the second")]


def test_an_outcome_is_final_and_may_be_said_again(assistant: AssistantTools) -> None:
    assert assistant.resolve(1, "declined", "not here").message.replies[0].text == "not here"
    assert assistant.resolve(1, "declined", " ").for_model() == "#1 declined"
    with pytest.raises(AlreadyClosed):
        assistant.resolve(1, "addressed")


def test_a_wait_without_news_ends_with_its_time_and_keeps_the_sequence(assistant: AssistantTools) -> None:
    first = asyncio.run(assistant.wait(seconds=5))
    assert [message.comment for message in first.messages] == ["please"]
    nothing = asyncio.run(assistant.wait(after=first.sequence, seconds=0))
    assert (nothing.messages, nothing.sequence) == ((), first.sequence)


def test_a_wait_is_woken_by_a_send(assistant: AssistantTools, inbox: Inbox) -> None:
    async def main() -> list[str]:
        waiting = asyncio.create_task(assistant.wait(after=1, seconds=30))
        await asyncio.sleep(0)
        await asyncio.to_thread(PeopleTools(inbox).send, "news", "a.txt")
        return [message.comment for message in (await waiting).messages]

    assert asyncio.run(main()) == ["news"]


def test_outside_a_repository_an_empty_inbox_says_why(tmp_path: Path) -> None:
    """A client that starts its servers elsewhere would wait for ever."""
    state = MemoryState()
    outside = Inbox(lambda: state, lambda: find_repository(str(tmp_path)), str(tmp_path))
    call.enter(Connection("one"))
    told = [
        AssistantTools(outside).check_messages(),
        PeopleTools(outside).list_messages(),
        asyncio.run(AssistantTools(outside).wait(seconds=0)),
    ]
    for answer in told:
        assert "No git repository at" in answer.for_model()
        assert "postil -C FOLDER serve" in answer.for_model()
    assert told[0].for_contract() == "No new messages from lazygit"
    finding = MessageResources(outside).check_inbox()
    assert (finding.status, "No git repository" in finding.seen) == ("warning", True)


def test_inside_one_it_says_nothing_of_that(assistant: AssistantTools, inbox: Inbox) -> None:
    call.enter(Connection("one"))
    assistant.check_messages()
    assert assistant.check_messages().note == ""
    assert MessageResources(inbox).check_inbox().status == "ok"


def test_a_message_closed_without_a_word_is_told_to_the_person_once(assistant: AssistantTools, inbox: Inbox) -> None:
    """It left the list, and nothing told of it."""
    call.enter(Connection("one"))
    assistant.check_messages()
    assistant.resolve(1)
    assert inbox.messages.count_answers() == 1
    assert describe_answers(*inbox.messages.hear_answers(5)) == ("#1 addressed",)
    assert inbox.messages.count_answers() == 0
    assistant.resolve(1)  # again: nothing new happened
    assert inbox.messages.count_answers() == 0


def test_a_person_who_closes_a_message_is_told_nothing(assistant: AssistantTools, inbox: Inbox) -> None:
    call.enter(Connection("me", person=True))
    assistant.resolve(1)
    assert inbox.messages.count_answers() == 0


def test_over_http_an_answer_is_signed_with_the_principal(assistant: AssistantTools, inbox: Inbox) -> None:
    for key, name in (("key:1", "alice"), ("key:2", "bob"), ("key:3", "bob"), ("gitlab:h:7", "")):
        call.enter(Call(Caller(key, f"connection of {key}", "http", name=name)))
        assistant.reply(1, f"by {key}")
    call.enter(Connection("stdio"))
    assistant.reply(1, "by the person's own")
    call.enter(Call(Caller("key:2", "connection of key:2", "http", name="bob")))
    said = assistant.resolve(1, "declined", "no").message.replies
    assert [(reply.author, reply.text) for reply in said] == [
        ("key:1 (alice as assistant)", "by key:1"),
        ("key:2 (bob as assistant)", "by key:2"),
        ("key:3 (bob as assistant)", "by key:3"),
        ("gitlab:h:7 (assistant)", "by gitlab:h:7"),
        ("assistant", "by the person's own"),
        ("key:2 (bob as assistant)", "no"),
    ]
    assert inbox.messages.count_answers() == 6  # the person hears of them all


def test_a_person_over_http_is_no_assistant(assistant: AssistantTools, inbox: Inbox) -> None:
    present = Call(Caller("key:2", "page", "http", name="bob"))
    present.person = True
    call.enter(present)
    assert assistant.reply(1, "mine").message.replies[0].author == "key:2 (bob)"
    assert inbox.messages.count_answers() == 0
