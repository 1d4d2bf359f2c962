"""Kept answers, over memory and over a real Redis that two replicas share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
import redis as redis_client

from postil.core.ports import Moments
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.cache import Question, ResponseCache, make_question
from postil.gitlab.instance.client import Reply
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.redis_ephemeral import RedisEphemeralStore
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

    async def was_make_question(self, times: int) -> None:
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

    def __init__(self, moments: Moments, upstream: Upstream, *, shared: bool) -> None:
        self.cache, self.upstream = ResponseCache(moments, shared=shared), upstream

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
            moments = [RedisEphemeralStore(server.address) for _ in range(2)]
            await test(*(Replica(each, upstream, shared=True) for each in moments), upstream)  # type: ignore[call-arg]
            for each in moments:
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
        await upstream.was_make_question(1)
        upstream.body = b"new"
        await one.cache.purge("1")
        late = asyncio.create_task(one.get())  # asked after the change: does not share the old answer
        await upstream.was_make_question(2)
        upstream.gate.set()
        assert (await early)[0] == SECRET
        assert await late == (b"new", "MISS")
        assert (await two.get())[0] == b"new"

    replicas(test)


def test_equal_questions_at_once_are_asked_once_and_one_who_leaves_spoils_nothing(replicas: Run) -> None:
    async def test(one: Replica, two: Replica, upstream: Upstream) -> None:
        upstream.gate = asyncio.Event()
        asking = [asyncio.create_task(one.get()) for _ in range(20)]
        await upstream.was_make_question(1)
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
        moments = RedisEphemeralStore(server.address)
        replica = Replica(moments, Upstream(), shared=True)
        await replica.get(token="glpat-canary")
        await replica.cache.purge("1")
        await moments.close()

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
        moments = [RedisEphemeralStore(server.address) for _ in range(2)]
        one, two = (Replica(each, upstream, shared=True) for each in moments)
        await one.get()
        server.kill()
        upstream.body = b"new"
        await one.cache.purge("1")
        assert await one.get() == (b"new", "MISS"), "GitLab is asked while nobody can tell what was kept"
        server.start()
        assert await one.state("7") == "MISS"  # any question says it first
        assert (await two.get())[0] == b"new"
        for each in moments:
            await each.close()

    asyncio.run(main())
