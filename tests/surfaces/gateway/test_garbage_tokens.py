"""Ten thousand wrong GitLab tokens in the mode `pat`: bounded memory, few questions asked, no harm to others. S6."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from collections import Counter

import httpx2
import pytest

from postil.core.call import Caller
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.surfaces.gateway import gitlab_tokens
from postil.surfaces.gateway.addresses import read_lists
from postil.surfaces.gateway.auth import WrongCredential
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.gitlab_tokens import GitLabTokens
from postil.surfaces.gateway.limits import FAILURES
from postil.surfaces.gateway.refused import Refused
from tests.surfaces.gateway.fake_gitlab import fake_gitlab
from tests.surfaces.gateway.gateways import gateway_of
from tests.wire.http_client import request, running

MANY = 10_000
GOOD, OTHER = "glpat-good-token", "glpat-other-good-token"


def test_ten_thousand_wrong_tokens_from_one_address_are_refused_without_asking() -> None:
    addresses, _ = read_lists([], [], ["127.0.0.1"])
    body = json.dumps(request("echo", {"text": "x"})).encode()
    with fake_gitlab() as gitlab:
        gitlab.add(GOOD, 42, "api")
        gitlab.add(OTHER, 43, "api")
        way = GitLabTokens(gitlab.url, ("*",))
        with running(gateway_of(ways=[way], addresses=addresses, per_minute=0)) as server:
            connection = server.connect(60)

            def ask(token: str, address: str = "203.0.113.7") -> int:
                headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": address}
                connection.ask("POST", "/mcp", body, {"Content-Type": "application/json", **headers})
                return connection.answer().status

            assert ask(GOOD) == 200
            statuses = Counter(ask(f"glpat-garbage-{number}") for number in range(1_000))
            tracemalloc.start()
            statuses += Counter(ask(f"glpat-garbage-{number}") for number in range(1_000, MANY))
            grown, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert statuses == {401: FAILURES, 429: MANY - FAILURES}
            assert grown < 1_000_000, f"{grown} bytes are kept after {MANY} wrong tokens"
            asked = Counter(token for _, token in gitlab.asked)
            assert sum(asked.values()) == FAILURES + 1
            assert ask(GOOD) == 200  # known to be good, whatever else comes from there
            assert ask(OTHER, "203.0.113.8") == 200  # not yet known, from another address
            connection.close()


class Upstream:
    """A GitLab that counts how often it is asked about each token."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    def _answer(self, asked: httpx2.Request) -> httpx2.Response:
        token = asked.headers["authorization"].removeprefix("Bearer ")
        self.asked[token] += 1
        if token in (GOOD, OTHER):
            return httpx2.Response(200, json={"user_id": 42, "scopes": ["api"], "active": True})
        return httpx2.Response(401, json={"message": "401 Unauthorized"})


async def enter(gateway: Gateway, token: str, address: str) -> Caller | type[Exception]:
    try:
        return (await gateway.admit({b"authorization": f"Bearer {token}".encode()}, (address, 1))).caller
    except (WrongCredential, Refused) as refused:
        return type(refused)


def test_each_of_ten_thousand_tokens_from_many_addresses_is_asked_about_once_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def flood() -> None:
        now = time.monotonic()
        monkeypatch.setattr(gitlab_tokens.time, "monotonic", lambda: now)
        upstream = Upstream()
        way = GitLabTokens("https://gitlab.example.com", client=upstream.client)
        gateway = gateway_of(ways=[way], moments=MemoryEphemeralStore(lambda: now))
        assert isinstance(await enter(gateway, GOOD, "198.51.100.1"), Caller)
        tokens = [(f"glpat-garbage-{number}", f"10.0.{number // 2500}.{number // 10 % 250}") for number in range(MANY)]
        for _ in range(3):  # ten wrong ones from each address, thrice: not one more than an address may try
            for token, address in tokens:
                assert await enter(gateway, token, address) is WrongCredential
        assert upstream.asked.total() == MANY + 1
        assert set(upstream.asked.values()) == {1}
        assert way.remembered <= gitlab_tokens.MOST_REMEMBERED + 1
        assert isinstance(await enter(gateway, GOOD, tokens[0][1]), Caller)
        assert upstream.asked[GOOD] == 1  # the flood did not push out who is known
        assert await enter(gateway, OTHER, tokens[0][1]) is Refused  # that address has tried enough
        assert isinstance(await enter(gateway, OTHER, "198.51.100.2"), Caller)
        await upstream.client.aclose()

    asyncio.run(flood())


def test_more_tokens_than_are_remembered_push_out_no_good_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlab_tokens, "MOST_REMEMBERED", 100)

    async def flood() -> None:
        upstream = Upstream()
        way = GitLabTokens("https://gitlab.example.com", client=upstream.client)
        gateway = gateway_of(ways=[way])
        await enter(gateway, GOOD, "198.51.100.1")
        for number in range(1_000):
            await enter(gateway, f"glpat-garbage-{number}", f"10.1.{number // 100}.{number % 100}")
        assert way.remembered <= 101
        await enter(gateway, GOOD, "198.51.100.1")
        assert upstream.asked[GOOD] == 1
        await upstream.client.aclose()

    asyncio.run(flood())


def test_a_token_that_many_bring_at_once_is_asked_about_once() -> None:
    async def crowd() -> None:
        upstream = Upstream()
        gateway = gateway_of(ways=[GitLabTokens("https://gitlab.example.com", client=upstream.client)])
        came = await asyncio.gather(*(enter(gateway, GOOD, "198.51.100.1") for _ in range(200)))
        assert all(isinstance(one, Caller) for one in came)
        assert upstream.asked == {GOOD: 1}
        await upstream.client.aclose()

    asyncio.run(crowd())
