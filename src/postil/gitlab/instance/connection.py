"""The caller's way to GitLab: whose token, which projects, what is kept, and what was learnt on the way.

Every operation goes through here, so the allow-list, read-only and the cache hold for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from postil.core import call
from postil.core.call import LOCAL
from postil.gitlab.failures import GitLabFailure, NotOffered
from postil.gitlab.instance import identifiers, pages
from postil.gitlab.instance.cache import ResponseCache, asked
from postil.gitlab.instance.client import Instance, Query, Reply, unreadable
from postil.gitlab.instance.pages import Pagination
from postil.gitlab.instance.records import Record, records
from postil.gitlab.policy.guard import Guard, Policy
from postil.gitlab.policy.quick_actions import neutralised

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
MOST_LEARNT = 10_000
MOST_PAGES = 10


class Caching(Struct, frozen=True):
    """What the caller says about keeping: the parameters `cache` and `cache_ttl` of the contract."""

    wanted: bool = False
    seconds: int = 300


FRESH = Caching()


class NotConnected(GitLabFailure):
    """There is no token for this call."""

    def __init__(self) -> None:
        super().__init__(401, "No GitLab token is configured", advice=HOW_TO_CONNECT)


class NoTokenBrought(GitLabFailure):
    """Somebody else than the local user calls, without a token of their own."""

    def __init__(self) -> None:
        super().__init__(401, "No GitLab token of yours came with this call", advice=HOW_TO_BRING)


HOW_TO_BRING = (
    "Send your GitLab token in the header PRIVATE-TOKEN, or ask for an access key that has one "
    "(`postil key create NAME --gitlab-token-file FILE`)."
)
HOW_TO_CONNECT = (
    "Make a personal access token with the scope api (or read_api to read only) in GitLab under Preferences, Access "
    "tokens. Give it to Postil as GITLAB_TOKEN, or put it into a file of mode 0600 and name that as GITLAB_TOKEN_FILE; "
    "set GITLAB_URL for an instance of your own. Then start Postil again."
)


class Connection:
    """One instance, the configured token, and the rules that hold for every call."""

    def __init__(
        self,
        instance: Instance,
        configured_token: Callable[[], str],
        *,
        projects: tuple[str, ...] = (),
        allow_quick_actions: bool = False,
        cache: ResponseCache | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.instance = instance
        self._configured_token = configured_token
        self._allowed = frozenset(name.strip("/").lower() for name in projects)
        self._allow_quick_actions = allow_quick_actions
        self.cache = cache or ResponseCache()
        self.guard = guard or Guard(Policy())
        self._issues: dict[tuple[str, int], int] = {}
        self._projects: dict[tuple[str, str], bool] = {}

    def token(self) -> str:
        """The caller's own credential. The configured one is the local user's: nobody else borrows it."""
        caller = call.current().caller
        is_local = caller.principal == LOCAL
        token = caller.credential or (self._configured_token() if is_local else "")
        if not token:
            raise NotConnected() if is_local else NoTokenBrought()
        return token

    @property
    def is_connected(self) -> bool:
        """Whether this caller has a token."""
        try:
            return bool(self.token())
        except GitLabFailure:
            return False

    async def project(self, given: identifiers.ProjectId) -> str:
        """The path of a project that may be touched."""
        segment = identifiers.project(given)
        if self._allowed and not await self._is_allowed(segment):
            raise NotOffered(f"Project {segment} is not among the projects offered here")
        return identifiers.route("projects", segment)

    async def _is_allowed(self, segment: str | int) -> bool:
        """Whether the list names this project, by number or by path: GitLab says which is which."""
        name, token = str(segment).lower(), self.token()
        if name in self._allowed:
            return True
        known = self._projects.get((_hash(token), name))
        if known is None:
            body, _ = await self.instance.json(identifiers.route("projects", segment), token=token)
            known = self.allows(Record(body))
            _learn(self._projects, (_hash(token), name), known)
        return known

    def allows(self, raw: Record) -> bool:
        """Whether a project, as GitLab describes it, is among those offered."""
        path = (raw.text("path_with_namespace") or "").lower()
        return not self._allowed or str(raw.number("id")) in self._allowed or path in self._allowed

    def allows_issue(self, raw: Record) -> bool:
        """Whether an issue found by a search is in a project that is offered."""
        references = raw.record("references")
        full = (references.text("full") or "") if references else ""
        path = full.partition("#")[0].lower()
        return not self._allowed or str(raw.number("project_id")) in self._allowed or path in self._allowed

    @property
    def is_limited(self) -> bool:
        """Whether only some projects are offered, so that GitLab's totals say nothing."""
        return bool(self._allowed)

    async def get(self, path: str, query: Query | None = None, caching: Caching = FRESH) -> Reply:
        """Read a route as this caller."""
        token = self.token()
        if self.guard.policy.is_on and (about := identifiers.project_of(path)):
            await self.guard.read(about, (), self._plainly, token)
        if not caching.wanted:
            return _limits_told(await self.instance.get(path, query, token=token))
        about = identifiers.project_of(path)
        question = asked(self.instance.url, call.current().caller.principal, token, path, query, about)

        async def ask(etag: str) -> Reply:
            return _limits_told(await self.instance.get(path, query, token=token, etag=etag))

        reply, state = await self.cache.get(question, caching.seconds, ask)
        call.current().tell("X-Cache", state)
        call.current().log("debug", {"cache": state}, "gitlab")
        return reply

    async def one(self, path: str, query: Query | None = None, caching: Caching = FRESH) -> Record:
        """Read a route whose answer is one object."""
        reply = await self.get(path, query, caching)
        body = reply.json()
        if not isinstance(body, dict):
            raise unreadable(reply)
        row = Record(body)  # pyright: ignore[reportUnknownArgumentType] - Record trusts nothing
        return (await self._guarded(path, [row]))[0]

    async def _guarded(self, path: str, rows: list[Record]) -> list[Record]:
        """What the operator's rules leave of these rows."""
        if not self.guard.policy.is_on:
            return rows
        return await self.guard.read(identifiers.project_of(path), rows, self._plainly, self.token())

    async def _plainly(self, path: str) -> Record:
        body, _ = await self.instance.json(path, token=self.token())
        return Record(body)

    async def page(
        self,
        path: str,
        query: Query,
        number: int,
        size: int,
        read: Callable[[Record], T],
        caching: Caching = FRESH,
        *,
        keep: Callable[[Record], bool] | None = None,
    ) -> tuple[list[T], Pagination]:
        """Read a page of a list."""
        reply = await self.get(path, {**query, **pages.asked(number, size)}, caching)
        body = reply.json()
        if not isinstance(body, list):
            raise unreadable(reply)
        rows = records(body)  # pyright: ignore[reportUnknownArgumentType] - records() trusts nothing
        if path.endswith("issues"):
            self.learn_issues(rows)
        rows = await self._guarded(path, rows)
        pagination = pages.told(reply.headers, number, size)
        if keep is not None and self.is_limited:
            rows = [row for row in rows if keep(row)]
            pagination = replace(pagination, total=None, total_pages=None)
        return [read(row) for row in rows], pagination

    async def every(self, path: str, caching: Caching = FRESH) -> AsyncIterator[Record]:
        """Every row of a list, page by page while they are asked for; of a very long one, the first thousand."""
        for number in range(1, MOST_PAGES + 1):
            rows, pagination = await self.page(path, {}, number, pages.LARGEST_PAGE, _itself, caching)
            for row in rows:
                yield row
            if not pagination.has_next:
                break

    async def send(self, method: Literal["POST", "PUT"], path: str, body: dict[str, object]) -> Record:
        """Write as this caller; what was kept about the project is forgotten. Fields that are None are left out."""
        await self.guard.check_write(identifiers.project_of(path), self._plainly, self.token())
        try:
            filled = {name: value for name, value in body.items() if value is not None}
            reply = _limits_told(await self.instance.send(method, path, filled, token=self.token()))
        finally:
            await self.cache.purge(identifiers.project_of(path))
        return Record(reply.json())

    def written(self, text: str | None) -> str | None:
        """A text to be sent, with its quick actions escaped unless they are allowed."""
        return text if text is None or self._allow_quick_actions else neutralised(text)

    def learn_issues(self, raw: Iterable[Record]) -> None:
        """Remember which iid belongs to a global id: the contract asks for issues by the latter."""
        token = _hash(self.token())
        for issue in raw:
            number, iid = issue.number("id"), issue.number("iid")
            if number is not None and iid is not None:
                _learn(self._issues, (token, number), iid)

    async def iid_of(self, issue_id: int) -> list[int]:
        """The iids that a global issue id may have, the likeliest first; the caller checks which is right."""
        known = self._issues.get((_hash(self.token()), issue_id))
        return [known] if known is not None else await self._looked_up(issue_id)

    async def _looked_up(self, issue_id: int) -> list[int]:
        query = f'{{issue(id:"gid://gitlab/Issue/{issue_id}"){{iid projectId}}}}'
        try:
            answer = Record(await self.instance.ask_graphql(query, token=self.token()))
        except GitLabFailure:  # a token or an instance without GraphQL still has iids
            return []
        data = answer.record("data")
        issue = data.record("issue") if data else None
        iid = issue.number("iid") if issue else None
        return [iid] if iid is not None else []


def _itself(raw: Record) -> Record:
    return raw


def _limits_told(reply: Reply) -> Reply:
    """Pass on what GitLab says about its own limits, under names that cannot be taken for ours."""
    for name in ("Limit", "Remaining", "Reset"):
        value = reply.headers.get(f"ratelimit-{name.lower()}", "")
        if value.isascii() and value.isdigit():
            call.current().tell(f"X-GitLab-RateLimit-{name}", value)
    return reply


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:32]


def _learn(known: dict[K, V], key: K, value: V) -> None:
    if len(known) >= MOST_LEARNT:
        del known[next(iter(known))]
    known[key] = value
