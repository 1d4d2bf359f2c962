"""The same key: the same answer and one effect, over every state and across processes."""

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postil.core.effects.joining import joining
from postil.core.invoke import once
from postil.core.ports import Changes, State
from postil.core.registry import Registry
from postil.storage import idempotency
from postil.storage.failures import KeyEffected, KeyInFlight, KeyInterrupted, KeyReused, StateAway, StateUnclear
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.later import LATER
from postil.storage.memory import MemoryState
from postil.storage.sqlite import SqliteState
from tests.core.echo import Counted, Echo
from tests.storage.states import postgres, redis, state

__all__ = ["postgres", "redis", "state"]  # fixtures


def test_a_repeat_gets_the_first_answer(state: State) -> None:
    keys = IdempotencyKeys(state)
    assert keys.begin("me\nadd", "k", "f") is None
    keys.finish("me\nadd", "k", b"answer")
    assert keys.begin("me\nadd", "k", "f") == b"answer"


def test_another_scope_is_another_key(state: State) -> None:
    keys = IdempotencyKeys(state)
    assert keys.begin("me\nadd", "k", "f") is None
    assert keys.begin("you\nadd", "k", "f") is None
    assert keys.begin("me\nremove", "k", "f") is None
    assert keys.begin("me\nadd", "k2", "f") is None


def test_other_arguments_under_the_same_key_are_refused(state: State) -> None:
    keys = IdempotencyKeys(state)
    keys.begin("s", "k", "f")
    keys.finish("s", "k", b"answer")
    with pytest.raises(KeyReused) as caught:
        keys.begin("s", "k", "other")
    assert caught.value.exit_status == 6


def test_an_abandoned_key_is_free(state: State) -> None:
    keys = IdempotencyKeys(state)
    keys.begin("s", "k", "f")
    keys.abandon("s", "k")
    assert keys.begin("s", "k", "f") is None


def test_a_repeat_in_flight_waits_for_the_answer(state: State) -> None:
    keys = IdempotencyKeys(state)
    keys.begin("s", "k", "f")
    threading.Timer(0.2, lambda: keys.finish("s", "k", b"answer")).start()
    assert keys.begin("s", "k", "f") == b"answer"


class Faulty(MemoryState):
    """A state that can be away, or fall silent in a commit that was made or lost."""

    def __init__(self) -> None:
        super().__init__()
        self.away: Exception | None = None
        self.made = False

    @contextmanager
    def writing(self) -> Generator[Changes]:
        if self.away is not None and not self.made:
            raise self.away
        with super().writing() as changes:
            yield changes
        if self.away is not None:
            raise self.away


def test_an_answer_that_cannot_be_stored_now_is_stored_later() -> None:
    state = Faulty()
    keys = IdempotencyKeys(state)
    assert keys.begin("s", "k", "f") is None
    state.away = StateAway("stopped")
    keys.finish("s", "k", b"answer")  # the effect was made: its caller must not hear of a fault
    assert keys.begin("s", "k", "f") == b"answer"
    state.away = None
    assert LATER.wait_empty(30)
    assert IdempotencyKeys(state).begin("s", "k", "f") == b"answer"


def test_a_key_that_cannot_be_freed_now_is_free_in_this_process_at_once() -> None:
    state = Faulty()
    keys = IdempotencyKeys(state)
    keys.begin("s", "k", "f")
    state.away = StateAway("stopped")
    keys.abandon("s", "k")
    state.away = None
    assert keys.begin("s", "k", "f") is None
    assert LATER.wait_empty(30)
    keys.finish("s", "k", b"answer")  # the late freeing was of the first claim, not of this one
    assert keys.begin("s", "k", "f") == b"answer"


@pytest.mark.parametrize("made", [True, False])
def test_a_claim_that_may_have_been_made_begins_nothing_and_holds_nothing_up(made: bool) -> None:
    state = Faulty()
    keys = IdempotencyKeys(state)
    state.away, state.made = StateUnclear("silence"), made
    with pytest.raises(StateAway, match="cannot be reached"):
        keys.begin("s", "k", "f")
    state.away = None
    assert keys.begin("s", "k", "f") is None


@pytest.mark.parametrize("made", [True, False])
def test_a_repeat_finds_out_whether_an_effect_in_doubt_was_made(made: bool) -> None:
    state = Faulty()
    keys = IdempotencyKeys(state)
    operation = Registry.of([("echo", Echo())]).operation("count")

    def fall_silent() -> object:
        state.away, state.made = StateUnclear("silence"), made
        with state.writing() as changes:
            changes.put("s", "effect", b"")
        return None

    with pytest.raises(StateUnclear, match="not known"):
        once(operation, {}, "k", keys, fall_silent)
    state.away = None
    assert LATER.wait_empty(30)
    with state.reading() as records:
        assert (records.get("s", "effect") is not None) == made
    if made:
        with pytest.raises(KeyEffected, match="took effect"):
            once(operation, {}, "k", keys, fall_silent)
    else:
        assert once(operation, {}, "k", keys, lambda: Counted(1)) == Counted(1)


