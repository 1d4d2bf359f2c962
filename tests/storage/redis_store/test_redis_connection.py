"""What happens when Redis does not answer: who waits, for how long, and what is said."""

import pytest
import redis

from postil.core.failure import StorageFailed
from postil.storage.failures import StateAway
from postil.storage.redis_store.redis_connection import connect, text, translate_errors


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
