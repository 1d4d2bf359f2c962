"""Operations about people: who the caller is, who others are, and what waits for the caller."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta
from msgspec.structs import replace

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.fitting import room_for_text
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_line
from postil.gitlab.instance.records import Record
from postil.gitlab.model import IssueRow, MergeRequestRow, Todo
from postil.gitlab.operations.answers import Myself, MyWork, Users
from postil.gitlab.operations.arguments import Cache, CacheTtl, Page, PerPage
from postil.gitlab.operations.marks import reads
from postil.gitlab.operations.presentation import (
    SHORT,
    count_sizes,
    fit_beside_others,
    fit_for_models,
    list_page,
    remember,
)
from postil.gitlab.part import GitLab
from postil.gitlab.policy.guard import WITHHELD

MOST_OF_EACH = 20


class PeopleOperations:
    """What can be asked about people."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab = context.connection

    @reads("my_work", toolset="review", shell="gitlab my-work")
    async def my_work(
        self,
        per_page: Annotated[int, Meta(ge=1, le=100, description="most of each kind")] = MOST_OF_EACH,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> MyWork:
        """Show reviews asked of you, your merge requests, your issues and to-dos"""
        options = ReadOptions(cache, cache_ttl, per_page=per_page)
        me = (await self._gitlab.get_one("user", None, options)).number("id") or 0
        reviews, own, issues, todos = await asyncio.gather(
            self._list("merge_requests", options, scope="all", reviewer_id=me, state="opened"),
            self._list("merge_requests", options, scope="created_by_me", state="opened"),
            self._list("issues", options, scope="assigned_to_me", state="opened"),
            self._list_todos(options),
        )
        whole = MyWork(
            [read(MergeRequestRow, raw) for raw in reviews[0]],
            [read(MergeRequestRow, raw) for raw in own[0]],
            [read(IssueRow, raw) for raw in issues[0]],
            [read(Todo, raw) for raw in todos[0]],
        )
        kinds = (("reviews", reviews), ("merge requests", own), ("issues", issues), ("to-dos", todos))
        more = [name for name, (_, has_next) in kinds if has_next]
        return _limit_work(await fit_beside_others(whole, SHORT), more)

    @reads("whoami", toolset="admin", shell="gitlab whoami")
    async def whoami(self, cache: Cache = False, cache_ttl: CacheTtl = 300) -> Myself:
        """Say whose GitLab token this is, and what it may do"""
        options = ReadOptions(cache, cache_ttl)
        raw = await self._gitlab.get_one("user", None, options)
        try:
            token = await self._gitlab.get_one("personal_access_tokens/self", None, options)
        except GitLabFailure:  # an OAuth token, or an old GitLab
            token = Record(None)
        scopes, expires = token.texts("scopes"), token.text("expires_at")
        return fit_for_models(read(Myself, raw, scopes=scopes, expires_at=expires, instance=self._gitlab.instance.url))

    @reads("find_user", toolset="admin", shell="gitlab find-user", positional=("search",))
    async def find_user(
        self,
        search: Annotated[str, Meta(description="name, username or e-mail")],
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Users:
        """Find users by name"""
        options = ReadOptions(cache, cache_ttl, page, per_page)
        words = check_line("search", search).removeprefix("@")
        return await list_page(self._gitlab, Users, "users", {"search": words}, options)

    async def _list(
        self, path: str, options: ReadOptions, **query: str | int | bool | None
    ) -> tuple[list[Record], bool]:
        rows, pagination = await self._gitlab.get_page(path, query, options, self._gitlab.allows_issue)
        return rows, pagination.has_next

    async def _list_todos(self, options: ReadOptions) -> tuple[list[Record], bool]:
        """Return to-dos, each with the project it is about where the operator's rules look for it."""
        rows, pagination = await self._gitlab.get_page("todos", {"state": "pending"}, options)
        guard = self._gitlab.guard.policy
        flat: list[Record] = []
        for row in rows:
            project, target = row.record("project"), row.record("target")
            if not self._gitlab.allows(project):
                continue
            sign = {"MergeRequest": "!", "Issue": "#"}.get(row.text("target_type") or "", " ")
            fields: dict[str, object] = {
                "id": row.number("id"),
                "project_id": project.number("id"),
                "action": row.text("action_name"),
                "reference": f"{project.text('path_with_namespace')}{sign}{target.number('iid') or ''}",
                "title": WITHHELD if guard.lockdown else target.text("title"),
                "author": row.fields.get("author"),
                "created_at": row.text("created_at"),
                "web_url": row.text("target_url"),
            }
            flat.append(Record(fields))
        return (await self._gitlab.apply_rules("todos", flat) if guard.is_on else flat), pagination.has_next


def _limit_work(fit: MyWork, more: list[str]) -> MyWork:
    """Return what a model has room for: of every kind as much as of the others."""
    share = room_for_text(None) // 4
    said = [f"there are more {', '.join(more)}: list_merge_requests, list_issues or per_page get them"] if more else []
    changes: dict[str, Any] = {}
    for name in ("reviews", "merge_requests", "issues", "todos"):
        rows: list[Any] = getattr(fit, name)
        kept = count_sizes([len(msgspec.json.encode(row)) + 20 for row in rows], share)
        if kept < len(rows):
            changes[name] = rows[:kept]
            said.append(f"{len(rows) - kept} of {name} are left out")
    return remember(replace(fit, **changes, left_out="; ".join(said) or UNSET), fit)