def test_an_effect_in_the_state_is_known_to_have_happened_when_its_process_dies(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    code = (
        "import os, sys\n"
        "from postil.core.effects.joining import joining\n"
        "from postil.storage.sqlite import SqliteState\n"
        "from postil.storage.idempotency import IdempotencyKeys\n"
        "state = SqliteState(sys.argv[1]); keys = IdempotencyKeys(state); keys.begin('s', 'k', 'f')\n"
        "with joining(keys.marker('s', 'k')), state.writing() as changes: changes.put('s', 'effect', b'')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, path], timeout=30)
    state = SqliteState(path)
    with pytest.raises(KeyEffected, match="took effect"):
        IdempotencyKeys(state).begin("s", "k", "f")
    state.close()


def test_a_claim_ends_also_when_its_process_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = IdempotencyKeys(MemoryState(), wait_seconds=5)
    keys.begin("s", "k", "f")
    monkeypatch.setattr(idempotency, "CLAIM_SECONDS", 0.0)
    with pytest.raises(KeyInterrupted):
        keys.begin("s", "k", "f")


def test_waiting_ends(state: State) -> None:
    keys = IdempotencyKeys(state, wait_seconds=0.1)
    keys.begin("s", "k", "f")
    with pytest.raises(KeyInFlight):
        keys.begin("s", "k", "f")


def test_of_many_at_once_one_makes_the_effect(state: State) -> None:
    keys = IdempotencyKeys(state)
    effects: list[int] = []
    answers: list[bytes] = []

    def act() -> None:
        stored = keys.begin("s", "k", "f")
        if stored is None:
            effects.append(1)
            keys.finish("s", "k", b"answer")
            stored = b"answer"
        answers.append(stored)

    threads = [threading.Thread(target=act) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert effects == [1]
    assert answers == [b"answer"] * 8


def test_a_key_that_another_claimed_in_the_last_moment_is_not_held_here() -> None:
    class Raced(MemoryState):
        """Another process claims the key between the first look and the write."""

        @contextmanager
        def writing(self) -> Generator[Changes]:
            racing, self.racing = getattr(self, "racing", True), False
            if racing:
                other = IdempotencyKeys(self)
                assert other.begin("s", "k", "f") is None
                other.finish("s", "k", b"answer")
            with super().writing() as changes:
                yield changes

    state = Raced()
    keys = IdempotencyKeys(state)
    assert keys.begin("s", "k", "f") == b"answer"
    with state.writing() as changes:
        ((name, _),) = changes.range("idempotency")
        changes.delete("idempotency", name)  # as after a day
    assert keys.begin("s", "k", "f") is None


def test_a_call_that_died_is_not_run_again(tmp_path: Path) -> None:
    path = str(tmp_path / "state.db")
    code = (
        "import os, sys; from postil.storage.sqlite import SqliteState\n"
        "from postil.storage.idempotency import IdempotencyKeys\n"
        "IdempotencyKeys(SqliteState(sys.argv[1])).begin('s', 'k', 'f'); os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, path], timeout=30)
    state = SqliteState(path)
    with pytest.raises(KeyInterrupted, match="whether it took effect is not known"):
        IdempotencyKeys(state).begin("s", "k", "f")
    state.close()


def test_a_repeat_waits_also_in_its_last_moment() -> None:
    class Answering(MemoryState):
        def wait(self, beyond: int, timeout: float) -> bool:
            keys.finish("s", "k", b"answer")
            return super().wait(beyond, timeout)

    keys = IdempotencyKeys(Answering(), wait_seconds=0.5)
    keys.begin("s", "k", "f")
    assert keys.begin("s", "k", "f") == b"answer"


def test_a_repeat_waits_longer_than_one_look() -> None:
    keys = IdempotencyKeys(MemoryState(), wait_seconds=10)
    keys.begin("s", "k", "f")
    threading.Timer(1.3, lambda: keys.finish("s", "k", b"answer")).start()
    assert keys.begin("s", "k", "f") == b"answer"


def test_a_claim_under_an_earlier_fence_holds_nobody_up_unless_its_effect_was_made() -> None:
    state = MemoryState()
    old, new, later = (IdempotencyKeys(state, 0.2, lambda _, n=n: f"w {n}") for n in (1, 2, 2))
    for key in ("unmade", "made", "answered"):
        assert old.begin("s", key, "f") is None
    with joining(old.marker("s", "made")), state.writing() as changes:
        changes.put("effects", "made", b"v")
    old.finish("s", "answered", b"yes")
    assert new.begin("s", "unmade", "f") is None
    assert new.begin("s", "answered", "f") == b"yes"
    with pytest.raises(KeyInFlight):  # its process lives, and its answer may still come
        new.begin("s", "made", "f")
    with pytest.raises(KeyInFlight):  # under the same fence it may be at work
        later.begin("s", "unmade", "f")
    old.finish("s", "unmade", b"late")  # of a claim that is not its own any more
    new.finish("s", "unmade", b"new")
    assert later.begin("s", "unmade", "f") == b"new"


@pytest.mark.parametrize("value", [b"{", b"{}", b"\xff", b'{"fingerprint":"\xff"}'])
def test_a_damaged_record_of_a_key_makes_no_second_effect(value: bytes) -> None:
    state = MemoryState()
    keys = IdempotencyKeys(state)
    assert keys.begin("s", "k", "f") is None
    keys.finish("s", "k", b"answer")
    with state.writing() as changes:
        ((name, _),) = changes.range("idempotency")
        changes.put("idempotency", name, value)
    for _ in range(2):
        with pytest.raises(KeyInterrupted):
            keys.begin("s", "k", "f")
