"""Each failure of the state says what is wrong and what to do next, with the exit status of its kind."""

import contextvars
from collections.abc import Callable

import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.core.failure import Failure
from postil.storage.failures import (
    KeyEffected,
    KeyInFlight,
    KeyInterrupted,
    KeyReused,
    StateAway,
    StateBusy,
    StateDamaged,
    StateFull,
    StateNewer,
    StateReadOnly,
    StateUnclear,
    StateUnwritable,
)
from postil.wire.protocol.dialects.direct_methods import describe


@pytest.mark.parametrize(
    ("make", "status", "says", "advises"),
    [
        (lambda: StateDamaged("/s.db", "torn"), 7, "/s.db is damaged: torn", "mv /s.db /s.db.damaged"),
        (lambda: StateNewer("/s.db", 9, 1), 7, "has format 9; this version of Postil knows up to 1", "Update Postil"),
        (lambda: StateUnwritable("/s.db", "read-only"), 7, "cannot be written: read-only", "XDG_STATE_HOME"),
        (lambda: StateUnwritable("PostgreSQL at db/postil", "denied"), 7, "cannot be used: denied", "POSTIL_STATE"),
        (lambda: StateFull("/s.db"), 7, "nothing was added", "Free some space"),
        (lambda: StateBusy("/s.db", 1.5), 6, "busy for 1.5 seconds", "again in a moment"),
        (KeyReused, 6, "with other arguments", "new key"),
        (KeyInterrupted, 6, "not known", "Look whether the effect is there"),
        (lambda: KeyInFlight(60), 6, "still running after 60 seconds", "the same key"),
    ],
)
def test_it_says_what_is_wrong_and_what_to_do(
    make: Callable[[], Failure], status: int, says: str, advises: str
) -> None:
    failure = make()
    assert says in failure.message
    assert advises in failure.advice
    assert failure.exit_status == status


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (KeyReused, 422),
        (KeyInterrupted, 409),
        (lambda: KeyInFlight(60), 409),
        (KeyEffected, 409),
        (lambda: StateAway("silent"), 503),
        (lambda: StateUnwritable("/s.db", "read-only"), 503),
        (lambda: StateFull("/s.db"), 503),
        (lambda: StateReadOnly("PostgreSQL at db", "read-only"), 503),
        (lambda: StateUnclear("silent"), 504),
    ],
)
def test_a_program_gets_a_status_and_a_message(make: Callable[[], Failure], status: int) -> None:
    failure = make()
    message, data = describe(failure)
    assert (data["status"], data["message"]) == (status, message) == (status, failure.message)


def test_a_caller_from_elsewhere_learns_neither_where_the_state_is_nor_what_its_server_says() -> None:
    where, why = "/home/ada/state.db", "connection to server at 10.0.0.7, port 5432 failed"

    def make() -> list[Failure]:
        call.enter(Call(Caller("key:ci", surface="http")))
        return [
            StateDamaged(where, why),
            StateUnwritable(where, why),
            StateUnwritable("PostgreSQL at 10.0.0.7", why),
            StateNewer(where, 9, 1),
            StateFull(where),
            StateBusy(where, 1),
            StateAway(why),
            StateUnclear(why),
        ]

    for failure in contextvars.copy_context().run(make):
        told = f"{failure.message} {failure.advice} {failure.details()}"
        assert not [word for word in ("/home/ada", "10.0.0.7", "5432") if word in told]
        assert failure.advice
    assert "the state database of the server is damaged" in contextvars.copy_context().run(make)[0].message.lower()
    assert why in StateAway(why).message, "on this machine it is told"
