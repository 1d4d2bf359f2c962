"""Whose credential this is: GitLab tokens, our own keys, OAuth; and what each of them may see."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from postil.core.call import current
from postil.core.operation import reads, writes
from postil.settings.model import OAuthSettings
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.memory import MemoryState
from postil.storage.redis_connection import StateAway
from postil.surfaces.gateway import access_keys, gitlab_tokens, oauth
from postil.surfaces.gateway.access_keys import AccessKeys, KeyExists, NoSuchKey
from postil.surfaces.gateway.auth import Authenticator, LocalToken
from postil.surfaces.gateway.gitlab_tokens import GitLabTokens
from postil.surfaces.gateway.oauth import OAuthTokens
from postil.surfaces.gateway.signatures import Policy, Signatures, signature
from tests.surfaces.gateway.fake_gitlab import FakeGitLab, fake_gitlab
from tests.surfaces.gateway.gateways import gateway_of
from tests.wire.http_client import Running, request, running

SECRET = b"k" * 32
SIGNING = b"the shared secret of the team"


class Seen(msgspec.Struct, frozen=True):
    principal: str
    credential: str


class GitLabPart:
    """A part of the name that the gateway knows."""

    @reads("who")
    async def who(self) -> Seen:
        """Say who calls"""
        caller = current().caller
        return Seen(caller.principal, caller.credential)

    @writes("create_thing")
    async def create(self) -> Seen:
        """Change GitLab"""
        return Seen("", "")


@pytest.fixture
def gitlab() -> Iterator[FakeGitLab]:
    with fake_gitlab() as gitlab:
        yield gitlab


def call(server: Running, method: str, token: str, **headers: Any) -> Any:
    return server.post(request(method), Authorization=f"Bearer {token}", **headers)


def serving(*ways: Authenticator) -> Any:
    return running(gateway_of(ways=ways), gitlab=GitLabPart())


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
        assert "retry-after" in answer.headers
        gitlab.status = 200
        assert call(server, "who", "glpat-good-token").status == 200


def test_an_unreachable_gitlab_is_503() -> None:
    with serving(GitLabTokens("http://127.0.0.1:1")) as server:
        assert call(server, "who", "glpat-good-token").status == 503


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


# -- access keys ------------------------------------------------------------------------------------------------------


def made(state: MemoryState, name: str = "ci", **given: Any) -> str:
    given = {"workspace": False, "read_only": False, "gitlab_token": "", **given}
    return access_keys.create(state, name, secret=lambda: SECRET, **given)


def test_a_key_works_until_it_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_keys, "REMEMBERED", 0.0)
    state = MemoryState()
    key = made(state, gitlab_token="glpat-of-the-team")
    with serving(AccessKeys(state, lambda: SECRET)) as server:
        assert call(server, "who", key).json()["result"]["credential"] == "glpat-of-the-team"
        assert call(server, "who", key[:-1] + ("A" if key[-1] != "A" else "B")).status == 401
        brought = call(server, "who", key, PRIVATE_TOKEN="glpat-my-own").json()["result"]
        assert brought["credential"] == "glpat-my-own"
        assert call(server, "count", key).json()["error"]["code"] == -32601
        access_keys.revoke(state, "ci")
        assert call(server, "who", key).status == 401


def test_while_the_state_is_away_known_keys_go_on_and_others_are_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access_keys, "REMEMBERED", 0.0)
    state = MemoryState()
    known, unknown = made(state, "known"), made(state, "unknown")
    with serving(AccessKeys(state, lambda: SECRET)) as server:
        assert call(server, "who", known).status == 200
        monkeypatch.setattr(state, "reading", away)
        assert [call(server, "who", key).status for key in (known, unknown)] == [200, 503]


def away() -> None:
    raise StateAway("gone")


def test_neither_the_key_nor_its_credential_is_stored_in_the_clear() -> None:
    state = MemoryState()
    key = made(state, gitlab_token="glpat-of-the-team")
    with state.reading() as records:
        stored = b"".join(value for _, value in records.range(access_keys.SPACE))
    assert key.rpartition("_")[2].encode() not in stored
    assert b"glpat" not in stored
    other = AccessKeys(state, lambda: b"x" * 32)
    with serving(other) as server:
        assert call(server, "who", key).json()["result"]["credential"] == ""


def test_a_name_is_used_once_and_an_unknown_one_is_told() -> None:
    state = MemoryState()
    made(state)
    with pytest.raises(KeyExists):
        made(state)
    with pytest.raises(NoSuchKey):
        access_keys.revoke(state, "nobody")
    assert [key.name for key in access_keys.list_keys(state)] == ["ci"]


def signed(body: bytes, age: float = 0) -> dict[str, str]:
    stamp = str(int(time.time() - age))
    made = signature(SIGNING, b".".join((stamp.encode(), b"", body)))
    return {"X_MCP_Signature": made.decode(), "X_MCP_Timestamp": stamp}


@pytest.mark.parametrize("policy", ["off", "optional"])
def test_a_key_may_demand_signatures_where_the_server_does_not(policy: Policy) -> None:
    state = MemoryState()
    strict, other = made(state, "strict", must_sign=True), made(state, "other")
    guard = gateway_of(ways=[AccessKeys(state, lambda: SECRET)])
    guard.signatures = Signatures(policy, [SIGNING], MemoryEphemeralStore().first)
    body = msgspec.json.encode(request("who"))
    plain = {"X_MCP_Signature": signature(SIGNING, body).decode()}
    with running(guard, gitlab=GitLabPart()) as server:

        def status(key: str, **headers: str) -> int:
            head = {"Content_Type": "application/json", "Authorization": f"Bearer {key}", **headers}
            return server.ask("POST", "/mcp", body, **head).status

        assert status(other) == 200
        assert status(strict) == 401
        assert status(strict, **plain) == 401  # it could be replayed for ever
        assert status(strict, **signed(body, age=400)) == 401
        assert status(strict, **signed(body + b" ")) == 401
        right = signed(body)
        assert status(strict, **right) == 200
        assert status(strict, **right) == 401  # made before


def test_where_signing_is_demanded_streams_ends_and_metrics_are_signed_too() -> None:
    state = MemoryState()
    key = made(state, must_sign=True)
    guard = gateway_of(ways=[AccessKeys(state, lambda: SECRET)])
    guard.signatures = Signatures("optional", [SIGNING], MemoryEphemeralStore().first)
    bearer = {"Authorization": f"Bearer {key}"}
    with running(guard, gitlab=GitLabPart()) as server:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        body = msgspec.json.encode(request("initialize", params))
        first = server.ask("POST", "/mcp", body, Content_Type="application/json", **bearer, **signed(body))
        session = first.headers["mcp-session-id"]
        head = {**bearer, "Mcp_Session_Id": session, "Accept": "text/event-stream"}
        right = signed(f"DELETE /mcp {session}".encode())
        wrong = [
            {},
            signed(b""),  # the same for every request without a body
            signed(f"GET /mcp {session}".encode()),
            signed(b"DELETE /mcp another-session"),
            signed(f"DELETE /mcp {session}".encode(), age=400),
            {"X_MCP_Signature": signature(SIGNING, f"DELETE /mcp {session}".encode()).decode()},  # without a time
        ]
        assert [server.ask("DELETE", "/mcp", b"", **head, **given).status for given in wrong] == [401] * len(wrong)
        assert server.ask("GET", "/mcp", b"", **head).status == 401
        assert [server.ask("DELETE", "/mcp", b"", **head, **right).status for _ in range(2)] == [204, 401]
        assert server.ask("GET", "/metrics", b"", **bearer).status == 401
        assert server.ask("GET", "/metrics", b"", **bearer, **signed(b"GET /metrics ")).status == 200


def test_a_key_that_demands_signatures_opens_nothing_where_no_secret_is_known() -> None:
    state = MemoryState()
    key = made(state, must_sign=True)
    with serving(AccessKeys(state, lambda: SECRET)) as server:
        assert call(server, "who", key, X_MCP_Signature="sha256=00").status == 403


# -- OAuth ------------------------------------------------------------------------------------------------------------

RESOURCE = "https://postil.example.org/mcp"
PRIVATE = ec.generate_private_key(ec.SECP256R1())


def issued(issuer: str, key: Any = PRIVATE, algorithm: str = "ES256", **claims: Any) -> str:
    whole = {"iss": issuer, "aud": RESOURCE, "sub": "alice", "exp": time.time() + 60, "scope": "mcp", **claims}
    return jwt.encode(
        {name: value for name, value in whole.items() if value is not None}, key, algorithm, {"kid": "k1"}
    )


@pytest.fixture
def issuer(gitlab: FakeGitLab) -> str:
    public: dict[str, Any] = ECAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True)
    pages: dict[str, dict[str, Any]] = {
        "/.well-known/oauth-authorization-server": {"issuer": gitlab.url, "jwks_uri": f"{gitlab.url}/keys"},
        "/keys": {"keys": [{**public, "kid": "k1"}, {"kty": "odd", "kid": "k2"}]},
    }
    gitlab.answer = lambda path, bearer: (200, pages[path]) if path in pages else (404, {})  # type: ignore[method-assign]
    return gitlab.url


def test_only_tokens_issued_for_this_server_are_taken(issuer: str) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    settings = OAuthSettings(issuer=issuer, resource=RESOURCE, scopes=("mcp",))
    with serving(OAuthTokens(settings)) as server:
        seen = call(server, "who", issued(issuer)).json()["result"]
        assert seen == {"principal": f"oauth:{issuer}:alice", "credential": ""}
        for wrong in (
            issued(issuer, aud="https://other.example/mcp"),
            issued(issuer, aud=None),
            issued("https://evil.example"),
            issued(issuer, exp=time.time() - 3600),
            issued(issuer, exp=None),
            issued(issuer, sub=None),
            issued(issuer, key=other),
            issued(issuer, key="x" * 32, algorithm="HS256"),
            jwt.encode({"iss": issuer, "aud": RESOURCE, "sub": "a", "exp": time.time() + 60}, "", "none"),
            "not.a.jwt",
        ):
            assert call(server, "who", wrong).status == 401, wrong
        lacking = call(server, "who", issued(issuer, scope="openid"))
        assert lacking.status == 403
        assert 'error="insufficient_scope", scope="mcp"' in lacking.headers["www-authenticate"]


def test_the_metadata_names_the_issuer() -> None:
    document = msgspec.json.decode(oauth.metadata(OAuthSettings(issuer="https://id.example", resource=RESOURCE)))
    assert (document["resource"], document["authorization_servers"]) == (RESOURCE, ["https://id.example"])
    expected = "https://postil.example.org/.well-known/oauth-protected-resource/mcp"
    assert oauth.metadata_url(RESOURCE) == expected
