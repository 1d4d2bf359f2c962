"""A write under an idempotency key happens once, and a failure in doubt is not tried again."""

from __future__ import annotations

import contextvars
from typing import Any

import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.core.effects.joining import Join
from postil.core.failure import Conflict, Failure, InvalidArguments, NotFound
from postil.core.invoke import LONGEST_KEY, claim, give_up, once, recall
from postil.core.operation import Operation
from postil.core.registry import Registry
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.memory import MemoryState
from tests.core.echo import Counted, Doubt, Echo


@pytest.fixture
def count() -> Operation:
    return Registry.of([("echo", Echo())]).operation("count")


@pytest.fixture
def keys() -> IdempotencyKeys:
    return IdempotencyKeys(MemoryState())


def test_a_repeated_key_answers_what_the_first_call_answered(count: Operation, keys: IdempotencyKeys) -> None:
    def run() -> object:
        return count.run(by=2)

    answers = [once(count, {"by": 2}, "k", keys, run) for _ in range(3)]
    assert answers == [Counted(2)] * 3
    assert once(count, {"by": 2}, "other", keys, run) == Counted(4)


def test_the_same_key_for_other_arguments_is_a_conflict(count: Operation, keys: IdempotencyKeys) -> None:
    once(count, {"by": 2}, "k", keys, lambda: Counted(2))
    with pytest.raises(Conflict):
        once(count, {"by": 3}, "k", keys, lambda: Counted(5))


def test_a_failed_write_frees_its_key(count: Operation, keys: IdempotencyKeys) -> None:
    def fail() -> object:
        raise NotFound("not there")

    with pytest.raises(NotFound):
        once(count, {}, "k", keys, fail)
    assert once(count, {}, "k", keys, lambda: Counted(1)) == Counted(1)


def test_a_failure_in_doubt_is_kept_and_raised_again(count: Operation, keys: IdempotencyKeys) -> None:
    def doubt() -> object:
        raise Doubt("Nobody knows", advice="Look there", place="x")

    with pytest.raises(Doubt):
        once(count, {}, "k", keys, doubt)
    with pytest.raises(Failure, match="Nobody knows") as again:
        once(count, {}, "k", keys, lambda: Counted(1))
    assert (again.value.code, again.value.advice, again.value.data) == (-32000, "Look there", {"place": "x"})


class Noted:
    """Keys that note what became of them."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def begin(self, scope: str, key: str, fingerprint: str) -> bytes | None:
        return None

    def marker(self, scope: str, key: str) -> Join:
        return lambda changes: None

    def finish(self, scope: str, key: str, outcome: bytes) -> None:
        self.did.append("finish")

    def abandon(self, scope: str, key: str) -> None:
        self.did.append("abandon")


@pytest.mark.parametrize(
    ("fault", "did"), [(NotFound("x"), "abandon"), (ValueError("x"), "abandon"), (Doubt("x"), "finish")]
)
def test_a_key_is_given_back_unless_the_effect_may_have_happened(fault: Exception, did: str) -> None:
    keys = Noted()
    give_up(keys, "scope", "k", fault)
    assert keys.did == [did]


def test_the_order_of_arguments_does_not_matter_and_their_values_do(count: Operation) -> None:
    def fingerprint(arguments: Any) -> str:
        return claim(count, arguments, "k")[1]

    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})
    assert claim(count, {}, "k")[0] == "local\ncount"


@pytest.mark.parametrize(("size", "good"), [(0, False), (1, True), (LONGEST_KEY, True), (LONGEST_KEY + 1, False)])
def test_a_key_has_one_to_256_characters(size: int, good: bool, count: Operation) -> None:
    if good:
        claim(count, {}, "k" * size)
        return
    with pytest.raises(InvalidArguments):
        claim(count, {}, "k" * size)


def test_a_stored_answer_has_the_operations_own_type(count: Operation) -> None:
    assert recall(count, b'{"count": 7}') == Counted(7)


@pytest.mark.parametrize(
    "stored", [b'{"count":"7"}', b'{"count":', b'{"x":"\xff","count":"\xff"}', b'![1,"\xff","",{}]', b"![1]"]
)
def test_a_stored_answer_that_cannot_be_read_is_told_and_no_effect_is_made_again(
    count: Operation, stored: bytes
) -> None:
    with pytest.raises(Conflict, match="cannot be read any more"):
        recall(count, stored)


def test_a_key_belongs_to_its_caller_and_its_operation() -> None:
    def claimed_by(principal: str, operation: Operation) -> str:
        call.enter(Call(Caller(principal)))
        return claim(operation, {}, "k")[0]

    of = [("ada", Echo().add), ("alan", Echo().add), ("ada", Echo().forget), ("ada", Echo().add)]
    scopes = [contextvars.Context().run(claimed_by, who, Operation(run)) for who, run in of]
    assert len({*scopes}) == 3
    assert scopes[0] == scopes[3]
