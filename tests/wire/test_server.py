"""What connections share: keys, the secret, threads, hooks."""

from __future__ import annotations

import pytest

from postil.core.call import Caller
from postil.core.effects.witness import Opened
from postil.core.failure import Failure, StorageFailed
from postil.core.ports import Changes
from postil.core.registry import Registry
from postil.storage.idempotency import IdempotencyKeys
from postil.storage.memory import MemoryState
from postil.wire.server import UNITED, Face, Hooks, Server
from tests.core.echo import Echo
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


def server(**given: object) -> Server:
    return Server(Registry.of([("echo", Echo())]), Face("echo", "1", UNITED), **given)  # type: ignore[arg-type]


def test_the_secret_is_made_once_and_only_when_it_is_needed() -> None:
    made: list[bytes] = []

    def make() -> bytes:
        made.append(b"secret")
        return b"secret"

    sealing = server(secret=make)
    assert made == []
    assert sealing.secret == sealing.secret == sealing.profile.secret() == b"secret"
    assert len(made) == 1


def test_keys_are_opened_once() -> None:
    keys = IdempotencyKeys(MemoryState())
    opened: list[IdempotencyKeys] = []
    keyed = server(keys=lambda: opened.append(keys) or keys)
    assert keyed.keys is keyed.keys is keys
    assert opened == [keys]
    assert server().keys is None


async def test_a_narrower_server_has_the_same_threads_secret_and_counts_and_lists_less() -> None:
    whole = server(hooks=Hooks(report=lambda bug, where: None))
    narrow = whole.narrow(whole.registry.narrowed(lambda entry: entry.name == "echo"))
    assert (narrow.pool, narrow.secret, narrow.calls, narrow.hooks) == (
        whole.pool, whole.secret, whole.calls, whole.hooks,
    )  # fmt: skip
    await Talk(whole).ask("tools/list")  # what one has encoded must not be what the other answers
    assert [tool["name"] for tool in (await Talk(narrow).ask("tools/list"))["result"]["tools"]] == ["echo"]
    assert (await Talk(narrow).call("count"))["error"]["code"] == -32601


async def test_a_changed_list_is_encoded_anew_on_every_server_beside() -> None:
    whole = server()
    narrow = whole.narrow(whole.registry.narrowed(lambda entry: True))
    for one in (whole, narrow):
        await Talk(one).ask("tools/list")
        assert one.profile.pages
    whole.registry.list_changed("tools")
    assert (whole.profile.pages, narrow.profile.pages) == ({}, {})


class Noting:
    """A witness that notes openings and ends, or cannot."""

    def __init__(self, fault: Failure | None = None) -> None:
        self.seen: list[str] = []
        self._fault = fault

    def open(self, caller: Caller, operation: str, arguments: object) -> Opened:
        if self._fault is not None:
            raise self._fault
        self.seen.append(f"{operation} begins")
        return self

    def join(self, changes: Changes) -> None:
        self.seen.append("stored")

    def close(self, outcome: str, result: object = None) -> None:
        self.seen.append(outcome)


async def test_hooks_make_a_new_server_and_leave_the_old_one_as_it_was() -> None:
    plain, noting = server(), Noting()
    hooked = plain.with_hooks(Hooks(witness=noting))
    await Talk(plain).call("count")
    await Talk(hooked).call("count")
    await Talk(hooked).call("total")  # a read is no write
    assert noting.seen == ["count begins", "ok"]


async def test_a_write_that_could_not_be_written_down_is_not_begun() -> None:
    part = Echo()
    noting = Noting(StorageFailed("the audit log is away"))
    guarded = Server(Registry.of([("echo", part)]), Face("echo", "1", UNITED), hooks=Hooks(witness=noting))
    assert "the audit log is away" in str(await Talk(guarded).call("count"))
    assert part.count == 0
    assert "result" in await Talk(guarded).call("total")


async def test_calls_are_counted_by_operation_and_outcome() -> None:
    counted = server()
    talk = Talk(counted)
    for tool in ("count", "count", "fail"):
        await talk.call(tool)
    counts = {place: took.count for place, took in counted.calls.items()}
    assert counts == {("count", "ok"): 2, ("fail", "failed"): 1}
