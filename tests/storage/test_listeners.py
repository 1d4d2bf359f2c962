"""Those who wait for a change are woken by it, and those who stop are called no more."""

import threading
import time

from postil.storage.listeners import ChangeListeners


def test_a_function_is_called_for_every_change_until_it_stops() -> None:
    listeners, called = ChangeListeners(), list[str]()
    stop = listeners.add(lambda: called.append("one"))
    listeners.add(lambda: called.append("two"))
    listeners.notify()
    stop()
    stop()
    listeners.notify()
    assert called == ["one", "two", "two"]


def test_the_same_function_added_twice_is_stopped_once_at_a_time() -> None:
    listeners, called = ChangeListeners(), list[int]()

    def note() -> None:
        called.append(1)

    stop = listeners.add(note)
    listeners.add(note)
    stop()
    listeners.notify()
    assert called == [1]


def test_a_function_may_add_and_stop_others_while_it_is_called() -> None:
    listeners, called = ChangeListeners(), list[str]()

    def once() -> None:
        stop()
        listeners.add(lambda: called.append("later"))

    stop = listeners.add(once)
    listeners.notify()
    assert called == []
    listeners.notify()
    assert called == ["later"]


def test_what_holds_already_is_not_waited_for() -> None:
    assert ChangeListeners().wait_until(lambda: True, 0)


def test_waiting_ends_with_the_time_and_says_so() -> None:
    asked: list[bool] = []

    def holds() -> bool:
        asked.append(True)
        return False

    begun = time.monotonic()
    assert not ChangeListeners().wait_until(holds, 0.05)
    assert 0.05 <= time.monotonic() - begun < 2
    assert len(asked) <= 3, "nothing has changed: there is nothing to ask for"


def test_a_change_wakes_long_before_the_time_is_over() -> None:
    listeners = ChangeListeners()
    holds = threading.Event()

    def change() -> None:
        holds.set()
        listeners.notify()

    threading.Timer(0.05, change).start()
    begun = time.monotonic()
    assert listeners.wait_until(holds.is_set, 60)
    assert time.monotonic() - begun < 10


def test_a_change_while_the_question_is_asked_is_not_missed() -> None:
    listeners = ChangeListeners()
    asked: list[bool] = []

    def holds() -> bool:
        asked.append(True)
        if len(asked) == 1:
            listeners.notify()  # between the answer and the wait
        return len(asked) == 2

    begun = time.monotonic()
    assert listeners.wait_until(holds, 60)
    assert time.monotonic() - begun < 10


def test_without_a_change_it_looks_again_after_the_longest_pause() -> None:
    asked: list[bool] = []

    def holds() -> bool:
        asked.append(True)
        return len(asked) == 3

    assert ChangeListeners().wait_until(holds, 60, longest_pause=0.02)
