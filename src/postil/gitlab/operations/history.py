"""Operations on the history of a repository: commits, comparison, blame, branches and tags."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, Meta
from msgspec.structs import replace

from postil.core.others.untrusted import shorten
from postil.gitlab.diffs.diff_sizes import limit_changes
from postil.gitlab.fitting import choose_window, count_fitting, cut, measure, read_lines, room_for_text
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_file_path, check_folder, check_ref, make_route
from postil.gitlab.instance.records import Record, list_records
from postil.gitlab.model import BlameRange, Change, CommitItem
from postil.gitlab.operations.answers import Blame, CommitDetails, Commits, Comparison, Refs
from postil.gitlab.operations.arguments import (
    LONGEST_TITLE,
    Cache,
    CacheTtl,
    Lines,
    MaxBytes,
    Page,
    PerPage,
    Project,
    Since,
    check_optional_line,
    check_time,
)
from postil.gitlab.operations.marks import reads
from postil.gitlab.operations.presentation import fit_beside_others, list_page, remember
from postil.gitlab.part import GitLab
from postil.gitlab.policy.strangers_code import check_on_branch

W = TypeVar("W", Comparison, CommitDetails)
MOST_COMMITS = 100
"""Commits of a comparison that a model is given."""


class HistoryOperations:
    """What can be asked about how a repository came to be."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads("list_commits", toolset="code", shell="gitlab commits", positional=("project_id",))
    async def list_commits(
        self,
        project_id: Project | None = None,
        ref: Annotated[str, Meta(description="branch, tag or commit")] | None = None,
        path: Annotated[str, Meta(description="only those that touch it")] | None = None,
        author: Annotated[str, Meta(description="name or e-mail")] | None = None,
        since: Since | None = None,
        until: Since | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Commits:
        """List commits, newest first"""
        query: dict[str, str | int | bool | None] = {
            "ref_name": None if ref is None else check_ref(ref),
            "path": None if path is None else check_folder(path) or None,
            "author": check_optional_line("author", author),
            "since": check_time("since", since),
            "until": check_time("until", until),
        }
        project = await self._pointer.project(project_id)
        await check_on_branch(self._gitlab, project, ref)
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Commits, f"{project}/repository/commits", query, options)

    @reads(
        "get_commit", toolset="code", shell="gitlab commit", positional=("project_id", "sha"), requires=("sha",),
    )  # fmt: skip
    async def get_commit(
        self,
        project_id: Project | None = None,
        sha: Annotated[str, Meta(description="commit, branch or tag")] = "",
        path: Annotated[str, Meta(description="only the diff of this file")] | None = None,
        lines: Lines | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> CommitDetails:
        """Get a commit with its message and changes"""
        wanted, only = read_lines(lines), None if path is None else check_file_path(path, "path")
        name = make_route(check_ref(sha, "sha"))
        project = await self._pointer.project(project_id)
        await check_on_branch(self._gitlab, project, sha)
        route = f"{project}/repository/commits/{name}"
        options = ReadOptions(cache, cache_ttl)
        about, rows = await asyncio.gather(
            self._gitlab.get_one(route, None, options), self._list_diffs(f"{route}/diff", options)
        )
        whole = read(CommitDetails, about, diffs=_read_changes(rows, only))
        return _limit_diffs(await fit_beside_others(whole), wanted, max_bytes)

    @reads(
        "compare_refs", toolset="code", shell="gitlab compare", positional=("project_id", "base", "head"),
        requires=("base", "head"),
    )  # fmt: skip
    async def compare_refs(
        self,
        project_id: Project | None = None,
        base: Annotated[str, Meta(description="branch, tag or commit to start from")] = "",
        head: Annotated[str, Meta(description="branch, tag or commit to look at")] = "",
        path: Annotated[str, Meta(description="only the diff of this file")] | None = None,
        lines: Lines | None = None,
        straight: Annotated[bool, Meta(description="compare the two directly, not from where they parted")] = False,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Comparison:
        """Compare two refs: the commits and changes that one has more than the other"""
        wanted, only = read_lines(lines), None if path is None else check_file_path(path, "path")
        query: dict[str, str | int | bool | None] = {
            "from": check_ref(base, "base"),
            "to": check_ref(head, "head"),
            "straight": straight or None,
        }
        project = await self._pointer.project(project_id)
        await check_on_branch(self._gitlab, project, base, head)
        route = f"{project}/repository/compare"
        raw = await self._gitlab.get_one(route, query, ReadOptions(cache, cache_ttl))
        commits = [read(CommitItem, one) for one in raw.records("commits")]
        whole = read(Comparison, raw, commits=commits, diffs=_read_changes(raw.records("diffs"), only))
        return _limit_diffs(await fit_beside_others(whole), wanted, max_bytes)

    @reads(
        "blame_file", toolset="code", shell="gitlab blame", positional=("project_id", "file_path"),
        requires=("file_path",),
    )  # fmt: skip
    async def blame_file(
        self,
        project_id: Project | None = None,
        file_path: Annotated[str, Meta(description="file")] = "",
        ref: Annotated[str, Meta(description="branch, tag or commit")] | None = None,
        lines: Lines | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Blame:
        """Say which commit wrote each line of a file last"""
        wanted, path = read_lines(lines), check_file_path(file_path)
        query: dict[str, str | int | bool | None] = {"ref": "HEAD" if ref is None else check_ref(ref)}
        if wanted is not None:
            first, last = wanted
            query |= {"range[start]": first, "range[end]": last if last is not None else first + 999}
        project = await self._pointer.project(project_id)
        await check_on_branch(self._gitlab, project, ref)
        route = f"{project}/repository/files/{make_route(path)}/blame"
        reply = await self._gitlab.get(route, query, ReadOptions(cache, cache_ttl))
        ranges = _read_blame(list_records(reply.json()), wanted[0] if wanted else 1)
        whole = await fit_beside_others(Blame(path, ranges))
        return _limit_ranges(whole, max_bytes)

    @reads("list_refs", toolset="code", shell="gitlab refs", positional=("project_id",))
    async def list_refs(
        self,
        project_id: Project | None = None,
        kind: Annotated[Literal["branches", "tags"], Meta(description="which")] = "branches",
        search: Annotated[str, Meta(description="in the name; ^ and $ mark its ends")] | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Refs:
        """List the branches or tags of a project"""
        query = {"search": check_optional_line("search", search)}
        project = await self._pointer.project(project_id)
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Refs, f"{project}/repository/{kind}", {**query}, options)

    async def _list_diffs(self, route: str, options: ReadOptions) -> list[Record]:
        return [raw async for raw in self._gitlab.get_every(route, options)]


def _read_changes(rows: list[Record], only: str | None) -> list[Change]:
    changes = [read(Change, raw) for raw in rows]
    return changes if only is None else [one for one in changes if only in (one.new_path, one.old_path)]


def _limit_diffs(whole: W, wanted: tuple[int, int | None] | None, max_bytes: int | None) -> W:
    """Return a commit or a comparison, fit for models, with what one has room for."""
    fit, said = _limit_commits(whole, room_for_text(max_bytes) // 2)
    about = replace(fit, diffs=[]).write()
    diffs, left = limit_changes(fit.diffs, wanted, room_for_text(max_bytes) - measure(about))
    return remember(
        replace(fit, diffs=diffs, left_out="; ".join(filter(None, [said, left])) or UNSET),
        whole,
        max_bytes,
    )


def _limit_commits(fit: W, room: int) -> tuple[W, str]:
    """Return it with as many commits, or as much of the message, as there is room for, and what is missing."""
    if isinstance(fit, CommitDetails):
        short = cut(fit.message or "", room)
        if short == (fit.message or ""):
            return fit, ""
        said = f"message: {len(short)} of {len(fit.message or '')} characters are shown, max_bytes gets more"
        return replace(fit, message=short), said
    newest = [replace(one, title=shorten(one.title or "", LONGEST_TITLE)) for one in fit.commits[-MOST_COMMITS:]]
    kept = count_fitting([one.line() for one in reversed(newest)], room)
    gone = len(fit.commits) - kept
    said = f"{gone} commits are left out: list_commits with ref shows them" if gone else ""
    return replace(fit, commits=newest[len(newest) - kept :]), said


def _limit_ranges(whole: Blame, max_bytes: int | None) -> Blame:
    """Return a blame with the lines that a model has room for: whole ranges, or the first lines of the first one."""
    room, ranges = room_for_text(max_bytes), whole.ranges
    kept = count_fitting([one.line() for one in ranges], room)
    if kept == len(ranges):
        return remember(whole, whole, max_bytes)
    shown = ranges[:kept]
    first = int(ranges[kept].lines.partition("-")[0])
    said = f"lines={first}- goes on"
    if not kept:
        one = replace(ranges[0], title=shorten(ranges[0].title or "", LONGEST_TITLE))
        window = choose_window(one.text, None, room - measure(replace(one, text="").line()))
        after = first + window.last
        shown = [replace(one, lines=f"{first}-{after - 1}", text=window.text)]
        said = "the line is cut: max_bytes gets more" if window.is_cut else f"lines={after}- goes on"
    return remember(replace(whole, ranges=shown, left_out=said), whole, max_bytes)


def _read_blame(rows: list[Record], first: int) -> list[BlameRange]:
    found: list[BlameRange] = []
    for raw in rows:
        lines = raw.texts("lines")
        commit = raw.record("commit")
        title = (commit.text("message") or "").partition("\n")[0]
        numbers = f"{first}-{first + len(lines) - 1}"
        date = commit.text("authored_date")
        text = "\n".join(lines)
        found.append(BlameRange(numbers, commit.text("id"), commit.text("author_name"), date, title, text))
        first += len(lines)
    return found
