"""OAuth users give their GitLab token at a page of ours: real server, real SDK, a GitLab, and an issuer."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import jwt
import mcp_types as types
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from postil.core.call import Caller
from postil.settings.model import GitLabSettings, OAuthSettings
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.storage.failures import StateFull
from postil.storage.memory import MemoryState
from postil.surfaces.gateway import gitlab_link
from postil.surfaces.gateway.addresses import Addresses, read_lists
from postil.surfaces.gateway.gitlab_tokens import Verified
from postil.surfaces.gateway.refused import Refused
from tests.emulator.app import Emulator
from tests.emulator.server import running as emulating
from tests.emulator.world import DEVELOPER, STRANGER
from tests.surfaces.gateway.fake_gitlab import fake_gitlab
from tests.surfaces.gateway.gateways import Clock
from tests.surfaces.served import Served, serve_http

PRIVATE = ec.generate_private_key(ec.SECP256R1())
LIST: dict[str, Any] = {"jsonrpc": "2.0", "method": "list_projects", "params": {}, "id": 1}


class Team:
    """A server in the mode `oauth`, and what its users need."""

    def __init__(self, server: Served, issuer: str, state: Path) -> None:
        self.server, self.issuer, self.state = server, issuer, state

    def bearer(self, **claims: Any) -> str:
        whole = {"iss": self.issuer, "aud": self.server.url, "sub": "u-1", "exp": time.time() + 60, **claims}
        return jwt.encode(whole, PRIVATE, "ES256", {"kid": "k1"})

    def link(self, bearer: str) -> str:
        """What a client that cannot open addresses is told."""
        _, said = self.server.ask(LIST, bearer)
        assert said["error"]["data"]["status"] == 401
        found = re.search(r"open (\S+) in a browser", said["error"]["data"]["suggestion"])
        return found[1] if found else ""

    def give(self, link: str, token: str, **headers: str) -> tuple[int, str]:
        """What a person's browser sends."""
        fields = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)
        body = urllib.parse.urlencode({"request": fields["request"][0], "token": token}).encode()
        origin = self.server.url.removesuffix("/mcp")
        sent = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded", **headers}
        return opened(urllib.request.Request(link.partition("?")[0], body, sent))


