"""GitLab tokens as credentials: verified at GitLab, never kept."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import httpx2
import msgspec
import pytest

from postil.core.call import Caller
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.surfaces.gateway import gitlab_tokens
from postil.surfaces.gateway.addresses import read_lists
from postil.surfaces.gateway.auth import LocalToken, WrongCredential
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.gitlab_tokens import GitLabTokens, Verified
from postil.surfaces.gateway.quotas import FAILURES
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.visitor import Visitor
from tests.surfaces.gateway.fake_gitlab import FakeGitLab, fake_gitlab
from tests.surfaces.gateway.gateways import Clock, call, gateway_of, serving
from tests.surfaces.gateway.test_bounded_get import in_memory
from tests.wire.http_client import request, running


@pytest.fixture
def gitlab() -> Iterator[FakeGitLab]:
    with fake_gitlab() as gitlab:
        yield gitlab


def test_a_gitlab_token_is_verified_and_its_user_is_the_caller(gitlab: FakeGitLab) -> None:
    gitlab.add("glpat-good-token", 42, "api")
    with serving(GitLabTokens(gitlab.url)) as server:
        seen = call(server, "who", "glpat-good-token").json()["result"]
        host = gitlab.url.removeprefix("http://")
        assert seen == {"principal": f"gitlab:{host}:42", "credential": "glpat-good-token"}
        assert call(server, "who", "glpat-bad-token").status == 401
        assert call(server, "who", "glpat-good-token").status == 200
    assert [token for _, token in gitlab.asked] == ["glpat-good-token", "glpat-bad-token"]  # once each


def test_a_revoked_token_stops_working_within_a_minute(gitlab: FakeGitLab, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gitlab_tokens.REMEMBERED <= 60
    monkeypatch.setattr(gitlab_tokens, "REMEMBERED", 0.0)
    gitlab.add("glpat-good-token", 42, "api")
    with serving(GitLabTokens(gitlab.url)) as server:
        assert call(server, "who", "glpat-good-token").status == 200
        gitlab.tokens["glpat-good-token"]["revoked"] = True
        assert call(server, "who", "glpat-good-token").status == 401


def test_where_gitlab_does_not_know_its_own_tokens_the_user_is_asked_for(gitlab: FakeGitLab) -> None:
    gitlab.knows_self = False
    gitlab.add("oauth-access-token", 7)
    with serving(GitLabTokens(gitlab.url)) as server:
        assert call(server, "who", "oauth-access-token").json()["result"]["principal"].endswith(":7")


@pytest.mark.parametrize("status", [500, 502, 429])
def test_a_gitlab_that_cannot_answer_refuses_nobody_for_good(gitlab: FakeGitLab, status: int) -> None:
    gitlab.status = status
    gitlab.add("glpat-good-token", 42, "api")
    with serving(GitLabTokens(gitlab.url)) as server:
        answer = call(server, "who", "glpat-good-token")
        assert (answer.status, answer.json()["error"]["data"]["status"]) == (503, 503)
        assert answer.headers["retry-after"] == "5"
        gitlab.status = 200
        assert call(server, "who", "glpat-good-token").status == 200


def test_an_unreachable_gitlab_is_503() -> None:
    with serving(GitLabTokens("http://127.0.0.1:1")) as server:
        answer = call(server, "who", "glpat-good-token")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize("token", ["short", "with space in it", "../../etc/passwd?x", "x" * 2000, "a\tb-tokentoken"])
def test_what_cannot_be_a_token_is_never_sent_anywhere(gitlab: FakeGitLab, token: str) -> None:
    with serving(GitLabTokens(gitlab.url)) as server:
        assert call(server, "who", token).status == 401
    assert gitlab.asked == []


def test_a_gitlab_user_is_not_by_that_alone_a_user_of_this_workspace(gitlab: FakeGitLab) -> None:
    gitlab.add("glpat-alice-1", 1, "api", username="alice")
    gitlab.add("glpat-carol-3", 3, "api", username="carol")
    with serving(LocalToken("local"), GitLabTokens(gitlab.url, ("alice", "id:9"))) as server:
        assert call(server, "count", "local").json()["result"]
        assert call(server, "count", "glpat-alice-1").json()["result"]
        assert call(server, "count", "glpat-carol-3").json()["error"]["code"] == -32601
        assert call(server, "who", "glpat-carol-3").status == 200
        tools = call(server, "tools/list", "glpat-carol-3").json()["result"]["tools"]
        assert {tool["name"] for tool in tools} == {"who", "create_thing"}
        assert call(server, "resources/list", "glpat-carol-3").json()["result"]["resources"] == []
        assert call(server, "prompts/list", "glpat-carol-3").json()["result"]["prompts"] == []


def test_a_token_that_may_only_read_sees_no_writes_and_is_told_the_scope(gitlab: FakeGitLab) -> None:
    gitlab.add("glpat-reader-1", 1, "read_api")
    with serving(GitLabTokens(gitlab.url)) as server:
        tools = call(server, "tools/list", "glpat-reader-1").json()["result"]["tools"]
        assert {tool["name"] for tool in tools} == {"who"}
        refused = call(server, "create_thing", "glpat-reader-1")
        assert (refused.status, refused.json()["error"]["code"]) == (403, -32000)
        assert 'error="insufficient_scope", scope="api"' in refused.headers["www-authenticate"]
        batch = server.post([request("create_thing")], Authorization="Bearer glpat-reader-1")
        assert batch.json()[0]["error"]["code"] == -32601


def test_a_session_of_one_user_is_unknown_to_another(gitlab: FakeGitLab) -> None:
    gitlab.add("glpat-alice-1", 1, "api")
    gitlab.add("glpat-carol-3", 3, "api")
    params: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
    with serving(GitLabTokens(gitlab.url)) as server:
        opened = server.post(request("initialize", params), Authorization="Bearer glpat-alice-1")
        session = opened.headers["mcp-session-id"]
        mine = server.in_session(session, request("ping"), Authorization="Bearer glpat-alice-1")
        theirs = server.in_session(session, request("ping"), Authorization="Bearer glpat-carol-3")
        assert (mine.status, theirs.status) == (200, 404)


MANY, OF_ONE = 10_000, 3_000
"""Wrong tokens from many addresses, more than are remembered; and from one."""
GOOD, OTHER = "glpat-good-token", "glpat-other-good-token"


def test_thousands_of_wrong_tokens_from_one_address_are_refused_without_asking() -> None:
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
            statuses += Counter(ask(f"glpat-garbage-{number}") for number in range(1_000, OF_ONE))
            grown, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert statuses == {401: FAILURES, 429: OF_ONE - FAILURES}
            assert grown < 200_000, f"{grown} bytes are kept after {OF_ONE} wrong tokens"
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
            return in_memory(200, b'{"user_id": 42, "scopes": ["api"], "active": true}')
        return in_memory(401, b'{"message": "401 Unauthorized"}')


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
        gateway = gateway_of(ways=[way], ephemeral=MemoryEphemeralStore(lambda: now))
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


# -- what GitLab says, without a server -------------------------------------------------------------------------------

SELF, USER = "/personal_access_tokens/self", "/user"


class Answers:
    """A GitLab that answers each path with a status and a document, and notes what it was asked."""

    def __init__(self, **pages: tuple[int, object]) -> None:
        self.pages: dict[str, tuple[int, object]] = {"token": (404, {}), "user": (404, {}), **pages}
        self.asked: list[str] = []
        self.cookies: dict[str, str] = {"_session": "of somebody"}

    def build_request(self, method: str, url: str, headers: dict[str, str]) -> str:
        assert headers["authorization"].startswith("Bearer ")
        return url

    async def send(self, url: str, stream: bool) -> httpx2.Response:
        path = url.removeprefix("https://gitlab.example/api/v4")
        self.asked.append(path)
        status, document = self.pages["token" if path == SELF else "user"]
        content = document if isinstance(document, bytes) else msgspec.json.encode(document)
        return in_memory(status, content)


def tokens(answers: Answers, members: tuple[str, ...] = ()) -> GitLabTokens:
    return GitLabTokens("https://gitlab.example/", members, client=cast(Any, answers))


async def always() -> None:
    return


def identify(asked: GitLabTokens, bearer: str = "glpat-good-token") -> Visitor | None:
    return asyncio.run(asked.identify(bearer, {}, always))


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_gitlab_refuses_is_nobodys(status: int) -> None:
    answers = Answers(token=(status, {}), user=(200, {"id": 7}))
    assert identify(tokens(answers)) is None
    assert answers.asked == [SELF]
    assert identify(tokens(Answers(user=(status, {})))) is None


@pytest.mark.parametrize("said", [{}, {"id": "7"}, [], b"<html>", {"id": None}, b'{"id":"\xff"}', b"[" * 9_999])
def test_a_gitlab_that_does_not_say_whose_token_it_is_is_asked_again_later(said: object) -> None:
    with pytest.raises(Unavailable) as refused:
        identify(tokens(Answers(user=(200, said))))
    assert refused.value.headers == [(b"retry-after", b"5")]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_gitlab_in_trouble_says_nothing_about_a_token(status: int) -> None:
    with pytest.raises(Unavailable):
        identify(tokens(Answers(token=(status, {"user_id": 7}), user=(200, {"id": 7}))))


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ({"user_id": 7}, True),
        ({"user_id": 7, "active": True, "revoked": False}, True),
        ({"user_id": 7, "active": False}, False),
        ({"user_id": 7, "revoked": True}, False),
    ],
)
def test_a_token_that_is_revoked_or_not_active_is_nobodys(said: object, known: bool) -> None:
    assert (identify(tokens(Answers(token=(200, said)))) is not None) is known


@pytest.mark.parametrize(
    ("said", "writes"),
    [({}, True), ({"scopes": ["api"]}, True), ({"scopes": ["read_api"]}, False), ({"scopes": "api"}, True)],
)
def test_a_token_may_write_unless_gitlab_says_that_it_may_not(said: dict[str, object], writes: bool) -> None:
    found = identify(tokens(Answers(token=(200, {"user_id": 7, **said}))))
    assert found is not None
    assert (found.view.writes, found.needs) == (writes, "" if writes else "api")


@pytest.mark.parametrize(
    ("members", "workspace", "asked"),
    [
        ((), False, [SELF]),
        (("*",), True, [SELF]),
        (("alice",), True, [SELF, USER]),
        (("bob",), False, [SELF, USER]),
        (("id:7",), True, [SELF, USER]),
    ],
)
def test_a_name_is_asked_for_only_where_members_are_named(
    members: tuple[str, ...], workspace: bool, asked: list[str]
) -> None:
    answers = Answers(token=(200, {"user_id": 7}), user=(200, {"id": 7, "username": "alice"}))
    found = identify(tokens(answers, members))
    assert found is not None
    assert (found.view.workspace, answers.asked) == (workspace, asked)
    assert found.caller.principal == "gitlab:gitlab.example:7"
    assert answers.cookies == {}, "no session of one token is carried to another"


def test_a_token_that_may_not_ask_for_its_user_is_still_its_users() -> None:
    answers = Answers(token=(200, {"user_id": 7}), user=(403, {}))
    found = identify(tokens(answers, ("alice",)))
    assert found is not None
    assert found.caller.principal.endswith(":7")
    assert not found.view.workspace


def test_a_verdict_is_remembered_for_a_minute_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(gitlab_tokens, "time", clock)
    answers = Answers(token=(200, {"user_id": 7}))
    asked = tokens(answers)
    assert identify(asked) is not None
    answers.pages["token"] = (401, {})
    clock.now += gitlab_tokens.REMEMBERED - 0.001
    assert identify(asked) is not None
    clock.now += 0.001
    assert identify(asked) is None
    answers.pages["token"] = (200, {"user_id": 7})
    clock.now += gitlab_tokens.REMEMBERED - 0.001
    assert identify(asked) is None
    assert asked.asked == 2
    clock.now += 0.001
    assert identify(asked) is not None
    assert (asked.asked, asked.remembered) == (3, 1)


def test_a_token_that_was_good_is_asked_about_whatever_else_its_address_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(gitlab_tokens, "time", clock)
    attempts: list[str] = []

    async def attempt() -> None:
        attempts.append("asked")

    asked = tokens(Answers(token=(200, {"user_id": 7})))
    for _ in range(2):
        assert asyncio.run(asked.identify("glpat-good-token", {}, attempt)) is not None
        clock.now += gitlab_tokens.REMEMBERED
    assert attempts == ["asked"]


def test_who_gives_a_token_at_the_page_is_verified_with_their_name_and_not_remembered() -> None:
    answers = Answers(token=(200, {"user_id": 7}), user=(200, {"id": 7, "username": "alice"}))
    asked = tokens(answers)
    assert asyncio.run(asked.verified("glpat-good-token")) == Verified(7, "alice")
    assert asked.remembered == 0
    assert asyncio.run(asked.verified("short")) is None


def test_neither_a_redirect_nor_a_proxy_of_the_environment_sees_a_token(gitlab: FakeGitLab) -> None:
    gitlab.add("glpat-good-token", 42, "api")
    asked = GitLabTokens(gitlab.url)
    assert identify(asked) is not None
    client = vars(asked)["_client"]
    assert (client.follow_redirects, client.trust_env) == (False, False)


def test_the_oldest_verdicts_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlab_tokens, "MOST_REMEMBERED", 2)
    asked = tokens(Answers(token=(200, {"user_id": 7})))
    for name in ("a", "b", "c", "a"):
        identify(asked, f"glpat-{name}-token")
    assert (asked.asked, asked.remembered) == (4, 2)
    identify(asked, "glpat-c-token")
    assert asked.asked == 4


def test_only_the_callers_whom_the_operator_names_are_let_in(gitlab: FakeGitLab) -> None:
    gitlab.add("glpat-alice-token", 1, "api", username="alice")
    gitlab.add("glpat-bob-of-ours", 2, "api", username="bob")
    gitlab.add("glpat-eve-of-none", 3, "api", username="eve")
    gitlab.add("glpat-by-number-1", 4, "api", username="dave")
    gitlab.groups["our%2Fteam"] = {2}
    with serving(GitLabTokens(gitlab.url, callers=("alice", "group:our/team", "id:4"))) as server:
        for token in ("glpat-alice-token", "glpat-bob-of-ours", "glpat-by-number-1"):
            assert call(server, "who", token).status == 200
        for _ in range(2):
            refused = call(server, "who", "glpat-eve-of-none")
            assert refused.status == 403
            assert "http.callers" in refused.json()["error"]["message"]
    with serving(GitLabTokens(gitlab.url)) as server:
        assert call(server, "who", "glpat-eve-of-none").status == 200


def test_gitlab_is_asked_through_the_proxy(gitlab: FakeGitLab) -> None:
    gitlab.add("glpat-good-token", 42, "api")
    ways = GitLabTokens("http://gitlab.invalid", proxy=gitlab.url)
    with serving(ways) as server:
        assert call(server, "who", "glpat-good-token").status in (200, 503)
    assert [path for path, _ in gitlab.asked][:1] == ["http://gitlab.invalid/api/v4/personal_access_tokens/self"]
