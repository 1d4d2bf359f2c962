"""The caller's way to GitLab: whose token, which projects, what is kept, and what was learnt on the way.

Every operation goes through here, so the allow-list, read-only and the cache hold for all of them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from postil.core import call
from postil.core.call import LOCAL
from postil.gitlab.failures import GitLabFailure, NotOffered
from postil.gitlab.instance import identifiers
from postil.gitlab.instance.cache import ResponseCache, make_question
from postil.gitlab.instance.client import Instance, Query, Reply
from postil.gitlab.instance.pages import LARGEST_PAGE, Pagination, limit_page, read_pagination
from postil.gitlab.instance.records import Record, list_records
from postil.gitlab.policy.guard import Guard, Policy
from postil.gitlab.policy.quick_actions import escape_quick_actions

K = TypeVar("K")
V = TypeVar("V")
MOST_LEARNT = 10_000
MOST_PAGES = 10
OFFERED_FOR = 60.0
"""Seconds for which it is remembered whether a project is among those offered."""


class ReadOptions(Struct, frozen=True):
    """What a caller says about one read: the contract's parameters of these names."""

    cache: bool = False
    cache_ttl: int = 300
    page: int = 1
    per_page: int = 20


PLAIN_READ = ReadOptions()


class NotConnected(GitLabFailure):
    """There is no token for this call."""

    exit_status = 3

    def __init__(self) -> None:
        super().__init__(401, "No GitLab token is configured", advice=HOW_TO_CONNECT)


