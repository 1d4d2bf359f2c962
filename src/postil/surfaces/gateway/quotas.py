"""How often one token may ask: a rolling minute, and so many at once. Every answer says what is left.

Both are decided in one step by the ephemeral store, which replicas share. A batch counts by its items, a subscription
only once and not among the calls at once: it waits for hours and costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from postil.core import codes
from postil.core.ports import Entered, Entry, EphemeralStore, Taken
from postil.surfaces.gateway.refused import Refused
from postil.wire.protocol import jsonrpc

WINDOW = 60.0
FAILURES = 30
"""Wrong credentials that one address may try in a minute."""
BUSY = "Too Many Requests: at most {} calls of one token at once"
SPENT = "Too Many Requests: at most {} calls a minute"

Headers = list[tuple[bytes, bytes]]
Incoming = jsonrpc.Incoming | list[jsonrpc.Incoming]


class Limits:
    """The limits of every token; 0 turns one off."""

    def __init__(self, ephemeral: EphemeralStore, *, per_minute: int, in_flight: int) -> None:
        self._ephemeral = ephemeral
        self.per_minute, self.in_flight = per_minute, in_flight
        self.refused = 0

    async def charge(self, token: str, incoming: Incoming | None) -> tuple[Incoming | None, Headers, str]:
        """Charge one message, or each item of a batch: what remains to be served, what is left, and a ticket to land.

        What goes beyond is refused: by 429, or as an item's error.
        """
        at_once = 0 if _listens(incoming) else self.in_flight
        if not self.per_minute and not at_once:
            return incoming, [], ""
        cost = _cost(incoming)
        entered = await self._ephemeral.enter(Entry(f"rate:{token}", cost, self.per_minute, WINDOW, at_once))
        headers = self._headers(entered) if self.per_minute else []
        if entered.granted == cost:
            return incoming, headers, entered.ticket
        self.refused += cost - entered.granted
        if entered.busy:
            raise Refused(429, BUSY.format(self.in_flight), headers=[*headers, (b"retry-after", b"1")])
        if isinstance(incoming, list):
            return _cut(incoming, entered.granted, SPENT.format(self.per_minute)), headers, entered.ticket
        raise Refused(429, SPENT.format(self.per_minute), headers=[*headers, _wait(entered)])

    def release(self, token: str, ticket: str) -> None:
        """Give the places of calls that have ended back."""
        if ticket:
            self._ephemeral.leave(f"rate:{token}", ticket)

    async def allow_attempt(self, address: str) -> None:
        """Refuse an address that has brought too many wrong credentials, before anything is asked of it again."""
        taken = await self._ephemeral.take(f"failed:{address}", 0, FAILURES, WINDOW)
        if not taken.remaining:
            raise self._too_many_failures(taken)

    async def note_failure(self, address: str) -> None:
        """Count a wrong credential."""
        await self._ephemeral.take(f"failed:{address}", 1, FAILURES, WINDOW)

    def _headers(self, taken: Entered) -> Headers:
        return [
            (b"x-ratelimit-limit", b"%d" % self.per_minute),
            (b"x-ratelimit-remaining", b"%d" % taken.remaining),
            (b"x-ratelimit-reset", b"%d" % math.ceil(taken.reset)),
        ]

    @staticmethod
    def _too_many_failures(taken: Taken) -> Refused:
        message = "Too Many Requests: too many wrong credentials from this address"
        return Refused(429, message, headers=[_wait(taken)])


def _wait(taken: Taken | Entered) -> tuple[bytes, bytes]:
    return b"retry-after", b"%d" % max(1, math.ceil(taken.reset - time.time()))


def _listens(incoming: Incoming | None) -> bool:
    return incoming is None or (isinstance(incoming, jsonrpc.Request) and incoming.method == "subscriptions/listen")


def _cost(incoming: Incoming | None) -> int:
    if incoming is None:
        return 0
    if isinstance(incoming, list):
        return sum(not isinstance(item, jsonrpc.Response) for item in incoming)
    return int(not isinstance(incoming, jsonrpc.Response))


def _cut(items: Sequence[jsonrpc.Incoming], granted: int, message: str) -> list[jsonrpc.Incoming]:
    served: list[jsonrpc.Incoming] = []
    for item in items:
        if granted or isinstance(item, jsonrpc.Response):
            granted -= not isinstance(item, jsonrpc.Response)
            served.append(item)
        elif isinstance(item, jsonrpc.Request | jsonrpc.Invalid):
            served.append(jsonrpc.Invalid(item.id, codes.SERVER_ERROR, message, {"status": 429}))
    return served
