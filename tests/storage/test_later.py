"""What could not be written now is written later, and not tried for ever."""

import threading
import time
from types import SimpleNamespace

import pytest

from postil.storage import later as later_module
from postil.storage.failures import StateAway
from postil.storage.later import Later


def test_it_is_tried_again_until_it_succeeds_and_keeps_nobody_waiting() -> None:
    later, done, tries = Later(), list[str](), list[int]()

    def second_time() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise StateAway("not yet")
        done.append("first")

    later.add(second_time)
    later.add(lambda: done.append("second"))
    assert later.wait_empty(30)
    assert done == ["second", "first"]
    assert later.dropped == 0


def test_who_failed_waits_before_the_next_try_and_who_succeeded_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses, tries = list[float](), list[int]()
    monkeypatch.setattr(later_module, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append))
    later, go_on = Later(), threading.Event()

    def third_time() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise StateAway("not yet")

    later.add(lambda: go_on.wait(30))
    later.add(third_time)
    go_on.set()
    assert later.wait_empty(30)
    assert len(pauses) == 2
    assert pauses[1] > pauses[0]


def test_what_is_over_is_given_up_and_counted() -> None:
    later, after = Later(), threading.Event()

    def never() -> None:
        raise StateAway("never")

    later.add(never, seconds=0)
    later.add(after.set)
    assert after.wait(30)
    assert later.dropped == 1


def test_a_bug_in_one_does_not_keep_the_others_waiting() -> None:
    later, after = Later(), threading.Event()

    def broken() -> None:
        raise ValueError("a bug")

    later.add(broken)
    later.add(after.set)
    assert after.wait(30)
    assert later.dropped == 1


def test_only_so_many_wait() -> None:
    later, go_on = Later(most=2), threading.Event()
    later.add(lambda: go_on.wait(30))
    for _ in range(4):
        later.add(lambda: None)
    go_on.set()
    assert later.wait_empty(30)
    assert later.dropped == 3
