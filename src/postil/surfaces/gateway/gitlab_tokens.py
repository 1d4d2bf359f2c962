"""GitLab tokens as credentials: verified at the one configured GitLab before anything is done with them.

The verdict is remembered under a hash for at most a minute, so a revoked token stops working within one. The
token itself is never kept, written or sent anywhere else.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

from msgspec import Struct

from postil.core.call import Caller
from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE
from postil.surfaces.gateway.auth import Attempt
from postil.surfaces.gateway.bounded_get import get_bounded
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.visitor import View, Visitor, fingerprint

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2

REMEMBERED = 60.0
MOST_REMEMBERED = 10_000
AT_ONCE = 16
READING = frozenset({"api", "read_api", "read_user"})
"""Without one of these scopes a token sees nothing of the workspace."""
_TOKEN = re.compile(r"[A-Za-z0-9_.~+/=-]{8,1024}")


class Verified(Struct, frozen=True):
    """What GitLab says of a token."""

    user_id: int
    username: str = ""
    scopes: tuple[str, ...] | None = None
    """None where GitLab does not say."""
    may_call: bool = True
    """Whether the operator lets this user in at all."""


class GitLabTokens:
    """The users of one GitLab, by their tokens."""

    def __init__(
        self,
        url: str,
        members: tuple[str, ...] = (),
        *,
        trust: Callable[[], SSLContext | bool] = lambda: True,
        proxy: str = "",
        callers: tuple[str, ...] = (),
        named: Iterable[str] = (),
        client: httpx2.AsyncClient | None = None,
    ) -> None:
        self._api = f"{url.rstrip('/')}/api/v4"
        self._host = urlsplit(url).netloc.rpartition("@")[2].lower()
        self._members, self._named = frozenset(members), frozenset(named)
        self._client, self._trust, self._proxy = client, trust, proxy
        self._callers = frozenset(callers)
        # Apart, so that no flood of wrong tokens pushes out the verdict on a good one.
        self._good: OrderedDict[str, tuple[float, Verified]] = OrderedDict()
        self._wrong: OrderedDict[str, float] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Verified | None]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self.asked = 0
        """How often GitLab was asked, for the metrics."""

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        """Returns the GitLab user this token belongs to."""
        if not _TOKEN.fullmatch(bearer):
            return None
        name = fingerprint(bearer)
        if self._wrong.get(name, 0.0) > time.monotonic():
            return None
        expires, verified = self._good.get(name, (0.0, None))
        if expires <= time.monotonic():
            # One that was good a minute ago is asked about whatever else came from its address.
            if verified is None and name not in self._asking:
                await attempt()
            verified = await self._verify_once(name, bearer)
        if verified is None:
            return None
        if not verified.may_call:
            raise Refused(403, "Forbidden: this server is not for you; its operator names its callers (http.callers)")
        principal = f"gitlab:{self._host}:{verified.user_id}"
        caller = Caller(principal, surface="http", credential=bearer, name=verified.username)
        may_write = verified.scopes is None or "api" in verified.scopes
        # A token for registries or runners says nothing about who may read here.
        may_read = verified.scopes is None or not READING.isdisjoint(verified.scopes)
        names = {verified.username, f"id:{verified.user_id}"} - {""} if may_read else set[str]()
        view = View(bool(names) and not self._members.isdisjoint({"*", *names}), may_write)
        return Visitor(caller, name, view, "" if may_write else "api", names=frozenset(names))

    async def _verify_once(self, name: str, token: str) -> Verified | None:
        """Ask GitLab once, however many requests bring the same token meanwhile."""
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.create_task(self._verify(token))
            asking.add_done_callback(lambda done: self._learn(name, done))
        return await asyncio.shield(asking)

    def _learn(self, name: str, done: asyncio.Task[Verified | None]) -> None:
        self._asking.pop(name, None)
        if done.cancelled() or done.exception() is not None:
            return
        expires, verified = time.monotonic() + REMEMBERED, done.result()
        self._good.pop(name, None)
        self._wrong.pop(name, None)
        if verified is None:
            self._wrong[name] = expires
        else:
            self._good[name] = (expires, verified)
        for known in (self._good, self._wrong):
            while len(known) > MOST_REMEMBERED:
                known.popitem(last=False)

    @property
    def remembered(self) -> int:
        """How many verdicts are kept."""
        return len(self._good) + len(self._wrong)

    async def verified(self, token: str) -> Verified | None:
        """Returns whose token this is, with the name; nothing is remembered."""
        return await self._verify(token, named=True) if _TOKEN.fullmatch(token) else None

    async def _verify(self, token: str, *, named: bool = False) -> Verified | None:
        async with self._room:
            status, said = await self._get("/personal_access_tokens/self", token)
            if status in (401, 403):
                return None
            scopes: tuple[str, ...] | None = None
            user_id = said.get("user_id")
            if status == 200 and isinstance(user_id, int):
                if said.get("revoked") is True or said.get("active") is False:
                    return None
                listed = said.get("scopes")
                scopes = tuple(map(str, cast("list[Any]", listed))) if isinstance(listed, list) else None
                if not named and not (self._members | self._callers | self._named) - {"*"}:
                    return Verified(user_id, scopes=scopes)
            status, said = await self._get("/user", token)
            if status in (401, 403) and not isinstance(user_id, int):
                return None
            found = said.get("id", user_id)
            if not isinstance(found, int):
                raise Unavailable("GitLab did not say whose token this is: try again", 5)
            username = str(said.get("username") or "")
            return Verified(found, username, scopes, await self._may_call(found, username, token))

    async def _may_call(self, user_id: int, username: str, token: str) -> bool:
        """Returns whether the operator's list names this user, or a group of which GitLab says they are a member."""
        if not self._callers or not self._callers.isdisjoint({"*", username or "*", f"id:{user_id}"}):
            return True
        for name in sorted(self._callers):
            if name.startswith("group:"):
                group = quote(name.removeprefix("group:").strip("/"), safe="")
                status, _ = await self._get(f"/groups/{group}/members/all/{user_id}", token)
                if status == 200:
                    return True
        return False

    async def _get(self, path: str, token: str) -> tuple[int, dict[str, Any]]:
        import httpx2  # only where GitLab tokens are taken

        if self._client is None:
            self._client = httpx2.AsyncClient(
                timeout=httpx2.Timeout(10.0, connect=5.0),
                follow_redirects=False,
                trust_env=False,
                verify=self._trust(),
                proxy=self._proxy or None,
            )
        self.asked += 1
        try:
            status, content = await get_bounded(self._client, self._api + path, {"authorization": f"Bearer {token}"})
        except (httpx2.HTTPError, TimeoutError):
            raise Unavailable("GitLab cannot be reached to verify the token: try again", 5) from None
        self._client.cookies.clear()
        if status >= 500 or status == 429:
            raise Unavailable("GitLab cannot verify the token just now: try again", 5)
        try:
            said = decode_json(content)
        except UNREADABLE:
            said = None
        return status, cast("dict[str, Any]", said) if isinstance(said, dict) else {}
