"""Kept answers, over memory and over a real Redis that two replicas share."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

import pytest
import redis as redis_client

from postil.core.ports import EphemeralStore
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.cache import Question, ResponseCache, make_question
from postil.gitlab.instance.client import Reply
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.redis_store.redis_ephemeral import RedisEphemeralStore
from tests.storage.redis_server import RedisServer, redis_server

Run = Callable[[Callable[["Replica", "Replica", "Upstream"], Awaitable[None]]], None]
SECRET = b'{"runners_token":"GR1348941"}'


class Upstream:
    """GitLab: answers what it is told to, counts, and knows ETags."""

    def __init__(self) -> None:
        self.body = SECRET
        self.asked = 0
        self.status = 200
        self.gate: asyncio.Event | None = None
        self._coming = asyncio.Condition()

    async def was_asked(self, times: int) -> None:
        async with asyncio.timeout(10), self._coming:
            await self._coming.wait_for(lambda: self.asked >= times)

    async def __call__(self, etag: str) -> Reply:
        self.asked += 1
        async with self._coming:
            self._coming.notify_all()
        body = self.body
        if self.gate is not None:
            await self.gate.wait()
        if self.status >= 400:
            raise GitLabFailure(self.status, "refused")
        if etag == f'W/"{hash(body)}"':
            return Reply(304, {}, b"")
        return Reply(200, {"etag": f'W/"{hash(body)}"'}, body)


class Replica:
    """One process's cache."""

    def __init__(self, ephemeral: EphemeralStore, upstream: Upstream, *, shared: bool) -> None:
        self.cache, self.upstream = ResponseCache(ephemeral, shared=shared), upstream

    async def get(self, project: str = "1", ttl: int = 300, **whose: str) -> tuple[bytes, str]:
        reply, state = await self.cache.get(question(project, **whose), ttl, self.upstream)
        return reply.body, state

    async def state(self, project: str = "1", ttl: int = 300, **whose: str) -> str:
        return (await self.get(project, ttl, **whose))[1]


def question(project: str, principal: str = "p", token: str = "t") -> Question:
    return make_question("https://gitlab", principal, token, f"projects/{project}", {"page": 1}, project)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(params=["memory", "redis"])
def replicas(request: pytest.FixtureRequest) -> Run:
    def run(test: Callable[[Replica, Replica, Upstream], Awaitable[None]]) -> None:
        async def main() -> None:
            upstream = Upstream()
            if request.param == "memory":
                one = Replica(MemoryEphemeralStore(), upstream, shared=False)
                await test(one, one, upstream)
                return
            server: RedisServer = request.getfixturevalue("server")
            server.clear()
            ephemeral = [RedisEphemeralStore(server.address) for _ in range(2)]
            await test(*(Replica(each, upstream, shared=True) for each in ephemeral), upstream)  # type: ignore[call-arg]
            for each in ephemeral:
                await each.close()

        asyncio.run(main())

    return run


def test_an_answer_kept_by_one_replica_is_served_by_another(replicas: Run) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        assert [await one.get(), await two.get()] == [(SECRET, "MISS"), (SECRET, "HIT")]
        assert upstream.asked == 1

    replicas(test)


def test_after_its_time_an_answer_lives_on_by_its_etag(replicas: Run) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        assert [await one.state(ttl=0), await two.state(ttl=0)] == ["MISS", "REVALIDATED"]
        upstream.body = b"changed"
        assert await one.get(ttl=0) == (b"changed", "MISS")

    replicas(test)


def test_neither_another_principal_nor_another_token_gets_it(replicas: Run) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        await one.state()
        assert await two.state(token="another") == "MISS"
        assert await two.state(principal="another") == "MISS"

    replicas(test)


