"""The life of messages, over every state: leases that lapse, acknowledgements that come late, clocks that jump."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from postil.core.failure import Failure
from postil.core.ports import State
from postil.inbox.failures import (
    AlreadyClosed,
    AlreadyRead,
    MessageDamaged,
    NoSuchMessage,
    StaleLease,
    StillOpen,
)
from postil.inbox.model import Message, Place, Reply
from postil.inbox.store import MessageStore
from postil.storage.holder import this_process
from postil.storage.memory import MemoryState
from postil.storage.sqlite import SqliteState
from tests.storage.states import postgres, redis, state

__all__ = ["postgres", "redis", "state"]  # fixtures

ME = this_process()


@pytest.fixture
def store(state: State) -> MessageStore:
    return MessageStore(state, "repository")


def message(comment: str, **more: object) -> Callable[[int], Message]:
    return lambda number: Message(number, Place("a.txt", "2", blob="b" * 40), comment, "2025-07-01T10:30:00Z", **more)  # type: ignore[arg-type]


def leases(messages: list[Message]) -> list[tuple[int, str]]:
    return [(one.id, one.lease.id) for one in messages if one.lease is not None]


def test_another_repository_sees_nothing(state: State, store: MessageStore) -> None:
    store.add(message("x"))
    other = MessageStore(state, "other")
    assert other.open_messages() == []
    with pytest.raises(NoSuchMessage):
        other.get(1)


def test_the_hundredth_reply_costs_what_the_first_did_and_all_are_kept(state: State, store: MessageStore) -> None:
    store.add(message("x"))

    def stored() -> int:
        with state.reading() as records:
            return len(dict(records.range("inbox/repository/queued"))[f"{1:012d}"])

    def say(n: int) -> Message:
        return store.reply(1, Reply("assistant", f"reply {n}", "2025-07-01T10:30:00Z"))

    for n in range(10):
        say(n)
    early = stored()
    last = [say(n) for n in range(10, 120)][-1]
    assert stored() - early < 10
    assert [one.text for one in last.replies] == [f"reply {n}" for n in range(70, 120)]
    assert len(store.open_messages()[0].replies) == 50
    assert [one.text for one in store.get(1).replies] == [f"reply {n}" for n in range(120)]
    store.close(1, "addressed", Reply("assistant", "done", "2025-07-01T10:30:00Z"), "", "")
    assert [one.text for one in store.get(1).replies][-2:] == ["reply 119", "done"]
    store.reopen(1)
    assert len(store.get(1).replies) == 121


def test_a_reply_that_has_expired_is_not_replaced_by_another_messages(state: State, store: MessageStore) -> None:
    store.add(message("first"))
    store.add(message("second"))
    for number, text in ((1, "early"), (1, "late"), (2, "to the second")):
        store.reply(number, Reply("you", text, "2025-07-01T10:30:00Z"))
    with state.writing() as changes:  # closed long ago, and answered once more meanwhile
        ((key, _), *_) = changes.range("inbox/repository/replies")
        changes.delete("inbox/repository/replies", key)
    assert [one.text for one in store.get(1).replies] == ["late"]
    assert [one.text for one in store.close(1, "addressed", None, "", "").replies] == ["late"]
    assert [one.text for one in store.get(2).replies] == ["to the second"]


def test_replies_that_an_older_version_kept_inside_the_message_are_still_there(store: MessageStore) -> None:
    store.add(message("x", replies=(Reply("you", "old", "2025-07-01T10:30:00Z"),)))
    store.reply(1, Reply("you", "new", "2025-07-01T10:30:00Z"))
    assert [one.text for one in store.get(1).replies] == ["old", "new"]


def test_a_lease_that_is_over_queues_the_message_again(state: State) -> None:
    store = MessageStore(state, "repository", lease_seconds=-1)
    store.add(message("x"))
    (first,) = store.take("one", ME, 10)
    (second,) = store.take("two", ME, 10)
    assert (first.attempt, second.attempt, second.id) == (1, 2, first.id)
    with pytest.raises(StaleLease):
        store.acknowledge(1, first.lease.id if first.lease else "", "one")
    store.confirm(leases([first]))  # too late: it changes nothing
    assert store.get(1).state in ("queued", "leased")
    store.confirm(leases([second]))
    assert store.get(1).state == "seen"


def test_a_lease_ends_with_its_process(store: MessageStore) -> None:
    store.add(message("x"))
    dead = " ".join([*ME.split(" ")[:-2], "999999", "1"])
    store.take("one", dead, 10)
    assert store.get(1).state == "queued"
    assert [one.attempt for one in store.take("two", ME, 10)] == [2]


def test_a_lease_made_before_the_clock_was_set_back_ends(store: MessageStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add(message("x"))
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + 365 * 86400)
    store.take("one", ME, 10)
    monkeypatch.setattr(time, "time", lambda: real)
    assert [one.id for one in store.take("two", ME, 10)] == [1]


def test_numbers_and_order_do_not_follow_the_clock(store: MessageStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time()
    for jump in (0, -86400, 86400):
        monkeypatch.setattr(time, "time", lambda jump=jump: real + jump)
        store.add(message(str(jump)))
    monkeypatch.setattr(time, "time", lambda: real)
    assert [one.comment for one in store.take("one", ME, 10)] == ["0", "-86400", "86400"]


def test_a_lost_answer_queues_and_a_wait_finds_it(store: MessageStore) -> None:
    store.add(message("x"))
    taken = store.take("one", ME, 10, after=0)
    assert store.take("one", ME, 10, after=taken[0].sequence) == []
    store.lose(leases(taken))
    (again,) = store.take("one", ME, 10, after=taken[0].sequence)
    assert (again.id, again.attempt) == (1, 2)


def test_a_lost_broadcast_comes_again_to_that_client_alone(store: MessageStore) -> None:
    store.add(message("x", broadcast=True))
    mine, theirs = store.take("me", ME, 10), store.take("them", ME, 10)
    assert len(mine) == len(theirs) == 1
    store.lose(leases(mine))
    assert len(store.take("me", ME, 10)) == 1
    assert store.take("them", ME, 10) == []


def test_asking_again_and_again_writes_nothing(state: State, store: MessageStore) -> None:
    store.take("one", ME, 10)
    version = state.version()
    for _ in range(5):
        assert store.take("one", ME, 10) == []
    assert state.version() == version


def test_a_digest_is_taken_once(store: MessageStore) -> None:
    assert store.add_once("d", message("x"))
    assert not store.add_once("d", message("x"))
    assert store.knows("d")
    assert len(store.open_messages()) == 1


def test_the_text_is_kept_while_a_message_needs_it(store: MessageStore) -> None:
    for comment in ("one", "two"):
        store.add(message(comment), b"the text\n" * 100)
    first, second = store.open_messages()
    store.close(first.id, "addressed", None, "", "")
    assert store.text_of(second) == b"the text\n" * 100
    store.close(second.id, "addressed", None, "", "")
    assert store.text_of(store.reopen(first.id)) == b"the text\n" * 100


@pytest.mark.parametrize("damage", [b'{"id": 2, "comm', b'{"id":2,"comment":"\xff"}', b'{"id":2,"x":' + b"[" * 100_000])
def test_a_damaged_record_is_named_and_keeps_no_other_up(state: State, store: MessageStore, damage: bytes) -> None:
    for comment in ("one", "two", "three"):
        store.add(message(comment))
    with state.writing() as changes:
        changes.put("inbox/repository/queued", f"{2:012d}", damage)
    look = store.look()
    assert (look.damaged, [one.id for one in look.messages]) == ([2], [1, 3])
    assert [one.id for one in store.open_messages()] == [1, 3]
    assert [one.comment for one in store.take("me", ME, 2)] == ["one", "three"]
    with pytest.raises(MessageDamaged):
        store.get(2)


def test_a_flipped_byte_anywhere_is_a_failure_or_no_matter(tmp_path: Path) -> None:
    original = SqliteState(str(tmp_path / "state.db"))
    store = MessageStore(original, "repository")
    for number in range(30):
        store.add(message(f"remark {number}"), b"text\n" * 50)
    store.take("me", ME, 10)
    original.close()
    content = (tmp_path / "state.db").read_bytes()
    chance = random.Random(1)
    outcomes: set[str] = set()
    for number in range(250):
        spoiled = bytearray(content)
        for _ in range(chance.choice((1, 8))):
            spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
        if number % 10 == 0:
            spoiled = spoiled[: chance.randrange(len(spoiled))]
        path = tmp_path / f"{number}.db"
        path.write_bytes(spoiled)
        state = SqliteState(str(path), busy_seconds=0.2)
        broken = MessageStore(state, "repository")
        try:
            for one in broken.open_messages():
                broken.text_of(one)
            broken.look()
            broken.add(message("more"))
            broken.take("you", ME, 10)
            outcomes.add("fine")
        except Failure as failure:
            outcomes.add(failure.name)
        finally:
            state.close()
            path.unlink()
    assert {"fine", "StateDamaged"} <= outcomes


def test_states_refuse_what_makes_no_sense(store: MessageStore) -> None:
    store.add(message("x"))
    with pytest.raises(StillOpen):
        store.reopen(1)
    store.acknowledge(1, "", "me")
    with pytest.raises(AlreadyRead):
        store.edit(1, "late")
    with pytest.raises(AlreadyRead):
        store.withdraw(1)
    store.close(1, "addressed", Reply("me", "done", "now"), "", "me")
    store.close(1, "addressed", None, "", "me")
    with pytest.raises(AlreadyClosed):
        store.close(1, "declined", None, "", "me")
    with pytest.raises(NoSuchMessage):
        store.get(2)


class Life(RuleBasedStateMachine):
    """Whatever clients do, and whenever answers are lost, no message is lost and no two clients hold one."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MessageStore(MemoryState(), "repository")
        self.sent = 0
        self.closed: set[int] = set()
        self.held: dict[str, list[Message]] = {"a": [], "b": []}
        self.attempts: dict[int, int] = {}

    @rule()
    def send(self) -> None:
        self.store.add(message(f"m{self.sent}"))
        self.sent += 1

    @rule(client=st.sampled_from("ab"), after=st.none() | st.integers(0, 10))
    def take(self, client: str, after: int | None) -> None:
        taken = self.store.take(client, ME, 3, after)
        for one in taken:
            assert one.attempt == self.attempts.get(one.id, 0) + 1
            self.attempts[one.id] = one.attempt
        self.held[client] += taken

    @rule(client=st.sampled_from("ab"))
    def lose(self, client: str) -> None:
        self.store.lose(leases(self.held[client]))
        self.held[client] = []

    @rule(client=st.sampled_from("ab"))
    def confirm(self, client: str) -> None:
        self.store.confirm(leases(self.held[client]))
        self.held[client] = []

    @rule(client=st.sampled_from("ab"))
    def resolve(self, client: str) -> None:
        for one in self.held[client][:1]:
            self.store.close(one.id, "addressed", None, one.lease.id if one.lease else "", client)
            self.closed.add(one.id)
            self.held[client].remove(one)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert {one.id for one in self.store.open_messages()} | self.closed == set(range(1, self.sent + 1))

    @invariant()
    def nobody_holds_what_another_holds(self) -> None:
        assert not {one.id for one in self.held["a"]} & {one.id for one in self.held["b"]}


Life.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestLife = Life.TestCase


def test_to_give_up_nothing_writes_nothing() -> None:
    """Whoever waits is woken by every write: a look that finds nothing would wake itself, for ever."""
    memory = MemoryState()
    store = MessageStore(memory, "here")
    store.take("one", ME, 10)  # notes that somebody has read
    told: list[int] = []
    stop = memory.on_change(lambda: told.append(1))
    assert store.take("one", ME, 10) == []
    store.lose([])
    store.confirm([])
    stop()
    assert told == []
