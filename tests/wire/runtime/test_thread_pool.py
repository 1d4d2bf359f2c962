"""The threads that operations run in: one free thread goes on, and no other is woken."""

from __future__ import annotations

import threading
import weakref
from queue import SimpleQueue

import pytest

from postil.wire.runtime.thread_pool import ThreadPool

PATIENCE = 20


class Thing:
    """Something that can be watched as it goes."""


def ask(threads: ThreadPool) -> int:
    """Returns the thread that does something."""
    said: SimpleQueue[int] = SimpleQueue()
    threads.begin(lambda: said.put(threading.get_ident()))
    return said.get(timeout=PATIENCE)


def wait_until_free(threads: ThreadPool) -> None:
    """Wait until no thread has anything to do."""
    done = threading.Event()
    threads.begin(done.set)
    assert done.wait(PATIENCE)
    for _ in range(10_000):
        if threads.free == threads.started:
            return
        threading.Event().wait(0.001)
    raise AssertionError


def test_one_thing_after_another_is_done_by_one_thread() -> None:
    threads = ThreadPool(8)
    found = set[int]()
    for _ in range(20):
        found.add(ask(threads))
        wait_until_free(threads)
    assert len(found) <= 2  # the second where the first was not free yet


def test_no_more_threads_start_than_may_and_the_rest_waits() -> None:
    threads, gate, said = ThreadPool(2), threading.Event(), SimpleQueue[int]()

    def stay(number: int) -> None:
        assert gate.wait(PATIENCE)
        said.put(number)

    for number in range(5):
        threads.begin(stay, number)
    assert threads.started == 2
    assert said.empty()
    gate.set()
    assert {said.get(timeout=PATIENCE) for _ in range(5)} == {*range(5)}
    assert threads.started == 2


def test_a_bug_costs_no_thread_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    threads = ThreadPool(1)

    def break_down() -> None:
        raise KeyError("a bug")

    threads.begin(break_down)
    ask(threads)
    assert "a bug" in capsys.readouterr().err


def test_a_free_thread_holds_nothing_of_what_it_did() -> None:
    threads, thing = ThreadPool(1), Thing()
    gone = weakref.ref(thing)
    threads.begin(repr, thing)
    del thing
    wait_until_free(threads)
    assert gone() is None
