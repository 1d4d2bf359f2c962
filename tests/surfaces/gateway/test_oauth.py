"""OAuth: only tokens that the issuer signed for this server."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from typing import Any, cast

import httpx2
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from jwt.utils import base64url_encode

from postil.core.failure import Failure
from postil.settings.model import OAuthSettings
from postil.surfaces.gateway import oauth
from postil.surfaces.gateway.oauth import OAuthTokens
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.visitor import Visitor
from tests.surfaces.gateway.fake_gitlab import FakeGitLab, fake_gitlab
from tests.surfaces.gateway.gateways import Clock, call, serving
from tests.surfaces.gateway.test_bounded_get import in_memory


@pytest.fixture
def gitlab() -> Iterator[FakeGitLab]:
    with fake_gitlab() as gitlab:
        yield gitlab


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
    gitlab.answer = lambda path, bearer: (200, pages[path]) if path in pages else (404, {})
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
    assert "scopes_supported" not in document
    scoped = oauth.metadata(OAuthSettings(issuer="https://id.example", resource=RESOURCE, scopes=("mcp", "api")))
    assert msgspec.json.decode(scoped)["scopes_supported"] == ["mcp", "api"]
    expected = "https://postil.example.org/.well-known/oauth-protected-resource/mcp"
    assert oauth.metadata_url(RESOURCE) == expected


class Issuer:
    """The authorization server's pages, and how often each was asked for."""

    def __init__(self, pages: dict[str, Any]) -> None:
        self.pages = pages
        self.asked: list[str] = []

    def build_request(self, method: str, url: str, headers: dict[str, str]) -> str:
        assert (method, headers["accept-encoding"]) == ("GET", "identity")
        return url

    async def send(self, url: str, stream: bool) -> Any:
        self.asked.append(url)
        found = self.pages.get(url)
        if isinstance(found, Exception):
            raise found
        return in_memory(200 if found is not None else 404, msgspec.json.encode(found))


ISSUER = "https://id.example/realm"
KEYS = f"{ISSUER}/keys"


def pages(*kids: str) -> dict[str, Any]:
    public: dict[str, Any] = ECAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True)
    return {KEYS: {"keys": [{**public, "kid": kid} if kid else public for kid in kids]}}


def tokens(issuer: Issuer, members: tuple[str, ...] = (), **given: Any) -> OAuthTokens:
    settings = OAuthSettings(issuer=ISSUER, resource=RESOURCE, **cast(Any, {"jwks_url": KEYS, **given}))
    return OAuthTokens(settings, members, client=cast(Any, issuer))


async def allowed() -> None:
    return


def identify(asked: OAuthTokens, bearer: str, headers: dict[bytes, bytes] | None = None) -> Visitor | None:
    return asyncio.run(asked.identify(bearer, headers or {}, allowed))


@pytest.mark.parametrize(("age", "taken"), [(-1, True), (oauth.LEEWAY - 3, True), (oauth.LEEWAY + 1, False)])
def test_an_expired_token_is_taken_for_the_leeway_and_no_longer(age: float, taken: bool) -> None:
    found = identify(tokens(Issuer(pages("k1"))), issued(ISSUER, exp=int(time.time()) - int(age)))
    assert (found is not None) is taken


def test_a_subject_that_is_spelt_like_another_s_whole_name_has_not_its_name() -> None:
    known = identify(tokens(Issuer(pages("k1"))), issued(ISSUER, sub="ann"))
    assert known
    assert known.names == {"oauth:ann"}
    false_ann = identify(tokens(Issuer(pages("k1"))), issued(ISSUER, sub=f"{ISSUER}:ann"))
    assert false_ann
    assert not false_ann.names
    assert false_ann.caller.principal != known.caller.principal


def test_the_keys_are_fetched_once_and_again_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, issuer = Clock(), Issuer(pages("k1"))
    monkeypatch.setattr(oauth, "time", clock)
    asked = tokens(issuer)
    for _ in range(3):
        assert identify(asked, issued(ISSUER)) is not None
    assert issuer.asked == [KEYS]
    clock.now += oauth.KEYS_KEPT
    assert identify(asked, issued(ISSUER)) is not None
    assert len(issuer.asked) == 1
    clock.now += 0.001
    assert identify(asked, issued(ISSUER)) is not None
    assert len(issuer.asked) == 2