@pytest.mark.parametrize(
    ("kept", "changed", "state"),
    [
        ("1", ("1",), "MISS"),
        ("1", ("2",), "HIT"),
        ("group%2fapp", ("GROUP%2FApp",), "MISS"),
        ("group%2fapp", ("group%2fother",), "HIT"),
        ("1", ("group%2fapp",), "MISS"),  # only GitLab knows whether they are the same
        ("group%2fapp", ("1",), "MISS"),
        ("", ("1",), "MISS"),
        ("", ("group%2fapp",), "MISS"),
        ("1", (), "MISS"),
        ("group%2fapp", (), "MISS"),
        ("", (), "MISS"),
        ("1", ("2", "group%2fapp"), "HIT"),  # both names are known, and it is neither
        ("group%2fapp", ("2", "group%2fother"), "HIT"),
        ("2", ("2", "group%2fapp"), "MISS"),
        ("group%2fapp", ("2", "group%2fapp"), "MISS"),
    ],
)
def test_a_change_heard_by_one_replica_is_seen_by_all(
    replicas: Run, kept: str, changed: tuple[str, ...], state: str
) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        await one.state(kept)
        assert await two.state(kept) == "HIT"
        await two.cache.purge(*changed)
        assert await one.state(kept) == state
        assert await two.state(kept) == "HIT"

    replicas(test)


def test_an_answer_that_was_on_its_way_during_a_change_is_not_believed(replicas: Run) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        upstream.gate = asyncio.Event()
        early = asyncio.create_task(one.get())
        await upstream.was_asked(1)
        upstream.body = b"new"
        await one.cache.purge("1")
        late = asyncio.create_task(one.get())  # asked after the change: does not share the old answer
        await upstream.was_asked(2)
        upstream.gate.set()
        assert (await early)[0] == SECRET
        assert await late == (b"new", "MISS")
        assert (await two.get())[0] == b"new"

    replicas(test)


def test_equal_questions_at_once_are_asked_once_and_one_who_leaves_spoils_nothing(replicas: Run) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        upstream.gate = asyncio.Event()
        asking = [asyncio.create_task(one.get()) for _ in range(20)]
        await upstream.was_asked(1)
        asking[0].cancel()
        upstream.gate.set()
        states = [state for _, state in await asyncio.gather(*asking[1:])]
        assert (states, upstream.asked) == (["HIT"] * 19, 1)

    replicas(test)


def test_a_revoked_token_gets_nothing_that_was_kept_for_it(replicas: Run) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        await one.state("1")
        await one.state("2", token="another")
        upstream.status = 401
        with pytest.raises(GitLabFailure):
            await two.get("3")
        upstream.status = 200
        assert await one.state("1") == "MISS"
        assert await one.state("2", token="another") == "HIT"

    replicas(test)


@pytest.mark.parametrize("status", [403, 404])
def test_what_may_no_longer_be_seen_is_forgotten(replicas: Run, status: int) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        await one.state(ttl=0)
        upstream.status = status
        with pytest.raises(GitLabFailure):
            await two.get()
        upstream.status = 200
        assert await one.state() == "MISS"

    replicas(test)


def test_redis_holds_nothing_that_can_be_read(server: RedisServer) -> None:
    async def main() -> None:
        server.clear()
        ephemeral = RedisEphemeralStore(server.address)
        replica = Replica(ephemeral, Upstream(), shared=True)
        await replica.get(token="glpat-canary")
        await replica.cache.purge("1")
        await ephemeral.close()

    asyncio.run(main())
    with redis_client.Redis.from_url(server.address) as client:  # pyright: ignore[reportUnknownMemberType]
        names: list[bytes] = client.keys("*")  # type: ignore[assignment]
        values = [client.dump(name) for name in names]
    everything = b"\n".join(part for part in [*names, *values] if isinstance(part, bytes))
    assert b"gitlab:" in everything
    assert b"GR1348941" not in everything
    assert b"canary" not in everything


def test_what_changed_while_redis_was_away_is_said_when_it_is_back(server: RedisServer) -> None:
    async def main() -> None:
        server.clear()
        upstream = Upstream()
        ephemeral = [RedisEphemeralStore(server.address) for _ in range(2)]
        one, two = (Replica(each, upstream, shared=True) for each in ephemeral)
        await one.get()
        server.kill()
        upstream.body = b"new"
        await one.cache.purge("1")
        assert await one.get() == (b"new", "MISS"), "GitLab is asked while nobody can tell what was kept"
        server.start()
        assert await one.state("7") == "MISS"  # any question says it first
        assert (await two.get())[0] == b"new"
        for each in ephemeral:
            await each.close()

    asyncio.run(main())


