"""The chain that a request passes: address, credential, signature, limits. Each link is a file beside this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from postil.core.call import LOCAL
from postil.surfaces.gateway.addresses import Addresses
from postil.surfaces.gateway.auth import Bearers, WrongCredential
from postil.surfaces.gateway.quotas import Headers, Incoming, Limits
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.signatures import Content, Signatures
from postil.surfaces.gateway.visitor import Visitor
from postil.wire.protocol import jsonrpc


class Gateway:
    """Who is let in."""

    def __init__(
        self,
        bearers: Bearers,
        *,
        limits: Limits,
        addresses: Addresses | None = None,
        signatures: Signatures | None = None,
        operators: Sequence[str] = (),
    ) -> None:
        self.bearers, self.limits = bearers, limits
        self.addresses = addresses or Addresses([], [], [])
        self.signatures = signatures
        self._operators = frozenset(operators)
        self.failures = 0

    async def admit(self, headers: Mapping[bytes, bytes], client: tuple[str, int] | None) -> Visitor:
        """Returns who this is: checked by address, then by credential. Refused otherwise."""
        address = self.addresses.check(client, headers)
        tickets: list[str] = []

        async def attempt() -> None:
            if not tickets:
                tickets.append(await self.limits.allow_attempt(address))

        try:
            return await self.bearers.identify(headers, attempt)
        except WrongCredential:
            await attempt()  # who has brought too many is told that, in every mode
            self.failures += 1
            await self.limits.note_failure(address)
            raise
        finally:
            for ticket in tickets:
                self.limits.end_attempt(address, ticket)

    async def identify(self, headers: Mapping[bytes, bytes]) -> Visitor:
        """Returns whose credential this is; the rest of the chain was passed elsewhere. Refused where nobody's."""

        async def attempt() -> None:
            return

        return await self.bearers.identify(headers, attempt)

    async def is_still_known(
        self, headers: Mapping[bytes, bytes], allows: Callable[[Visitor], bool] = lambda _: True
    ) -> bool:
        """Returns whether the credential of a request that is still being served would be let in now, and allows it."""
        try:
            return allows(await self.identify(headers))
        except Unavailable:
            return True  # nobody can tell just now: the credential was good when it came
        except Refused:
            return False

    def counts(self) -> dict[str, float]:
        """For the metrics."""
        counted: dict[str, float] = {
            "postil_calls_over_limit_total": self.limits.refused,
            "postil_wrong_credentials_total": self.failures,
        }
        for way in self.bearers.ways:
            asked = getattr(way, "asked", None)
            if asked is not None:
                counted["postil_gitlab_verifications_total"] = asked
        return counted

    async def check_signed(self, visitor: Visitor, headers: Mapping[bytes, bytes], content: Content) -> None:
        """Refuse a request whose signature is wrong, or missing where one is required."""
        if self.signatures is not None:
            await self.signatures.check(headers, content, demanded=visitor.must_sign, whose=visitor.caller.principal)
        elif visitor.must_sign:
            raise Refused(
                403,
                "Forbidden: this key takes signed requests only, and the server has no secret for them: its operator"
                " names one in security.signing_key_files",
            )

    async def charge(self, visitor: Visitor, incoming: Incoming | None) -> tuple[Incoming | None, Headers, str]:
        """Count the calls against the token's limits."""
        return await self.limits.charge(visitor.token, incoming, visitor.caller.principal)

    def check_operator(self, visitor: Visitor) -> None:
        """Refuse what only those who run the server should see."""
        principal = visitor.caller.principal
        if principal != LOCAL and self._operators.isdisjoint({"*", principal, *visitor.names}):
            said = f"Forbidden: for operators only; name {principal} in http.operators to make it one"
            raise Refused(403, said)

    def release(self, visitor: Visitor, ticket: str) -> None:
        """Give the places of calls that have ended back."""
        self.limits.release(visitor.token, ticket)

    def check_scope(self, visitor: Visitor, incoming: Incoming, everything: Mapping[str, Any]) -> None:
        """Refuse, naming the scope, what only the token's scopes hide."""
        if not visitor.needs or not isinstance(incoming, jsonrpc.Request):
            return
        name = incoming.params.get("name") if incoming.method == "tools/call" else incoming.method
        entry = everything.get(name) if isinstance(name, str) else None
        seen = entry is not None and (entry.part == "gitlab" or visitor.view.workspace)
        if entry is not None and seen and entry.effect != "reads":
            challenge = f'Bearer realm="postil", error="insufficient_scope", scope="{visitor.needs}"'
            raise Refused(
                403,
                f"Forbidden: the token lacks the scope {visitor.needs!r}",
                headers=[(b"www-authenticate", challenge.encode("ascii"))],
            )