def test_an_unknown_key_is_asked_about_again_at_most_every_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, issuer = Clock(), Issuer(pages("k0"))
    monkeypatch.setattr(oauth, "time", clock)
    asked = tokens(issuer)
    assert identify(asked, issued(ISSUER)) is None
    clock.now += oauth.KEYS_AGAIN
    assert identify(asked, issued(ISSUER)) is None
    assert len(issuer.asked) == 1
    issuer.pages = pages("k0", "k1")
    clock.now += 0.001
    assert identify(asked, issued(ISSUER)) is not None
    assert len(issuer.asked) == 2


def test_who_tried_too_often_makes_nobody_fetch_keys() -> None:
    issuer = Issuer(pages("k1"))

    async def refuse() -> None:
        raise Refused(429, "too often")

    with pytest.raises(Refused):
        asyncio.run(tokens(issuer).identify(issued(ISSUER), {}, refuse))
    assert issuer.asked == []


@pytest.mark.parametrize(("kids", "taken"), [(("",), True), (("k2",), True), (("k2", "k3"), False)])
def test_a_token_without_a_key_id_fits_where_there_is_one_key(kids: tuple[str, ...], taken: bool) -> None:
    claims = {"iss": ISSUER, "aud": RESOURCE, "sub": "alice", "exp": time.time() + 60}
    bearer = jwt.encode(claims, PRIVATE, "ES256")
    assert (identify(tokens(Issuer(pages(*kids))), bearer) is not None) is taken


@pytest.mark.parametrize(
    ("scope", "allowed"), [("mcp", True), ("openid mcp", True), (["mcp"], True), ("mcpx", False), ("", False)]
)
def test_a_token_has_to_have_every_scope(scope: object, allowed: bool) -> None:
    asked = tokens(Issuer(pages("k1")), scopes=("mcp",))
    if allowed:
        assert identify(asked, issued(ISSUER, scope=scope)) is not None
        assert identify(asked, issued(ISSUER, scope=None, scp=scope)) is not None
        return
    with pytest.raises(Refused) as refused:
        identify(asked, issued(ISSUER, scope=scope))
    assert refused.value.status == 403


@pytest.mark.parametrize(
    ("members", "workspace"), [((), False), (("*",), True), (("oauth:alice",), True), (("alice",), False)]
)
def test_only_members_use_this_workspace(members: tuple[str, ...], workspace: bool) -> None:
    found = identify(tokens(Issuer(pages("k1")), members), issued(ISSUER))
    assert found is not None
    assert (found.view.workspace, found.view.writes) == (workspace, True)


def test_a_token_for_gitlab_may_be_brought_along() -> None:
    found = identify(tokens(Issuer(pages("k1"))), issued(ISSUER), {b"private-token": b" glpat-mine\t"})
    assert found is not None
    assert (found.caller.credential, found.caller.principal) == ("glpat-mine", f"oauth:{ISSUER}:alice")


WELL_KNOWN = "https://id.example/.well-known/oauth-authorization-server/realm"
OPENID = "https://id.example/realm/.well-known/openid-configuration"


@pytest.mark.parametrize("address", [WELL_KNOWN, OPENID])
def test_where_the_keys_are_is_read_from_either_document_of_the_issuer(address: str) -> None:
    issuer = Issuer({**pages("k1"), address: {"issuer": ISSUER, "jwks_uri": KEYS}})
    assert identify(tokens(issuer, jwks_url=""), issued(ISSUER)) is not None
    assert issuer.asked[-1] == KEYS


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"issuer": "https://other.example", "jwks_uri": KEYS},
        {"issuer": ISSUER, "jwks_uri": 5},
        [],
        msgspec.Raw(b'{"issuer":"\xff"}'),
        msgspec.Raw(b"[" * 9_999),
    ],
)
def test_a_document_that_is_not_the_issuers_own_is_not_believed(document: object) -> None:
    with pytest.raises(Unavailable) as refused:
        identify(tokens(Issuer({**pages("k1"), WELL_KNOWN: document}), jwks_url=""), issued(ISSUER))
    assert refused.value.headers == [(b"retry-after", b"5")]


