"""OAuth: only tokens that the issuer signed for this server."""

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
from postil.surfaces.gateway import oauth
from postil.surfaces.gateway.auth import Authenticator
from postil.surfaces.gateway.oauth import OAuthTokens
from tests.surfaces.gateway.fake_gitlab import FakeGitLab, fake_gitlab
from tests.surfaces.gateway.gateways import gateway_of
from tests.wire.http_client import Running, request, running


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
