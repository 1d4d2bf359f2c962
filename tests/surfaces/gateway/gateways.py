"""A gateway for tests, over memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from postil.core.call import Caller, current
from postil.core.operation import reads, writes
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.surfaces.gateway.addresses import Addresses
from postil.surfaces.gateway.auth import Attempt, Authenticator, Bearers, LocalToken
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.quotas import Limits
from postil.surfaces.gateway.signatures import Signatures
from postil.surfaces.gateway.visitor import Visitor, fingerprint
from tests.wire.http_client import Running, request, running

TOKEN = "the-printed-token"
RIGHT = f"Bearer {TOKEN}"


def gateway_of(
    *,
    ways: Sequence[Authenticator] = (),
    per_minute: int = 600,
    in_flight: int = 100,
    ephemeral: MemoryEphemeralStore | None = None,
    addresses: Addresses | None = None,
    secrets: Sequence[bytes] = (),
    operators: Sequence[str] = (),
) -> Gateway:
    ephemeral = ephemeral or MemoryEphemeralStore()
    return Gateway(
        Bearers(ways or [LocalToken(TOKEN)], hint="a token"),
        limits=Limits(ephemeral, per_minute=per_minute, in_flight=in_flight),
        addresses=addresses,
        signatures=Signatures("required", secrets, ephemeral.first) if secrets else None,
        operators=operators,
    )


class Seen(Struct, frozen=True):
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


class Named:
    """Callers whose token is their name."""

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        return Visitor(Caller(principal=bearer, surface="http"), fingerprint(bearer))


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


def call(server: Running, method: str, token: str, **headers: Any) -> Any:
    """The answer to one request with this token."""
    return server.post(request(method), Authorization=f"Bearer {token}", **headers)


def serving(*ways: Authenticator) -> Any:
    """A server with a part of GitLab behind these ways in."""
    return running(gateway_of(ways=ways), gitlab=GitLabPart())