def test_an_issuer_that_cannot_be_reached_refuses_nobody_for_good() -> None:
    odds: tuple[Any, ...] = (httpx2.ConnectError("away"), {"keys": []}, {"keys": [{"kty": "odd", "kid": "k1"}]})
    for odd in odds:
        with pytest.raises(Unavailable) as refused:
            identify(tokens(Issuer({KEYS: odd})), issued(ISSUER))
        assert refused.value.headers == [(b"retry-after", b"5")]


def test_neither_a_redirect_nor_a_proxy_of_the_environment_is_asked_for_keys(issuer: str) -> None:
    asked = OAuthTokens(OAuthSettings(issuer=issuer, resource=RESOURCE))
    assert identify(asked, issued(issuer)) is not None
    client = vars(asked)["_client"]
    assert (client.follow_redirects, client.trust_env) == (False, False)


SUBJECTS = ["", " \n", "a\nb", "a\u202eb", "a\x00b", "a\ud800", "a" * (oauth.LONGEST_SUBJECT + 1)]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_that_cannot_be_written_is_nobody(subject: str) -> None:
    """One that was no text ended in a 500, and one without a letter was let in."""
    head, claims = (base64url_encode(json.dumps(each).encode()) for each in ({"alg": "ES256", "kid": "k1"}, {
        "iss": ISSUER, "aud": RESOURCE, "sub": subject, "exp": int(time.time()) + 60, "scope": "mcp",
    }))  # fmt: skip
    signed = ECAlgorithm(ECAlgorithm.SHA256).sign(head + b"." + claims, PRIVATE)
    bearer = b".".join((head, claims, base64url_encode(signed))).decode()
    assert identify(tokens(Issuer(pages("k1"))), bearer) is None
    assert identify(tokens(Issuer(pages("k1"))), issued(ISSUER, sub="a" * oauth.LONGEST_SUBJECT))


@pytest.mark.parametrize("scope", [5, {"mcp": 1}, True, [["mcp"]], ["MCP"]])
def test_scopes_of_another_kind_are_none(scope: object) -> None:
    """A number ended in a 500, and the names of an object were taken for scopes."""
    with pytest.raises(Refused, match="lacks the scope"):
        identify(tokens(Issuer(pages("k1")), scopes=("mcp",)), issued(ISSUER, scope=scope))


def test_a_token_without_scopes_is_refused_as_one_without_the_right_ones() -> None:
    bearer = jwt.encode({"iss": ISSUER, "aud": RESOURCE, "sub": "a", "exp": time.time() + 60, "scope": None}, PRIVATE,
                        "ES256", {"kid": "k1"})  # fmt: skip
    with pytest.raises(Refused, match="lacks the scope"):
        identify(tokens(Issuer(pages("k1")), scopes=("mcp",)), bearer)


@pytest.mark.parametrize("keys", ["5", '{"kid": "k1"}', '"k1"', "[null, 5, []]"])
def test_keys_that_are_none_do_not_end_those_that_we_have(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number in place of the keys made every token wrong."""
    clock, issuer = Clock(), Issuer(pages("k1"))
    monkeypatch.setattr(oauth, "time", clock)
    asked = tokens(issuer)
    assert identify(asked, issued(ISSUER))
    clock.now += oauth.KEYS_KEPT + 1
    issuer.pages = {KEYS: {"keys": json.loads(keys)}}
    assert identify(asked, issued(ISSUER))
    with pytest.raises(Unavailable):
        identify(tokens(issuer), issued(ISSUER))


@pytest.mark.parametrize(
    "where",
    ["file:///etc/passwd", "", "https://", "https://[", "https://a:99999/keys", "https://a/\x00", "http://a/k", 5],
)  # fmt: skip
def test_keys_are_fetched_from_addresses_alone_and_never_in_the_clear(where: object) -> None:
    """Some of these ended in a 500, and keys of an issuer over HTTPS were fetched over HTTP where it said so."""
    document = {"issuer": ISSUER, "jwks_uri": where}
    issuer = Issuer({"https://id.example/.well-known/oauth-authorization-server/realm": document})
    with pytest.raises(Unavailable, match="where its keys are"):
        identify(tokens(issuer, jwks_url=""), issued(ISSUER))
    assert where not in issuer.asked


def test_a_server_without_the_library_for_tokens_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt.algorithms", None)
    with pytest.raises(Failure, match="gateway"):
        OAuthTokens(OAuthSettings(issuer=ISSUER, resource=RESOURCE))
