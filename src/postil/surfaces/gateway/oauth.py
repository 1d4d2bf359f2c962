"""OAuth: Postil as a resource server. Takes tokens that the named issuer signed for this server's own address alone.

The metadata of RFC 9728 tells clients which issuer to ask. Tokens are JWTs (RFC 9068), checked with the issuer's
published keys: signature, issuer, audience, expiry, scopes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec

from postil.core.call import Caller
from postil.core.failure import Extra
from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE
from postil.surfaces.gateway.auth import Attempt
from postil.surfaces.gateway.bounded_get import get_bounded
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.visitor import View, Visitor, fingerprint

if TYPE_CHECKING:
    import httpx2

    from postil.settings.model import OAuthSettings
    from postil.surfaces.gateway.gitlab_link import GitLabLinks

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Asymmetric ones only: with a shared secret, a public key could be mistaken for it."""
TYPES = frozenset({"at+jwt", "jwt", ""})
"""RFC 9068's, and what issuers wrote before it; never a token made for something else, such as `logout+jwt`."""
KEYS_KEPT = 600.0
KEYS_AGAIN = 30.0
LEEWAY = 30.0
LONGEST_SUBJECT = 255
"""Characters of a subject, all of which can be seen: it is written as the author of what its bearer writes."""


def metadata_path(resource: str) -> str:
    """Returns where RFC 9728 puts the metadata of a resource: before its path."""
    return "/.well-known/oauth-protected-resource" + urlsplit(resource).path.rstrip("/")


def metadata_url(resource: str) -> str:
    """Returns the address of the metadata."""
    parts = urlsplit(resource)
    return urlunsplit((parts.scheme, parts.netloc, metadata_path(resource), "", ""))


def metadata(settings: OAuthSettings) -> bytes:
    """Returns the document itself."""
    document: dict[str, Any] = {
        "resource": settings.resource,
        "authorization_servers": [settings.issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Postil",
    }
    if settings.scopes:
        document["scopes_supported"] = list(settings.scopes)
    return msgspec.json.encode(document)


class OAuthTokens:
    """The bearers of the issuer's tokens."""

    def __init__(
        self,
        settings: OAuthSettings,
        members: tuple[str, ...] = (),
        *,
        links: GitLabLinks | None = None,
        client: httpx2.AsyncClient | None = None,
    ) -> None:
        with Extra("gateway", "The mode `oauth`"):
            import_module("jwt.algorithms")  # when the server starts, not when the first caller comes
        self._settings = settings
        self._links = links
        self._members = frozenset(members)
        self._client = client
        self._keys: dict[str, tuple[Any, list[str]]] = {}
        self._fetched = -KEYS_KEPT
        self._fetching = asyncio.Lock()

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        """Returns the subject of this token."""
        import jwt  # only where OAuth is spoken

        try:
            head = jwt.get_unverified_header(bearer)
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        if str(head.get("typ", "")).lower().removeprefix("application/") not in TYPES:
            return None
        found = await self._key(str(head.get("kid", "")), attempt)
        if found is None:
            return None
        key, algorithms = found
        try:
            claims: dict[str, Any] = jwt.decode(
                bearer,
                key,
                algorithms=algorithms,
                audience=self._settings.resource,
                issuer=self._settings.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "aud", "iss", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        subject = str(claims["sub"])
        if not subject.isprintable() or not 0 < len(subject) <= LONGEST_SUBJECT:
            return None
        self._check_scopes(claims)
        brought = headers.get(b"private-token", b"").strip(b" \t").decode("latin-1")
        principal = f"oauth:{self._settings.issuer}:{subject}"
        if not brought and self._links is not None:
            brought = await self._links.token_of(principal, claims)
        caller = Caller(principal, surface="http", credential=brought)
        named = f"oauth:{subject}"
        is_another = named.startswith(f"oauth:{self._settings.issuer}:")  # spelt like the whole name of somebody else
        names = frozenset[str]() if is_another else frozenset({named})
        is_member = not self._members.isdisjoint({"*", *names})
        return Visitor(caller, fingerprint(caller.principal), View(is_member), names=names)

    def _check_scopes(self, claims: Mapping[str, Any]) -> None:
        given: object = claims.get("scope", claims.get("scp"))
        listed = given.split() if isinstance(given, str) else given
        has = set(map(str, cast("list[Any]", listed))) if isinstance(listed, list) else set[str]()
        missing = [scope for scope in self._settings.scopes if scope not in has]
        if missing:
            where = metadata_url(self._settings.resource)
            challenge = f'Bearer error="insufficient_scope", scope="{" ".join(missing)}", resource_metadata="{where}"'
            raise Refused(
                403,
                f"Forbidden: the token lacks the scope {missing[0]!r}",
                headers=[(b"www-authenticate", challenge.encode("latin-1"))],
            )

    async def _key(self, key_id: str, attempt: Attempt) -> tuple[Any, list[str]] | None:
        age = time.monotonic() - self._fetched
        if age > KEYS_KEPT or (key_id not in self._keys and age > KEYS_AGAIN):
            await attempt()
            async with self._fetching:
                if time.monotonic() - self._fetched >= min(age, KEYS_AGAIN):
                    await self._renew(key_id)
        if not key_id and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    async def _renew(self, key_id: str) -> None:
        """Fetch the keys; while the issuer is away, those that we have still count."""
        try:
            await self._fetch()
        except Unavailable:
            if key_id not in self._keys:
                raise
            self._fetched = time.monotonic() - KEYS_KEPT + KEYS_AGAIN

    async def _fetch(self) -> None:
        import jwt

        address = self._settings.jwks_url or await self._discover()
        document = await self._get(address)
        found: dict[str, tuple[Any, list[str]]] = {}
        listed = document.get("keys")
        for one in cast("list[Any]", listed) if isinstance(listed, list) else []:
            try:
                key = jwt.PyJWK(one)
                if one.get("use", "sig") != "sig":
                    continue
                found[str(one.get("kid", ""))] = (key.key, [one["alg"]] if one.get("alg") in ALGORITHMS else ALGORITHMS)
            except (jwt.PyJWTError, AttributeError, TypeError, ValueError):
                continue  # a kind of key that we do not know is no fault of the others
        if not found:
            raise Unavailable("The authorization server names no key that can be used: try again", 5)
        self._keys, self._fetched = found, time.monotonic()

    async def _discover(self) -> str:
        issuer = urlsplit(self._settings.issuer)
        path = issuer.path.rstrip("/")
        for well_known in (
            f"/.well-known/oauth-authorization-server{path}",
            f"{path}/.well-known/openid-configuration",
        ):
            document = await self._get(urlunsplit((issuer.scheme, issuer.netloc, well_known, "", "")))
            where = document.get("jwks_uri")
            if document.get("issuer") == self._settings.issuer and _is_address(where, issuer.scheme):
                return str(where)
        raise Unavailable("The authorization server does not say where its keys are: try again", 5)

    async def _get(self, url: str) -> dict[str, Any]:
        import httpx2

        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=10.0, follow_redirects=False, trust_env=False)
        try:
            status, content = await get_bounded(self._client, url)
            said: object = decode_json(content) if status == 200 else None
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError):
            raise Unavailable("The authorization server cannot be reached: try again", 5) from None
        except UNREADABLE:
            said = None
        return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def _is_address(given: object, scheme: str) -> bool:
    """Whether keys may be fetched from there: over HTTPS, or as the issuer itself is asked."""
    if not isinstance(given, str) or not given.isprintable():
        return False
    try:
        parts = urlsplit(given)
        return parts.scheme in ("https", scheme) and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