class Keeper:
    """A cache over a clock that we set, and GitLab behind it."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.store = MemoryEphemeralStore(lambda: self.now)
        self.cache = ResponseCache(self.store, clock=lambda: self.now)
        self.upstream = Upstream()

    async def state(self, project: str = "1", ttl: int = 300, token: str = "t") -> str:
        return (await self.cache.get(question(project, token=token), ttl, self.upstream))[1]


@pytest.mark.parametrize(("ttl", "holds"), [(300, 300), (0, 0), (-5, 0), (3600, 3600), (99_999, 3600)])
def test_an_answer_holds_for_its_time_and_not_a_moment_longer(ttl: int, holds: int) -> None:
    async def main() -> None:
        keeper = Keeper()
        assert await keeper.state(ttl=ttl) == "MISS"
        keeper.now += holds - 0.001
        assert holds == 0 or await keeper.state(ttl=ttl) == "HIT"
        keeper.now += 0.001
        assert await keeper.state(ttl=ttl) == "REVALIDATED"

    asyncio.run(main())


def test_an_hour_after_its_time_an_answer_is_gone_with_its_etag() -> None:
    async def main() -> None:
        for late, state in ((3599.9, "REVALIDATED"), (3600.1, "MISS")):
            keeper = Keeper()
            await keeper.state(ttl=300)
            keeper.now += 300 + late
            assert await keeper.state(ttl=300) == state

    asyncio.run(main())


def test_a_change_is_remembered_for_longer_than_any_answer_lives() -> None:
    async def main() -> None:
        keeper = Keeper()
        await keeper.state(ttl=3600)
        await keeper.cache.purge("1", "group/app")
        keeper.now += 3600 + 3599
        keeper.upstream.asked = 0
        assert await keeper.state(ttl=3600) == "MISS", "an answer from before the change never counts again"

    asyncio.run(main())


def test_only_answers_up_to_four_mib_are_kept() -> None:
    async def main() -> None:
        for size, state in ((4 * 1024 * 1024, "HIT"), (4 * 1024 * 1024 + 1, "MISS")):
            keeper = Keeper()
            keeper.upstream.body = b"x" * size
            assert [await keeper.state(), await keeper.state()] == ["MISS", state]

    asyncio.run(main())


def test_states_are_counted_for_the_metrics() -> None:
    async def main() -> None:
        keeper = Keeper()
        for _ in range(3):
            await keeper.state()
        keeper.now += 301
        await keeper.state()
        assert keeper.cache.states == {"HIT": 2, "MISS": 1, "REVALIDATED": 1}

    asyncio.run(main())


def test_who_joins_a_question_on_its_way_is_counted_as_a_hit() -> None:
    async def main() -> None:
        keeper = Keeper()
        keeper.upstream.gate = asyncio.Event()
        asking = [asyncio.create_task(keeper.state()) for _ in range(3)]
        await keeper.upstream.was_asked(1)
        keeper.upstream.gate.set()
        assert sorted(await asyncio.gather(*asking)) == ["HIT", "HIT", "MISS"]
        assert keeper.upstream.asked == 1
        assert not vars(keeper.cache)["_asking"]
        assert not vars(keeper.cache)["_projects"]

    asyncio.run(main())


REFUSALS = [(401, ["MISS", "MISS"]), (403, ["MISS", "HIT"]), (404, ["MISS", "HIT"]), (500, ["HIT", "HIT"])]


@pytest.mark.parametrize(("status", "after"), REFUSALS)
def test_a_refusal_forgets_as_much_as_it_says(status: int, after: list[str]) -> None:
    """401: all that this token saw; 403 and 404: this answer; else nothing. Another token's answers stay."""

    async def main() -> None:
        keeper = Keeper()
        for project in ("1", "2"):
            await keeper.state(project, ttl=600 if project == "2" else 300)
        await keeper.state("2", ttl=600, token="another")
        keeper.now += 301
        keeper.upstream.status = status
        with pytest.raises(GitLabFailure):
            await keeper.state("1")
        keeper.upstream.status = 200
        keeper.now -= 301
        assert [await keeper.state("1"), await keeper.state("2", ttl=600)] == after
        assert await keeper.state("2", ttl=600, token="another") == "HIT"

    asyncio.run(main())


class AwayStore(MemoryEphemeralStore):
    """A store that can be away: then nothing is told and nothing is kept."""

    away = False

    async def recall(self, *names: str) -> Sequence[bytes | None]:
        return await super().recall(*names) if not self.away else None  # type: ignore[return-value] # as the port says

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        return False if self.away else await super().keep(values, seconds)


