"""Turns: who may write a shared workspace, and what becomes of what an old holder does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from postil.core.catalogue import OperationEntry
from postil.core.failure import Failure
from postil.hosting.hosted import HostedWorkspace, Peer, Turn
from postil.storage.postgresql.postgres import PostgresState
from postil.storage.postgresql.postgres_leases import Fenced
from postil.workspace.clones.clone import RemoteAway, SharedClone
from tests.hosting.hosts import make_bare
from tests.storage.postgres_server import PostgresServer
from tests.storage.states import postgres

__all__ = ["postgres"]  # a fixture


def keep_ours(path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes:
    return ours or b""


class Served:
    """What a turn is served by, for tests: it knows its turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn


class Host:
    """One host of the workspace."""

    def __init__(self, folder: Path, name: str, state: PostgresState) -> None:
        self.clone = SharedClone("team", str(folder / name), str(folder / "bare.git"), "", keep_ours)
        self.room = HostedWorkspace(
            "team",
            self.clone,
            state,
            state.leases(),
            name,
            f"http://{name}",
            lambda _, turn: Served(turn),  # type: ignore[arg-type,return-value]
        )

    def find(self) -> Any:
        return self.room.find()

    def write(
        self, turn: Turn, name: str, *, part: str = "comments", meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        with self.room.writing(turn, entry(part)):
            Path(self.clone.folder, f"{name}.comments").write_text(name)
            meanwhile()

    def files(self) -> list[str]:
        return sorted(path.stem for path in Path(self.clone.folder).glob("*.comments"))


def entry(part: str) -> OperationEntry:
    return OperationEntry(
        name="x", part=part, group="", attribute="", effect="writes", description="", input_schema=Raw(b"{}")
    )


def expire(postgres: PostgresServer) -> None:
    postgres.execute("UPDATE postil_leases SET until = now() - interval '1 second'")


@pytest.fixture
def state(postgres: PostgresServer) -> Iterator[PostgresState]:
    postgres.clear()
    made = PostgresState(postgres.address)
    yield made
    made.close()


@pytest.fixture
def pair(tmp_path: Path, state: PostgresState) -> Iterator[tuple[Host, Host]]:
    make_bare(tmp_path)
    hosts = Host(tmp_path, "one", state), Host(tmp_path, "two", state)
    yield hosts
    for host in hosts:
        host.room.close()


def test_one_host_serves_and_the_other_knows_where(pair: tuple[Host, Host]) -> None:
    one, two = pair
    served = one.find()
    assert two.find() == Peer("http://one", 1)
    assert (one.room.current, two.room.current) == (served, None)
    one.write(served.turn, "a")
    one.room.close()  # gives it back at once
    assert one.room.current is None
    assert two.find().turn.lease.number == 2
    assert two.files() == ["a"]


def test_an_old_holder_that_wakes_up_is_refused_when_its_effect_is_to_be_recorded(
    pair: tuple[Host, Host], postgres: PostgresServer, state: PostgresState
) -> None:
    one, two = pair
    old = one.find().turn
    one.write(old, "a")

    def sleep() -> None:
        expire(postgres)
        two.write(two.find().turn, "b")

    with pytest.raises(Fenced):
        one.write(old, "late", meanwhile=sleep)
    assert two.files() == ["a", "b"]
    assert one.find() == Peer("http://two", 2)
    expire(postgres)
    assert one.find().turn.lease.number == 3
    assert one.files() == ["a", "b"], "what was refused is gone"
    with state.reading() as records:
        assert records.count("idempotency") == 0


def test_half_an_effect_ends_the_turn_and_the_next_one_begins_without_it(pair: tuple[Host, Host]) -> None:
    one, _ = pair
    turn = one.find().turn

    def fail() -> None:
        raise Failure("halfway")

    with pytest.raises(Failure, match="halfway"):
        one.write(turn, "half", meanwhile=fail)
    with pytest.raises(Fenced):
        one.write(turn, "more")
    assert one.find().turn.lease.number == 2
    assert one.files() == []


def test_a_failure_that_changed_nothing_ends_nothing(pair: tuple[Host, Host]) -> None:
    one, _ = pair
    served = one.find()
    with pytest.raises(Failure), one.room.writing(served.turn, entry("comments")):
        raise Failure("wrong arguments")
    assert one.find() is served


def test_a_write_that_cannot_be_published_is_refused_and_undone(pair: tuple[Host, Host], tmp_path: Path) -> None:
    one, _ = pair
    turn = one.find().turn
    (tmp_path / "bare.git").rename(tmp_path / "away")
    with pytest.raises(RemoteAway):
        one.write(turn, "a")
    with pytest.raises(RemoteAway):
        one.find()
    (tmp_path / "away").rename(tmp_path / "bare.git")
    again = one.find().turn
    assert one.files() == []
    one.write(again, "b")
    assert one.files() == ["b"]


def test_operations_that_change_no_files_go_by_without_git(pair: tuple[Host, Host]) -> None:
    one, _ = pair
    turn = one.find().turn
    one.write(turn, "stray", part="inbox")
    assert one.clone.has_changed()
    assert (one.room.fence(turn, "inbox"), one.room.fence(turn, "comments")) == ("", "team 1")


def test_a_host_whose_clone_another_process_has_serves_nothing(tmp_path: Path, state: PostgresState) -> None:
    make_bare(tmp_path)
    one, same = Host(tmp_path, "one", state), Host(tmp_path, "one", state)
    assert one.clone.take()
    with pytest.raises(Fenced):
        same.find()
    one.room.close()
