"""The same key: the same answer and one effect, over every state and across processes."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from postil.core.ports import State
from postil.storage.failures import KeyInFlight, KeyInterrupted, KeyReused
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.memory import MemoryState
from postil.storage.sqlite import SqliteState
from tests.storage.states import redis, state

__all__ = ["redis", "state"]  # fixtures


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


def test_a_repeat_waits_longer_than_one_look() -> None:
    keys = IdempotencyKeys(MemoryState(), wait_seconds=10)
    keys.begin("s", "k", "f")
    threading.Timer(1.3, lambda: keys.finish("s", "k", b"answer")).start()
    assert keys.begin("s", "k", "f") == b"answer"
