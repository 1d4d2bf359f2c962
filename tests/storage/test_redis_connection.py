"""What happens when Redis does not answer: who waits, for how long, and what is said."""

import pytest
import redis

from postil.core.failure import StorageFailed
from postil.storage import redis_connection
from postil.storage.redis_connection import (
    LONGEST_OUTAGE,
    PATIENCE,
    Outage,
    StateAway,
    connect,
    find_outage,
    text,
    translate_errors,
)


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(redis_connection, "time", clock)
    return clock


def test_after_a_timeout_nobody_waits_for_a_while(clock: Clock) -> None:
    outage = Outage()
    assert not outage.lasts
    outage.note(redis.TimeoutError())
    assert outage.lasts
    clock.now += PATIENCE - 0.01
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
    assert [lasts_for(outage) for _ in range(4)] == [1.0, 2.0, 4.0, LONGEST_OUTAGE]
    outage.end()
    assert lasts_for(outage) == PATIENCE


@pytest.mark.parametrize("error", [redis.ConnectionError("refused"), OSError(), None])
def test_a_refused_connection_begins_no_outage(clock: Clock, error: BaseException | None) -> None:
    outage = Outage()
    outage.note(error)
    assert not outage.lasts


def test_all_users_of_an_address_share_its_outage() -> None:
    assert find_outage("redis://a.example") is find_outage("redis://a.example")
    assert find_outage("redis://a.example") is not find_outage("redis://b.example")


def test_errors_of_redis_become_one_failure_with_its_cause() -> None:
    with pytest.raises(StateAway, match="cannot be reached: refused") as caught, translate_errors():
        raise redis.ConnectionError("refused")
    assert isinstance(caught.value, StorageFailed)
    assert isinstance(caught.value.__cause__, redis.ConnectionError)
    assert "Nothing was changed" in caught.value.advice


def test_an_error_without_words_is_named_and_a_long_one_is_cut() -> None:
    with pytest.raises(StateAway, match=r"reached: TimeoutError$"), translate_errors():
        raise redis.TimeoutError
    with pytest.raises(StateAway) as caught, translate_errors():
        raise redis.RedisError("x" * 1000)
    assert caught.value.message.count("x") == 200


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(LookupError), translate_errors():
        raise LookupError


def test_nobody_there_is_said_at_once() -> None:
    client = connect("unix:///nonexistent/redis.sock")
    with pytest.raises(StateAway), translate_errors():
        client.get("x")
    client.close()


def test_answers_are_read_as_text() -> None:
    assert [text("a"), text("ü".encode()), text(3)] == ["a", "ü", "3"]