def test_while_the_store_is_away_every_question_is_asked_and_changes_wait_to_be_said() -> None:
    async def main() -> None:
        store, upstream = AwayStore(), Upstream()
        cache = ResponseCache(store)

        async def state() -> str:
            return (await cache.get(question("1"), 300, upstream))[1]

        assert [await state(), await state()] == ["MISS", "HIT"]
        store.away = True
        assert [await state(), await state()] == ["MISS", "MISS"]
        await cache.purge("1")
        store.away = False
        assert [await state(), await state()] == ["MISS", "HIT"], "the change is said first, and once"

    asyncio.run(main())


def test_an_answer_that_nobody_can_decode_is_asked_for_again() -> None:
    async def main() -> None:
        keeper = Keeper()
        await keeper.state()
        await keeper.store.keep({f"gitlab:{question('1').key}": b"another version's"}, 300)
        assert await keeper.state() == "MISS"

    asyncio.run(main())


def test_purging_soon_happens_soon() -> None:
    async def main() -> None:
        keeper = Keeper()
        await keeper.state()
        keeper.cache.purge_soon("1")
        assert len(vars(keeper.cache)["_tasks"]) == 1, "held until it is done"
        await asyncio.gather(*vars(keeper.cache)["_tasks"])
        await asyncio.sleep(0)
        assert not vars(keeper.cache)["_tasks"]
        assert await keeper.state() == "MISS"

    asyncio.run(main())


def test_a_question_is_the_same_whatever_the_order_of_its_words_and_names_nobody() -> None:
    first = make_question("https://gitlab", "p", "secret", "projects", {"a": 1, "b": None}, "Group%2FApp")
    assert first == make_question("https://gitlab", "p", "secret", "projects", {"b": None, "a": 1}, "group%2fapp")
    assert make_question("https://gitlab", "p", "secret", "projects", None, "x") == make_question(
        "https://gitlab", "p", "secret", "projects", {}, "x"
    )
    assert (first.project, len(first.key), len(first.whose), len(first.seal)) == ("group%2fapp", 64, 32, 32)
    assert "secret" not in repr(first)


@pytest.mark.parametrize(
    ("project", "changed", "joins"),
    [
        ("1", (), False),
        ("", ("7",), False),
        ("1", ("1",), False),
        ("1", ("2",), True),
        ("1", ("group/app",), False),
        ("1", ("2", "group/app"), True),
        ("group/app", ("2",), False),
        ("group/app", ("other/app",), True),
    ],
)
def test_who_asks_after_a_change_joins_no_question_that_may_be_about_it(
    project: str, changed: tuple[str, ...], joins: bool
) -> None:
    async def main() -> None:
        keeper = Keeper()
        keeper.upstream.gate = asyncio.Event()
        before = asyncio.create_task(keeper.state(project))
        await keeper.upstream.was_asked(1)
        await keeper.cache.purge(*changed)
        after = asyncio.create_task(keeper.state(project))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert keeper.upstream.asked == (1 if joins else 2)
        keeper.upstream.gate.set()
        assert [await before, await after] == ["MISS", "HIT" if joins else "MISS"]

    asyncio.run(main())


def test_a_failure_that_nobody_waits_for_any_more_is_no_complaint_of_the_loop() -> None:
    complaints: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
        keeper = Keeper()
        keeper.upstream.gate, keeper.upstream.status = asyncio.Event(), 500
        asker = asyncio.create_task(keeper.state())
        await keeper.upstream.was_asked(1)
        asker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asker
        (asking,) = vars(keeper.cache)["_asking"].values()
        keeper.upstream.gate.set()
        await asyncio.wait([asking])
        del asking, asker
        gc.collect()
        await asyncio.sleep(0)

    asyncio.run(main())
    gc.collect()
    assert complaints == []


@pytest.mark.parametrize("damage", [b"\xc1", b"text"])
def test_a_kept_answer_that_cannot_be_read_is_asked_for_again(damage: bytes) -> None:
    class Damaging(MemoryEphemeralStore):
        async def recall(self, *names: str) -> list[bytes | None]:
            values = await super().recall(*names)
            kept = values[0]
            whole = damage if damage != b"text" else (kept or b"").replace(b"etag", b"\xff" * 4)
            return [kept and whole, *values[1:]]

    async def test() -> None:
        one = Replica(Damaging(), Upstream(), shared=False)
        assert [await one.get(), await one.get()] == [(SECRET, "MISS"), (SECRET, "MISS")]

    asyncio.run(test())
