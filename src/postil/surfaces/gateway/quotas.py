"""How often one token may ask: a rolling minute, and so many at once. Every answer says what is left.

Both are decided in one step by the ephemeral store, which replicas share. A batch counts by its items, a subscription
only once and not among the calls at once: it waits for hours and costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from postil.core.ports import Entered, Entry, EphemeralStore, Taken
from postil.surfaces.gateway.refused import Refused
from postil.wire.protocol import jsonrpc

WINDOW = 60.0
FAILURES = 30
"""Wrong credentials that one address may try in a minute."""
BUSY = "Too Many Requests: at most {} calls of one token at once"
TOKENS_OF_ONE = 5
"""So many tokens' worth of calls may one user make a minute, with however many tokens."""
MOST_USERS = 10_000
ASK_AGAIN = 20.0
"""Seconds after which it is asked again whether another replica has seen another token of a user."""
SEVERAL = b"*"
"""What replicas keep of a user who has come with several tokens, instead of the one token."""
SPENT_BY_USER = "Too Many Requests: at most {} calls a minute with all tokens of one user"
SPENT = "Too Many Requests: at most {} calls a minute"

Headers = list[tuple[bytes, bytes]]
Incoming = jsonrpc.Incoming | list[jsonrpc.Incoming]


class Limits:
    """The limits of every token; 0 turns one off."""

    def __init__(self, ephemeral: EphemeralStore, *, per_minute: int, in_flight: int) -> None:
        self._ephemeral = ephemeral
        self.per_minute, self.in_flight = per_minute, in_flight
        self._tokens: dict[str, set[str]] = {}
        self._asked: dict[str, float] = {}
        self.refused = 0

    async def charge(
        self, token: str, incoming: Incoming | None, user: str = ""
    ) -> tuple[Incoming | None, Headers, str]:
        """Charge one message, or each item of a batch: what remains to be served, what is left, and a ticket to land.

        What goes beyond is refused: by 429, or as an item's error. The tokens of one `user` have a limit together.
        """
        at_once = 0 if _listens(incoming) else self.in_flight
        if not self.per_minute and not at_once:
            return incoming, [], ""
        cost = _cost(incoming)
        if user and cost and self.per_minute and await self._has_many(user, token):
            most = self.per_minute * TOKENS_OF_ONE
            taken = await self._ephemeral.take(f"user:{user}", cost, most, WINDOW)
            if taken.granted < cost:
                self.refused += cost
                raise Refused(429, SPENT_BY_USER.format(most), headers=[_wait(taken)])
        entered = await self._ephemeral.enter(Entry(f"rate:{token}", cost, self.per_minute, WINDOW, at_once))
        headers = self._headers(entered) if self.per_minute else []
        if entered.granted == cost:
            return incoming, headers, entered.ticket
        self.refused += cost - entered.granted
        if entered.busy:
            raise Refused(429, BUSY.format(self.in_flight), headers=[*headers, (b"retry-after", b"1")])
        if isinstance(incoming, list):
            refused = Refused(429, SPENT.format(self.per_minute), headers=[_wait(entered)])
            return _cut(incoming, entered.granted, refused), headers, entered.ticket
        raise Refused(429, SPENT.format(self.per_minute), headers=[*headers, _wait(entered)])

    async def _has_many(self, user: str, token: str) -> bool:
        """Returns whether a user comes with several tokens: only then is their sum counted, which costs a question.

        Replicas tell one another through the ephemeral store, now and then.
        """
        tokens = self._tokens.setdefault(user, set())
        if len(tokens) < 2:
            tokens.add(token)
        if len(self._tokens) > MOST_USERS:
            oldest = next(iter(self._tokens))
            del self._tokens[oldest]
            self._asked.pop(oldest, None)
        now = time.monotonic()
        if now - self._asked.get(user, -ASK_AGAIN) >= ASK_AGAIN:
            self._asked[user] = now
            await self._share_tokens(user, tokens)
        return len(tokens) > 1

    async def _share_tokens(self, user: str, tokens: set[str]) -> None:
        """Learn of a token that another replica has seen, and let the others learn of ours."""
        name = f"tokens:{user}"
        held = await self._ephemeral.recall(name)
        if held is None:
            return
        if held[0] is not None and len(tokens) < 2:
            tokens.add(held[0].decode())
        known = next(iter(tokens)).encode() if len(tokens) == 1 else SEVERAL
        await self._ephemeral.keep({name: known}, WINDOW * 2)

    def release(self, token: str, ticket: str) -> None:
        """Give the places of calls that have ended back."""
        if ticket:
            self._ephemeral.leave(f"rate:{token}", ticket)

    async def allow_attempt(self, address: str) -> str:
        """Take a place among the attempts of an address, before anybody is asked about its credential.

        Returns a ticket, to be given back when the outcome is known. Refuses an address that has brought too many
        wrong credentials, those included of which the outcome is not known yet.
        """
        origin = find_origin(address)
        taken = await self._ephemeral.take(f"failed:{origin}", 0, FAILURES, WINDOW)
        if not taken.remaining:
            raise self._too_many_failures(taken)
        entered = await self._ephemeral.enter(Entry(f"trying:{origin}", 1, 0, WINDOW, taken.remaining))
        if entered.busy:
            message = "Too Many Requests: too many unknown credentials from this address at once"
            raise Refused(429, message, headers=[(b"retry-after", b"1")])
        return entered.ticket

    def end_attempt(self, address: str, ticket: str) -> None:
        """Give the place of an attempt back."""
        if ticket:
            self._ephemeral.leave(f"trying:{find_origin(address)}", ticket)

    async def note_failure(self, address: str) -> None:
        """Count a wrong credential."""
        await self._ephemeral.take(f"failed:{find_origin(address)}", 1, FAILURES, WINDOW)

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


def find_origin(address: str) -> str:
    """Returns what wrong credentials are counted by: an IPv4 address, or the /64 of an IPv6 address.

    Whoever has one IPv6 address has the 2^64 beside it.
    """
    if ":" not in address:
        return address
    import ipaddress

    try:
        return str(ipaddress.ip_network(f"{address.partition('%')[0]}/64", strict=False))
    except ValueError:
        return address


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


def _cut(items: Sequence[jsonrpc.Incoming], granted: int, refused: Refused) -> list[jsonrpc.Incoming]:
    served: list[jsonrpc.Incoming] = []
    for item in items:
        if granted or isinstance(item, jsonrpc.Response):
            granted -= not isinstance(item, jsonrpc.Response)
            served.append(item)
        elif isinstance(item, jsonrpc.Request | jsonrpc.Invalid):
            served.append(jsonrpc.Invalid(item.id, refused.code, refused.message, refused.data()))
    return served
