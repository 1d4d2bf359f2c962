"""After a store did not answer in time, nobody waits for it again at once."""

import pytest
import redis

from postil.storage import outage as outage_module
from postil.storage.outage import FIRST, LONGEST, Outage, find_outage, watch_outages


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(outage_module, "time", clock)
    return clock


def test_after_a_timeout_nobody_waits_for_a_while(clock: Clock) -> None:
    outage = Outage()
    assert not outage.lasts
    outage.note(redis.TimeoutError())
    assert outage.lasts
    clock.now += FIRST - 0.01
    assert outage.lasts
    clock.now += 0.01
    assert not outage.lasts


def test_the_while_doubles_up_to_a_limit_and_begins_small_after_an_answer(clock: Clock) -> None:
    def lasts_for(outage: Outage) -> float:
        outage.note(TimeoutError())
        begun = clock.now
        while outage.lasts:
            clock.now += 0.25
        return clock.now - begun

    outage = Outage()
    assert [lasts_for(outage) for _ in range(4)] == [1.0, 2.0, 4.0, LONGEST]
    outage.end()
    assert lasts_for(outage) == FIRST


@pytest.mark.parametrize("error", [redis.ConnectionError("refused"), OSError(), None])
def test_a_refused_connection_begins_no_outage(clock: Clock, error: BaseException | None) -> None:
    outage = Outage()
    outage.note(error)
    assert not outage.lasts


def test_all_users_of_an_address_share_its_outage() -> None:
    assert find_outage("redis://a.example") is find_outage("redis://a.example")
    assert find_outage("redis://a.example") is not find_outage("redis://b.example")


def test_who_watches_hears_once_that_a_store_is_away_and_once_that_it_is_back(clock: Clock) -> None:
    heard: list[str] = []
    stop = watch_outages(heard.append)
    try:
        outage = find_outage("postgresql://me:hidden@db.example:5432/postil?password=hidden")
        outage.end()  # it was never away
        for _ in range(3):
            outage.note(OSError("connection refused\nis it running?"))
        clock.now += 12
        outage.end()
        outage.end()
    finally:
        stop()
    assert heard == [
        "warning: PostgreSQL at db.example:5432 does not answer: connection refused is it running?",
        "PostgreSQL at db.example:5432 answers again, after 12 s",
    ]
    outage.note(None)
    assert len(heard) == 2, "who stopped hears nothing"


def test_what_is_told_of_a_store_is_a_short_line(clock: Clock) -> None:
    heard: list[str] = []
    stop = watch_outages(heard.append)
    try:
        Outage("R").note(OSError("a " * 50 + "b" * 101))
        Outage("R").note(None)
    finally:
        stop()
    assert heard == ["warning: R does not answer: " + "a " * 50 + "b" * 100, "warning: R does not answer"]