def opened(asked: urllib.request.Request | str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


@pytest.fixture
def emulator() -> Emulator:
    return Emulator()


@pytest.fixture
def team(emulator: Emulator, repository: Path, tmp_path: Path) -> Iterator[Team]:
    with fake_gitlab() as issuer, emulating(emulator) as gitlab:
        public: dict[str, Any] = ECAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True)
        pages: dict[str, dict[str, Any]] = {
            "/.well-known/oauth-authorization-server": {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"},
            "/keys": {"keys": [{**public, "kid": "k1"}]},
        }
        issuer.answer = lambda path, bearer: (200, pages[path]) if path in pages else (404, {})
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        resource = f"http://127.0.0.1:{port}/mcp"
        config = tmp_path / "oauth.toml"
        config.write_text(f'[oauth]\nissuer = "{issuer.url}"\nresource = "{resource}"\n')
        state = tmp_path / "state"
        environ = {"GITLAB_URL": gitlab, "POSTIL_CONFIG": str(config), "XDG_STATE_HOME": str(state)}
        with serve_http(repository, "--auth", "oauth", "--http", f"127.0.0.1:{port}", **environ) as server:
            yield Team(server, issuer.url, state)


@pytest.fixture
def developer(emulator: Emulator) -> str:
    """The name of the GitLab user whose token DEVELOPER is."""
    return str(emulator.world.users[456]["username"])


def test_who_gives_a_token_at_the_page_is_connected(team: Team, developer: str) -> None:
    bearer = team.bearer(preferred_username=developer)
    link = team.link(bearer)
    status, page = opened(link)
    assert (status, developer in page, "form" in page) == (200, True, True)
    status, page = team.give(link, DEVELOPER)
    assert (status, "Connected" in page) == (200, True)
    _, said = team.server.ask(LIST, bearer)
    assert said["result"]["projects"]
    kept = b"".join(path.read_bytes() for path in team.state.rglob("*") if path.is_file())
    assert b"gitlab-tokens" in kept
    assert DEVELOPER.encode() not in kept
    other = team.bearer(preferred_username=developer, sub="u-2")
    assert team.link(other), "another user is not connected by that"


def test_a_lured_person_cannot_give_their_token_to_another(team: Team, developer: str) -> None:
    attacker = team.bearer(preferred_username="mallory", sub="m")
    link = team.link(attacker)
    status, page = team.give(link, DEVELOPER)
    assert (status, "not one of the GitLab user mallory" in page) == (403, True)
    assert team.link(attacker), "nothing was kept"
    mine = team.link(team.bearer(preferred_username=developer))
    assert team.give(mine, "glpat-nobody-knows-it")[0] == 403
    assert team.give(mine, STRANGER)[0] == 403
    assert team.give(mine, DEVELOPER, Origin="https://evil.example")[0] == 403


def test_a_forged_or_cut_link_opens_nothing(team: Team, developer: str) -> None:
    link = team.link(team.bearer(preferred_username=developer))
    for forged in (link[:-8], link.partition("?")[0], link.partition("=")[0] + "=AAAA", link + "%FF"):
        status, page = opened(forged)
        assert (status, "<form" in page) == (400, False)
    headers = urllib.request.urlopen(link, timeout=20).headers  # the page cannot be framed, kept, or made to run code
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"


def test_without_a_claim_that_names_the_gitlab_user_no_link_is_given(team: Team) -> None:
    _, said = team.server.ask(LIST, team.bearer())
    assert (said["error"]["data"]["status"], "PRIVATE-TOKEN" in said["error"]["data"]["suggestion"]) == (401, True)
    assert team.link(team.bearer()) == ""


def test_the_metadata_tells_where_to_get_a_token(team: Team) -> None:
    refused, _ = team.server.ask(LIST, "")
    where = re.search(r'resource_metadata="([^"]+)"', refused.headers["WWW-Authenticate"])
    assert where is not None
    document = json.loads(opened(where[1])[1])
    assert (document["resource"], document["authorization_servers"]) == (team.server.url, [team.issuer])


async def visit(team: Team, bearer: str, mode: str, **handlers: Any) -> types.CallToolResult | MCPError:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {bearer}"}, timeout=20) as http:
        transport = streamable_http_client(team.server.url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=20, **handlers) as client:
            try:
                return await client.call_tool("list_projects", {})
            except MCPError as refused:
                return refused


@pytest.mark.judge
def test_a_stateless_client_opens_the_page_and_goes_on(team: Team, developer: str) -> None:
    asked: list[str] = []

    async def open_page(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        asked.append(params.url)
        await asyncio.to_thread(team.give, params.url, DEVELOPER)
        return types.ElicitResult(action="accept")

    bearer = team.bearer(preferred_username=developer)
    result = asyncio.run(visit(team, bearer, "2026-07-28", elicitation_callback=open_page))
    assert isinstance(result, types.CallToolResult)
    assert (result.is_error, len(asked)) == (False, 1)


@pytest.mark.judge
def test_a_stateless_client_whose_person_declines_hears_what_is_missing(team: Team, developer: str) -> None:
    async def decline(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    bearer = team.bearer(preferred_username=developer)
    result = asyncio.run(visit(team, bearer, "2026-07-28", elicitation_callback=decline))
    assert isinstance(result, types.CallToolResult)
    assert (result.is_error, "/connect/gitlab" in str(result.content)) == (True, True)


@pytest.mark.judge
def test_a_client_of_2025_11_25_is_given_the_address_by_the_error_for_it(team: Team, developer: str) -> None:
    async def never(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        raise AssertionError("the error says it all")

    bearer = team.bearer(preferred_username=developer)
    refused = asyncio.run(visit(team, bearer, "legacy", elicitation_callback=never))
    assert isinstance(refused, MCPError)
    assert refused.error.code == -32042
    needed = types.ElicitationRequiredErrorData.model_validate(refused.error.data)
    assert "/connect/gitlab?request=" in needed.elicitations[0].url


@pytest.mark.judge
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_that_opens_no_addresses_hears_where_to_go(team: Team, developer: str, mode: str) -> None:
    result = asyncio.run(visit(team, team.bearer(preferred_username=developer), mode))
    assert isinstance(result, types.CallToolResult)
    assert (result.is_error, "/connect/gitlab" in str(result.content)) == (True, True)


# -- links, without a server ------------------------------------------------------------------------------------------

SECRET = b"s" * 32


def links(state: MemoryState | None = None, issuer: str = "https://id.example") -> gitlab_link.GitLabLinks:
    settings = OAuthSettings(issuer=issuer, resource="https://postil.example/mcp")
    return gitlab_link.GitLabLinks(settings, "https://gitlab.example", state or MemoryState(), lambda: SECRET)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(gitlab_link, "time", clock)
    return clock


def sealed_in(address: str) -> str:
    return urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["request"][0]


def test_a_link_that_expires_exactly_now_is_expired(clock: Clock) -> None:
    one = links()
    asyncio.run(one.token_of("oauth:x", {"preferred_username": "alice"}))
    sealed = sealed_in(one.address_for(Caller("oauth:x")))
    clock.now += gitlab_link.LIFETIME - 0.001
    found = one.request(sealed)
    assert found is not None
    assert (found.principal, found.username) == ("oauth:x", "alice")
    clock.now += 0.001
    assert one.request(sealed) is None


def test_a_link_is_for_the_caller_and_nobody_else() -> None:
    one = links()
    asyncio.run(one.token_of("oauth:x", {"preferred_username": "alice"}))
    assert one.address_for(Caller("oauth:y")) == ""
    assert one.address_for(Caller("oauth:x")).startswith("https://postil.example/connect/gitlab?request=")


@pytest.mark.parametrize("claims", [{}, {"preferred_username": 5}, {"preferred_username": ""}])
def test_without_a_name_there_is_no_link(claims: dict[str, Any]) -> None:
    one = links()
    asyncio.run(one.token_of("oauth:x", claims))
    assert one.address_for(Caller("oauth:x")) == ""


def test_where_gitlab_itself_is_the_issuer_the_number_decides() -> None:
    one = links(issuer="https://gitlab.example/oauth")
    asyncio.run(one.token_of("oauth:x", {"sub": "7", "preferred_username": "mallory"}))
    expected = one.request(sealed_in(one.address_for(Caller("oauth:x"))))
    assert expected is not None
    assert expected.is_met_by(Verified(7, "alice"))
    assert not expected.is_met_by(Verified(8, "mallory"))
    assert expected.shown() == "number 7"


def test_a_name_is_met_whatever_its_case_and_an_empty_one_by_nobody() -> None:
    assert gitlab_link.Expected("p", username="Alice").is_met_by(Verified(1, "alice"))
    assert not gitlab_link.Expected("p", username="alice").is_met_by(Verified(1, "alicia"))
    assert not gitlab_link.Expected("p").is_met_by(Verified(1, ""))


def test_a_kept_token_is_remembered_for_five_seconds_and_a_missing_one_not_at_all(clock: Clock) -> None:
    state = MemoryState()
    one, other = links(state), links(state)

    def token() -> str:
        return asyncio.run(one.token_of("oauth:x", {}))

    assert token() == ""
    other.keep("oauth:x", "glpat-first")
    assert token() == "glpat-first"
    other.keep("oauth:x", "glpat-second")
    clock.now += gitlab_link.REMEMBERED - 0.001
    assert token() == "glpat-first"
    clock.now += 0.001
    assert token() == "glpat-second"
    one.keep("oauth:x", "glpat-third")
    assert token() == "glpat-third"


def test_a_state_that_is_away_is_a_missing_token(monkeypatch: pytest.MonkeyPatch) -> None:
    state = MemoryState()
    one = links(state)
    one.keep("oauth:x", "glpat-first")

    def away() -> None:
        raise StateFull("state.db")

    monkeypatch.setattr(state, "reading", away)
    assert asyncio.run(one.token_of("oauth:x", {})) == ""


@pytest.mark.parametrize("sealed", ["", "x", "%%%", "AAAA", "é"])
def test_what_is_no_link_opens_nothing(sealed: str) -> None:
    assert links().request(sealed) is None


async def ask(page: gitlab_link.ConnectPage, method: str, form: bytes = b"", client: str = "") -> int:
    """The status that the page answers."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": form, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": method, "path": gitlab_link.PATH}
    await page({**scope, "client": (client, 1) if client else None}, {}, receive, send)
    return sent[0]["status"]


def test_a_page_is_tried_ten_times_a_minute_for_one_person() -> None:
    one = links()
    asyncio.run(one.token_of("oauth:x", {"preferred_username": "alice"}))
    sealed = sealed_in(one.address_for(Caller("oauth:x")))
    page = gitlab_link.ConnectPage(one, GitLabSettings(), MemoryEphemeralStore(), Addresses([], [], []))
    form = urllib.parse.urlencode({"request": sealed, "token": "odd"}).encode()

    async def tries() -> list[int]:
        return [await ask(page, "POST", form) for _ in range(11)]

    assert asyncio.run(tries()) == [403] * 10 + [429]


def test_of_the_people_who_may_ask_for_a_link_the_least_recent_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlab_link, "MOST_KNOWN", 2)
    one = links()
    for principal in ("a", "b", "a", "c"):
        asyncio.run(one.token_of(principal, {"preferred_username": principal}))
    assert [bool(one.address_for(Caller(principal))) for principal in ("a", "b", "c")] == [True, False, True]


def test_a_form_has_at_most_eight_fields() -> None:
    read = vars(gitlab_link)["_fields"]
    assert read(b"&".join(b"f%d=%d" % (n, n) for n in range(8)))["f7"] == "7"
    with pytest.raises(Refused) as refused:
        read(b"&".join(b"f%d=%d" % (n, n) for n in range(9)))
    assert refused.value.status == 400


def test_the_page_is_shown_to_allowed_addresses_alone_and_takes_two_methods() -> None:
    addresses, _ = read_lists([], ["203.0.113.9"])
    page = gitlab_link.ConnectPage(links(), GitLabSettings(), MemoryEphemeralStore(), addresses)
    assert asyncio.run(ask(page, "GET", client="203.0.113.8")) == 400, "shown: there is no link in the address"
    with pytest.raises(Refused) as refused:
        asyncio.run(ask(page, "GET", client="203.0.113.9"))
    assert refused.value.status == 403
    with pytest.raises(Refused) as refused:
        asyncio.run(ask(page, "PUT", client="203.0.113.8"))
    assert (refused.value.status, refused.value.headers) == (405, [(b"allow", b"GET, POST")])


def test_at_most_so_many_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(gitlab_link, "MOST_KNOWN", 2)
    state = MemoryState()
    one, other = links(state), links(state)
    for principal in "abcd":
        other.keep(principal, f"glpat-{principal}-first")
        assert asyncio.run(one.token_of(principal, {})) == f"glpat-{principal}-first"
    for principal in "ad":
        other.keep(principal, f"glpat-{principal}-second")
    assert asyncio.run(one.token_of("a", {})) == "glpat-a-second", "forgotten, so it was looked up"
    assert asyncio.run(one.token_of("d", {})) == "glpat-d-first", "remembered"
