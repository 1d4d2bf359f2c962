"""How often one token may ask: a rolling minute, and so many at once. Every answer says what is left.

The window is shared by replicas through Moments; the calls in flight are counted by each process for itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from postil.core.ports import Moments, Taken
from postil.surfaces.gateway.refused import Refused
from postil.wire import jsonrpc

WINDOW = 60.0
FAILURES = 30
"""Wrong credentials that one address may try in a minute."""
BUSY = "Too Many Requests: at most {} calls of one token at once"
SPENT = "Too Many Requests: at most {} calls a minute"

Headers = list[tuple[bytes, bytes]]
Incoming = jsonrpc.Incoming | list[jsonrpc.Incoming]


class Limits:
    """The limits of every token; 0 turns one off."""

    def __init__(self, moments: Moments, *, per_minute: int, in_flight: int) -> None:
        self._moments = moments
        self.per_minute, self.in_flight = per_minute, in_flight
        self._flying: dict[str, int] = {}
        self.refused = 0

    async def charge(self, token: str, incoming: Incoming | None) -> tuple[Incoming | None, Headers]:
        """Charge one message, or each item of a batch. What goes beyond is refused: by 429, or as an item's error."""
        cost = _cost(incoming)
        if not self.per_minute:
            return incoming, []
        taken = await self._moments.take(f"rate:{token}", cost, self.per_minute, WINDOW)
        headers = self._headers(taken)
        if taken.granted == cost:
            return incoming, headers
        self.refused += cost - taken.granted
        if isinstance(incoming, list):
            return _cut(incoming, taken.granted, SPENT.format(self.per_minute)), headers
        raise self._spent(taken, headers)

    def board(self, token: str, incoming: Incoming) -> int:
        """Count calls that begin; the answer is to be given back to `land`. Refused when too many are in the air."""
        cost = _cost(incoming)
        if not self.in_flight or not cost:
            return 0
        flying = self._flying.get(token, 0)
        if flying + cost > self.in_flight and flying:
            self.refused += cost
            raise Refused(429, BUSY.format(self.in_flight), headers=[(b"retry-after", b"1")])
        self._flying[token] = flying + cost
        return cost

    def land(self, token: str, cost: int) -> None:
        """Calls that began have ended."""
        if not cost:
            return
        left = self._flying.get(token, 0) - cost
        if left > 0:
            self._flying[token] = left
        else:
            self._flying.pop(token, None)

    async def allow_attempt(self, address: str) -> None:
        """Refuse an address that has brought too many wrong credentials, before anything is asked of it again."""
        taken = await self._moments.take(f"failed:{address}", 0, FAILURES, WINDOW)
        if not taken.remaining:
            raise self._too_many_failures(taken)

    async def note_failure(self, address: str) -> None:
        """Count a wrong credential."""
        await self._moments.take(f"failed:{address}", 1, FAILURES, WINDOW)

    def _headers(self, taken: Taken) -> Headers:
        return [
            (b"x-ratelimit-limit", b"%d" % self.per_minute),
            (b"x-ratelimit-remaining", b"%d" % taken.remaining),
            (b"x-ratelimit-reset", b"%d" % math.ceil(taken.reset)),
        ]

    def _spent(self, taken: Taken, headers: Headers) -> Refused:
        wait = (b"retry-after", b"%d" % max(1, math.ceil(taken.reset - time.time())))
        return Refused(429, SPENT.format(self.per_minute), headers=[*headers, wait])

    @staticmethod
    def _too_many_failures(taken: Taken) -> Refused:
        wait = (b"retry-after", b"%d" % max(1, math.ceil(taken.reset - time.time())))
        return Refused(429, "Too Many Requests: too many wrong credentials from this address", headers=[wait])


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
            served.append(jsonrpc.Invalid(item.id, -32000, message, {"status": 429}))
    return served
