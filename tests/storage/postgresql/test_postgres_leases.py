"""Leases: one holder at a time, a number that grows, and nothing recorded under an old one."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from postil.storage.postgresql.postgres import PostgresState
from postil.storage.postgresql.postgres_leases import Fenced, Lease
from tests.storage.postgres_server import PostgresServer
from tests.storage.states import postgres

__all__ = ["postgres"]  # a fixture


@pytest.fixture
def state(postgres: PostgresServer) -> Iterator[PostgresState]:
    postgres.clear()
    made = PostgresState(postgres.address)
    yield made
    made.close()


def expire(postgres: PostgresServer) -> None:
    """As if nobody had renewed it for long."""
    postgres.execute("UPDATE postil_leases SET until = now() - interval '1 second'")


def record(state: PostgresState, lease: Lease, head: str) -> None:
    with state.writing() as changes:
        changes.put("effects", head, b"v")
        state.leases().record(changes, lease, head)


def effects(state: PostgresState) -> list[str]:
    with state.reading() as records:
        return [key for key, _ in records.range("effects")]


def test_where_nobody_ever_had_a_lease_there_is_none(state: PostgresState, postgres: PostgresServer) -> None:
    postgres.execute("DROP TABLE IF EXISTS postil_leases")
    assert state.leases().find("w") is None


def test_a_lease_has_one_holder_until_it_expires(state: PostgresState, postgres: PostgresServer) -> None:
    leases = state.leases()
    first = leases.acquire("w", "one", "http://one")
    assert (first.number, first.holder, first.head) == (1, "one", "")
    other = leases.acquire("w", "two", "http://two")
    assert (other.number, other.holder, other.address) == (1, "one", "http://one")
    assert leases.renew(first)
    expire(postgres)
    assert leases.acquire("w", "two", "http://two").number == 2
    assert not leases.renew(first)
    assert leases.find("nobody's") is None


def test_a_lease_that_expired_is_kept_by_a_holder_that_comes_back_first(
    state: PostgresState, postgres: PostgresServer
) -> None:
    leases = state.leases()
    lease = leases.acquire("w", "one", "http://one")
    expire(postgres)
    assert leases.renew(lease)
    assert leases.acquire("w", "two", "http://two").holder == "one"


def test_the_effect_of_an_old_number_is_refused_with_all_that_was_written_beside_it(
    state: PostgresState, postgres: PostgresServer
) -> None:
    leases = state.leases()
    old = leases.acquire("w", "one", "http://one")
    record(state, old, "first")
    expire(postgres)
    new = leases.acquire("w", "two", "http://two")
    assert (new.head, new.head_number) == ("first", 1)
    with pytest.raises(Fenced) as refused:
        record(state, old, "late")
    assert refused.value.data["status"] == 503
    record(state, new, "second")
    assert effects(state) == ["first", "second"]
    found = leases.find("w")
    assert found is not None
    assert (found.head, found.head_number) == ("second", 2)


def test_a_released_lease_is_free_at_once_and_its_number_is_never_given_again(state: PostgresState) -> None:
    leases = state.leases()
    lease = leases.acquire("w", "one", "http://one")
    leases.release(lease)
    assert leases.acquire("w", "two", "http://two").number == 2
    leases.release(lease)  # late: it is another's now
    assert leases.acquire("w", "three", "http://three").holder == "two"


def test_of_many_that_ask_at_once_one_gets_it(state: PostgresState) -> None:
    got: list[Lease] = []

    def ask(n: int) -> None:
        got.append(state.leases().acquire("w", f"host {n}", ""))

    askers = [threading.Thread(target=ask, args=[n]) for n in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len({lease.holder for lease in got}) == 1
    assert {lease.number for lease in got} == {1}


def test_older_versions_work_beside_the_leases(state: PostgresState, postgres: PostgresServer) -> None:
    before = postgres.execute("SELECT version FROM postil_schema") if state.version() >= 0 else []
    state.leases().acquire("w", "one", "")
    assert postgres.execute("SELECT version FROM postil_schema") == before