class NoTokenBrought(GitLabFailure):
    """Somebody else than the local user calls, without a token of their own."""

    exit_status = 3

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
        self._projects: dict[tuple[str, str], tuple[float, bool]] = {}

    def token(self) -> str:
        """Return the caller's own credential. The configured one is the local user's: nobody else borrows it."""
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

    async def check_project(self, given: identifiers.ProjectId) -> str:
        """Return the route of a project. Raises NotOffered for one that is not offered here."""
        segment = identifiers.check_project(given)
        if self._allowed and not await self._is_allowed(segment):
            raise NotOffered(f"Project {segment} is not among the projects offered here")
        return identifiers.make_route("projects", segment)

    async def _is_allowed(self, segment: str | int) -> bool:
        """Whether the list names this project, by number or by path: GitLab says which is which."""
        name, token = str(segment).lower(), self.token()
        if name in self._allowed:
            return True
        expires, known = self._projects.get((_hash(token), name), (0.0, False))
        if expires <= time.monotonic():  # projects are renamed and moved
            known = self.allows(await self._get_unguarded(identifiers.make_route("projects", segment)))
            _learn(self._projects, (_hash(token), name), (time.monotonic() + OFFERED_FOR, known))
        return known

    def allows(self, project: Record) -> bool:
        """Whether a project, as GitLab describes it, is among those offered."""
        return self._lists(project.number("id"), project.text("path_with_namespace"))

    def allows_issue(self, found: Record) -> bool:
        """Whether an issue or merge request that was found anywhere is in a project that is offered."""
        full = found.record("references").text("full") or ""
        return self._lists(found.number("project_id"), full.partition("#")[0].partition("!")[0])

    def _lists(self, number: int | None, path: str | None) -> bool:
        return not self._allowed or str(number) in self._allowed or (path or "").lower() in self._allowed

    async def get(self, path: str, query: Query | None = None, options: ReadOptions = PLAIN_READ) -> Reply:
        """Read a route as this caller."""
        token, about = self.token(), identifiers.find_project(path)
        if about and self.guard.policy.is_on:
            await self.guard.filter_rows(about, (), self._get_unguarded, token)
        if not options.cache:
            return _pass_on_limits(await self.instance.get(path, query, token=token))

        async def ask(etag: str) -> Reply:
            return _pass_on_limits(await self.instance.get(path, query, token=token, etag=etag))

        now = call.current()
        question = make_question(self.instance.url, now.caller.principal, token, path, query, about)
        reply, state = await self.cache.get(question, options.cache_ttl, ask)
        now.tell("X-Cache", state)
        now.log("debug", {"cache": state}, "gitlab")
        return reply

    async def stream(self, path: str, feed: Callable[[bytes], None]) -> None:
        """Read a route of any length as this caller, piece by piece. Nothing of it is kept."""
        token, about = self.token(), identifiers.find_project(path)
        if about and self.guard.policy.is_on:
            await self.guard.filter_rows(about, (), self._get_unguarded, token)
        await self.instance.stream(path, feed, token=token)

    async def get_one(self, path: str, query: Query | None = None, options: ReadOptions = PLAIN_READ) -> Record:
        """Read a route whose answer is one object."""
        reply = await self.get(path, query, options)
        row = Record(reply.json())
        if not row:
            raise reply.unreadable()
        return (await self.apply_rules(path, [row]))[0] if self.guard.policy.is_on else row

    async def get_page(
        self,
        path: str,
        query: Query,
        options: ReadOptions = PLAIN_READ,
        keeps: Callable[[Record], bool] | None = None,
    ) -> tuple[list[Record], Pagination]:
        """Read a page of a list. `keeps` says which rows stay where only some projects are offered."""
        page = limit_page(options.page, options.per_page)
        reply = await self.get(path, {**query, **page}, options)
        body = reply.json()
        if not isinstance(body, list):
            raise reply.unreadable()
        rows = list_records(body)  # pyright: ignore[reportUnknownArgumentType] - list_records() trusts nothing
        if path.endswith("issues"):
            self.learn_issues(rows)
        if self.guard.policy.is_on:
            rows = await self.apply_rules(path, rows)
        pagination = read_pagination(reply.headers, **page)
        if keeps is not None and self._allowed:  # GitLab's totals count the hidden rows too
            return [row for row in rows if keeps(row)], replace(pagination, total=None, total_pages=None)
        return rows, pagination

    async def get_every(self, path: str, options: ReadOptions = PLAIN_READ) -> AsyncIterator[Record]:
        """Read every row of a list, page by page while they are asked for; of a very long one, the first thousand."""
        for number in range(1, MOST_PAGES + 1):
            rows, pagination = await self.get_page(path, {}, replace(options, page=number, per_page=LARGEST_PAGE))
            for row in rows:
                yield row
            if not pagination.has_next:
                break

    async def apply_rules(self, path: str, rows: list[Record]) -> list[Record]:
        """Return what the operator's rules leave of these rows."""
        return await self.guard.filter_rows(identifiers.find_project(path), rows, self._get_unguarded, self.token())

    async def locks(self, path: str) -> bool:
        """Whether words of strangers are withheld in the project that a route is about."""
        return await self.guard.locks(identifiers.find_project(path), self._get_unguarded, self.token())

    async def _get_unguarded(self, path: str) -> Record:
        reply = await self.instance.get(path, token=self.token())
        body = reply.json()
        if body is None and reply.body.strip() != b"null":
            raise reply.unreadable()
        return Record(body)

    async def send(self, method: Literal["POST", "PUT", "DELETE"], path: str, body: dict[str, object]) -> Record:
        """Write as this caller; what was kept about the project is forgotten. Fields that are None are left out."""
        about = identifiers.find_project(path)
        await self.guard.check_write(about, self._get_unguarded, self.token())
        try:
            filled = {name: value for name, value in body.items() if value is not None}
            reply = _pass_on_limits(await self.instance.send(method, path, filled, token=self.token()))
        finally:
            await self.cache.purge(about)
        return Record(reply.json())

    def escape(self, text: str | None) -> str | None:
        """Return a text to be sent, with its quick actions escaped unless they are allowed."""
        return text if text is None or self._allow_quick_actions else escape_quick_actions(text)

    def learn_issues(self, issues: Iterable[Record]) -> None:
        """Remember which iid belongs to a global id: the contract asks for issues by the latter."""
        token = _hash(self.token())
        for issue in issues:
            number, iid = issue.number("id"), issue.number("iid")
            if number is not None and iid is not None:
                _learn(self._issues, (token, number), iid)

    async def find_iid(self, issue_id: int) -> int | None:
        """Return the iid that a global issue id probably has; the caller checks that it is right."""
        known = self._issues.get((_hash(self.token()), issue_id))
        if known is not None:
            return known
        query = f'{{issue(id:"gid://gitlab/Issue/{issue_id}"){{iid projectId}}}}'
        try:
            answer = Record(await self.instance.ask_graphql(query, token=self.token()))
        except GitLabFailure:  # a token or an instance without GraphQL still has iids
            return None
        return answer.record("data").record("issue").number("iid")


def _pass_on_limits(reply: Reply) -> Reply:
    """Tell the caller what GitLab says about its own limits, under names that cannot be taken for ours."""
    now = call.current()
    for name in ("Limit", "Remaining", "Reset"):
        value = reply.headers.get(f"ratelimit-{name.lower()}", "")
        if value.isascii() and value.isdigit():
            now.tell(f"X-GitLab-RateLimit-{name}", value)
    return reply


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:32]


def _learn(known: dict[K, V], key: K, value: V) -> None:
    if len(known) >= MOST_LEARNT:
        del known[next(iter(known))]
    known[key] = value
