"""The changes of a merge request in the shape of the workspace's own: files, lines, words that changed, colours."""

from __future__ import annotations

import hashlib
from typing import Annotated

from msgspec import Meta

from postil.core.failure import NotFound
from postil.core.others.untrusted import clean
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read
from postil.gitlab.instance.identifiers import check_commit
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Change
from postil.gitlab.operations.arguments import Cache, CacheTtl, Iid, Project
from postil.gitlab.operations.marks import reads
from postil.gitlab.operations.presentation import UntrustedAnswer
from postil.gitlab.part import GitLab
from postil.gitlab.policy.guard import WITHHELD
from postil.workspace.changes.changed_files import ChangedFile
from postil.workspace.changes.file_diff import FileDiff, parse_file, write_diffs

MOST_AT_ONCE = 50


class ComparedRequest(UntrustedAnswer, frozen=True, dict=True, kw_only=True):
    """The files that a merge request changes, and how those that were asked for differ."""

    says: str
    files: tuple[ChangedFile, ...]
    version: str = ""
    """The commits that are compared: `BASE..HEAD`."""
    more: int = 0
    """Files that are not listed."""
    diffs: tuple[FileDiff, ...] = ()
    web_url: str = ""
    untrusted: bool = True

    def write(self) -> str:
        """One file a line, then the lines of those that were asked for."""
        rows = [f"{self.says}: {len(self.files) + self.more} files"]
        rows += [f"{one.change} {one.file} +{one.added} -{one.removed}" for one in self.files]
        rows += [f"{self.more} more"] if self.more else []
        rows += write_diffs(self.diffs)
        return clean("\n".join(rows))


class CompareOperations:
    """A merge request to be looked at."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads(
        "compare_merge_request",
        toolset="review",
        tool=False,  # the page's own: models have get_merge_request_diff
        direct=True,
        shell="gitlab compare-merge-request",
        positional=("project_id", "merge_request_iid"),
    )
    async def compare_merge_request(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        files: Annotated[
            tuple[str, ...], Meta(max_length=MOST_AT_ONCE, description="show how these differ, line by line")
        ] = (),
        skip: Annotated[int, Meta(ge=0, description="lines of the diff to leave out, for a long one")] = 0,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> ComparedRequest:
        """List the files that a merge request changes, and show how some differ, with changed words and colours"""
        route = await self._pointer.merge_request(project_id, merge_request_iid)
        options = ReadOptions(cache, cache_ttl)
        about = await self._gitlab.get_one(route, None, options)
        says = f"!{about.number('iid') or '?'} {about.text('title') or ''}".strip()
        if self._gitlab.guard.policy.lockdown and about.text("title") == WITHHELD:
            return ComparedRequest(says=says, files=())  # a diff is its author's words, and so are file names
        rows = [read(Change, raw) async for raw in self._gitlab.get_every(f"{route}/diffs", options)]
        listed = {one.file: (one, change) for one, change in ((describe_change(row), row) for row in rows)}
        missing = next((name for name in files if name not in listed), None)
        if missing is not None:
            raise NotFound(
                f"{missing[:200]} did not change there", advice="Look at the list of files again", file=missing[:200]
            )
        return ComparedRequest(
            says=says,
            files=tuple(one for one, _ in listed.values()),
            version=_name_version(about.record("diff_refs")),
            more=_count_more(about.text("changes_count"), len(listed)),
            diffs=tuple(show_change(*listed[name], skip) for name in dict.fromkeys(files)),
            web_url=about.text("web_url") or "",
        )


def describe_change(change: Change) -> ChangedFile:
    """Return a changed file as the workspace names it. `new` stands for the diff: GitLab tells no content's name."""
    text = change.diff or ""
    new_path, old_path = change.new_path or change.old_path or "", change.old_path or ""
    kind = "added" if change.new_file else "deleted" if change.deleted_file else "modified"
    if change.renamed_file and kind == "modified":
        kind = "renamed"
    rows = text.split("\n")
    return ChangedFile(
        new_path,
        kind,
        sum(row.startswith("+") for row in rows),
        sum(row.startswith("-") for row in rows),
        old_path if kind == "renamed" else "",
        is_binary=text.startswith("Binary files ") or change.too_large or change.collapsed,
        new=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40],
    )


def show_change(one: ChangedFile, change: Change, skip: int) -> FileDiff:
    """Return how a file differs, line by line."""
    hunks, skipped, more = parse_file(one.file, change.diff or "", skip)
    return FileDiff(one, hunks, more, skipped)


def _name_version(refs: Record) -> str:
    base, head = check_commit(refs.text("base_sha")), check_commit(refs.text("head_sha"))
    return f"{base}..{head}" if base and head else ""


def _count_more(said: str | None, listed: int) -> int:
    """Return how many files are not listed, of `12` or of `1000+`."""
    digits = (said or "").removesuffix("+")
    return max(0, int(digits) - listed) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
