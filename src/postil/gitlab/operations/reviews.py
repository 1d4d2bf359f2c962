"""Operations of a review: read the changes and the discussions, comment on lines, answer, resolve."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct
from msgspec.structs import replace

from postil.gitlab.diffs.diff_sizes import limit_changes
from postil.gitlab.diffs.positions import DiffRefs, Place, make_position, write_suggestion
from postil.gitlab.failures import GitLabFailure, invalid
from postil.gitlab.fitting import read_lines, room_for_text
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import read, read_rows
from postil.gitlab.instance.identifiers import check_commit, check_discussion, check_file_path
from postil.gitlab.instance.pages import Pagination
from postil.gitlab.instance.records import Record
from postil.gitlab.model import Change
from postil.gitlab.operations import answers, arguments
from postil.gitlab.operations.arguments import Cache, CacheTtl, Iid, Lines, MaxBytes, Page, PerPage, Project
from postil.gitlab.operations.marks import reads, writes
from postil.gitlab.operations.presentation import fit_beside_others, list_page, remember
from postil.gitlab.part import GitLab
from postil.gitlab.policy.guard import WITHHELD

TOOLSET = "review"
ONE = ("project_id", "merge_request_iid")
MOST_COMMENTS = 100
SHORTEST_SHA = 7
Number: TypeAlias = Annotated[int, Meta(ge=1)]
PathOfChange: TypeAlias = Annotated[str, Meta(description="changed file to comment on")]
NewLine: TypeAlias = Annotated[int, Meta(ge=1, description="line in the new file; of a range the last")]
OldLine: TypeAlias = Annotated[int, Meta(ge=1, description="line in the old file, for a removed line")]
StartLine: TypeAlias = Annotated[int, Meta(ge=1, description="first line of a range, in the new file")]
StartOldLine: TypeAlias = Annotated[int, Meta(ge=1, description="first line of a range, in the old file")]
SuggestedText: TypeAlias = Annotated[str, Meta(description="text to replace the lines with; empty deletes them")]
HeadSha: TypeAlias = Annotated[str, Meta(description="head_sha of the diff that was read")]


class ReviewComment(Struct, frozen=True, forbid_unknown_fields=True):
    """A comment of a review: on lines of a file, or in a discussion."""

    body: str = ""
    path: str | None = None
    line: Number | None = None
    old_line: Number | None = None
    start_line: Number | None = None
    start_old_line: Number | None = None
    suggestion: str | None = None
    discussion_id: str | None = None


class ReviewOperations:
    """What a reviewer does with the changes of a merge request."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads("get_merge_request_diff", toolset=TOOLSET, shell="gitlab merge-request-diff", positional=ONE)
    async def get_merge_request_diff(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        path: Annotated[str, Meta(description="only this changed file")] | None = None,
        lines: Lines | None = None,
        max_bytes: MaxBytes | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.Changes:
        """Get the changed files of a merge request as unified diffs"""
        wanted = read_lines(lines)
        if wanted is not None and path is None:
            raise invalid("lines", "are lines of one file's diff: give path too")
        only = None if path is None else check_file_path(path, "path")
        route = await self._pointer.merge_request(project_id, merge_request_iid)
        options = ReadOptions(cache, cache_ttl, page, per_page)
        about, (rows, pagination) = await asyncio.gather(
            self._gitlab.get_one(route, None, options), self._read_changes(route, only, options)
        )
        original = read_rows(answers.Changes, rows, pagination=pagination)
        if self._gitlab.guard.policy.lockdown and about.text("title") == WITHHELD:
            # a diff is its author's words, and so are file names
            return answers.Changes([Change(None, None, WITHHELD) for _ in original.diffs], pagination=pagination)
        fit = await fit_beside_others(original)
        room = room_for_text(max_bytes)
        shown, left = limit_changes(fit.diffs, wanted, room)
        head = check_commit(about.record("diff_refs").text("head_sha")) or about.text("sha") or UNSET
        return remember(replace(fit, diffs=shown, head_sha=head, left_out=left or UNSET), fit, max_bytes)

    @reads("list_merge_request_discussions", toolset=TOOLSET, shell="gitlab discussions", positional=ONE)
    async def list_merge_request_discussions(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        max_bytes: MaxBytes | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> answers.Discussions:
        """List the discussions of a merge request with their notes"""
        path = f"{await self._pointer.merge_request(project_id, merge_request_iid)}/discussions"
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, answers.Discussions, path, {}, options, max_bytes=max_bytes)

    @writes("comment_on_merge_request", toolset=TOOLSET, shell="gitlab comment", positional=ONE, clears=("suggestion",))
    async def comment_on_merge_request(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        body: Annotated[str, Meta(description="Markdown")] = "",
        discussion_id: Annotated[str, Meta(description="reply in this discussion")] | None = None,
        path: PathOfChange | None = None,
        line: NewLine | None = None,
        old_line: OldLine | None = None,
        start_line: StartLine | None = None,
        start_old_line: StartOldLine | None = None,
        suggestion: SuggestedText | None = None,
        sha: HeadSha | None = None,
    ) -> answers.Noted:
        """Comment on a merge request, on lines of its diff (with a suggestion), or reply in a discussion"""
        comment = ReviewComment(body, path, line, old_line, start_line, start_old_line, suggestion, discussion_id)
        text, place = self._check_comment(comment)
        head = _check_head(sha)
        route = await self._pointer.merge_request(project_id, merge_request_iid)
        discussions = f"{route}/discussions"
        if discussion_id is not None:
            thread = check_discussion(discussion_id)
            raw = await self._gitlab.send("POST", f"{discussions}/{thread}/notes", {"body": text})
            return read(answers.Noted, raw, discussion_id=thread)
        position = None if place is None else (await self._locate(route, [place], head))[0]
        try:
            raw = await self._gitlab.send("POST", discussions, {"body": text, "position": position})
        except GitLabFailure as failure:
            _explain_place(failure, place)
            raise
        first = next(iter(raw.records("notes")), Record(None))
        return read(answers.Noted, first, discussion_id=raw.text("id"))

    @writes("review_merge_request", toolset=TOOLSET, shell="gitlab review", positional=ONE)
    async def review_merge_request(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        comments: Annotated[
            list[ReviewComment], Meta(description="each with body, and path with line/old_line, or discussion_id")
        ] = [],  # noqa: B006 - never changed
        body: Annotated[str, Meta(description="summary of the review")] = "",
        sha: HeadSha | None = None,
    ) -> answers.Reviewed:
        """Submit several comments as one review: all of them, or none"""
        if not comments and not body.strip():
            raise invalid("comments", "or body must be given")
        if len(comments) > MOST_COMMENTS:
            raise invalid("comments", f"must be at most {MOST_COMMENTS}")
        checked = [self._check_comment(comment) for comment in comments]
        head = _check_head(sha)
        route = await self._pointer.merge_request(project_id, merge_request_iid)
        placed = [place for _, place in checked if place is not None]
        positions = iter(await self._locate(route, placed, head) if placed else [])
        drafts: list[dict[str, object]] = []
        for comment, (text, place) in zip(comments, checked, strict=True):
            draft: dict[str, object] = {"note": text, "position": None if place is None else next(positions)}
            draft["in_reply_to_discussion_id"] = comment.discussion_id and check_discussion(comment.discussion_id)
            drafts.append(draft)
        if body.strip():
            drafts.append({"note": self._gitlab.escape(body)})
        return await self._publish(route, drafts, [place for _, place in checked])

    @writes(
        "resolve_discussion",
        toolset=TOOLSET,
        shell="gitlab resolve",
        positional=(*ONE, "discussion_id"),
        requires=("discussion_id",),
    )
    async def resolve_discussion(
        self,
        project_id: Project | None = None,
        merge_request_iid: Iid | None = None,
        discussion_id: Annotated[str, Meta(description="id")] = "",
        resolved: Annotated[bool, Meta(description="false opens it again")] = True,
        body: Annotated[str, Meta(description="reply first with this")] | None = None,
    ) -> answers.Resolved:
        """Resolve a discussion of a merge request, or open it again"""
        thread = check_discussion(discussion_id)
        reply = None if body is None else self._gitlab.escape(arguments.check_body(body))
        route = await self._pointer.merge_request(project_id, merge_request_iid)
        if reply is not None:
            await self._gitlab.send("POST", f"{route}/discussions/{thread}/notes", {"body": reply})
        await self._gitlab.send("PUT", f"{route}/discussions/{thread}", {"resolved": resolved})
        return answers.Resolved(thread, resolved)

    def _check_comment(self, comment: ReviewComment) -> tuple[str, Place | None]:
        """Return the text of a comment and the place where it stands, if it stands on lines."""
        numbers = (comment.line, comment.old_line, comment.start_line, comment.start_old_line)
        text = self._gitlab.escape(comment.body) or ""
        if comment.path is None:
            if any(number is not None for number in numbers) or comment.suggestion is not None:
                raise invalid("path", "must be given with a line")
            return arguments.check_body(text), None
        if comment.discussion_id is not None:
            raise invalid("discussion_id", "says where a reply stands: leave out path and line")
        place = Place(check_file_path(comment.path, "path"), *numbers)
        if place.line is None and place.old_line is None:
            raise invalid("line", "or old_line must be given with path")
        if comment.suggestion is not None:
            return write_suggestion(text, comment.suggestion, place), place
        return arguments.check_body(text), place

    async def _locate(self, route: str, places: list[Place], sha: str | None) -> list[dict[str, object]]:
        """Return the positions of places in the diff of `sha`, or in the newest one."""
        for _ in range(3):  # a push between two questions would put the lines of one diff beside the commits of another
            about = await self._gitlab.get_one(route)
            refs = _read_refs(about.record("diff_refs"))
            if refs is None:
                raise GitLabFailure(409, "GitLab has not made the diff yet", advice="Try again in a moment.")
            if sha is not None and not refs.head_sha.startswith(sha):
                return await self._locate_earlier(route, places, sha)
            changes = await self._find_changes(route, {place.path for place in places})
            again = _read_refs((await self._gitlab.get_one(route)).record("diff_refs"))
            if again == refs:
                return [make_position(place, changes[place.path], refs) for place in places]
        raise GitLabFailure(409, "The branch is pushed to all the time", advice="Try again in a moment.")

    async def _locate_earlier(self, route: str, places: list[Place], sha: str) -> list[dict[str, object]]:
        """Return positions in an earlier diff: GitLab carries them over to the present one."""
        async for version in self._gitlab.get_every(f"{route}/versions"):
            head = check_commit(version.text("head_commit_sha"))
            number = version.number("id")
            if head is None or number is None or not head.startswith(sha):
                continue
            whole = await self._gitlab.get_one(f"{route}/versions/{number}")
            names = {"base_sha": "base_commit_sha", "start_sha": "start_commit_sha", "head_sha": "head_commit_sha"}
            refs = _read_refs(Record({ours: whole.text(theirs) for ours, theirs in names.items()}))
            if refs is not None:
                changes = _index_changes(whole.records("diffs"))
                _check_paths(changes, {place.path for place in places})
                return [make_position(place, changes[place.path], refs) for place in places]
        raise invalid("sha", "is not the head of any version of this merge request: read its diff again")

    async def _find_changes(self, route: str, paths: set[str]) -> dict[str, Change]:
        rows: list[Record] = []
        missing = set(paths)
        async for raw in self._gitlab.get_every(f"{route}/diffs"):
            rows.append(raw)
            missing.discard(raw.text("new_path") or "")
            if not missing:
                break
        found = _index_changes(rows)
        _check_paths(found, paths)
        return found

    async def _read_changes(
        self, route: str, only: str | None, options: ReadOptions
    ) -> tuple[list[Record], Pagination]:
        if only is None:
            return await self._gitlab.get_page(f"{route}/diffs", {}, options)
        _, pagination = await self._gitlab.get_page(f"{route}/diffs", {}, replace(options, page=1, per_page=1))
        async for raw in self._gitlab.get_every(f"{route}/diffs", options):
            if only in (raw.text("new_path"), raw.text("old_path")):
                return [raw], replace(pagination, total=1, total_pages=1, has_next=False, has_prev=False)
        raise invalid("path", "is not among the changed files of this merge request")

    async def _publish(
        self, route: str, drafts: list[dict[str, object]], places: list[Place | None]
    ) -> answers.Reviewed:
        """Write drafts and publish them as one review; what cannot be written leaves none of them behind."""
        path = f"{route}/draft_notes"
        others = [raw async for raw in self._gitlab.get_every(path)]
        made: list[int] = []
        try:
            for number, draft in enumerate(drafts):
                try:
                    raw = await self._gitlab.send("POST", path, draft)
                except GitLabFailure as failure:
                    failure.data["comment"] = number
                    _explain_place(failure, places[number] if number < len(places) else None)
                    raise
                if (written := raw.number("id")) is not None:
                    made.append(written)
        except GitLabFailure:
            for written in made:
                await self._gitlab.send("DELETE", f"{path}/{written}", {})
            raise
        if not others:
            await self._gitlab.send("POST", f"{path}/bulk_publish", {})
            return answers.Reviewed(len(drafts), 0)
        if len(made) < len(drafts):  # GitLab accepted one and did not say its number: those that came since are ours
            before = {raw.number("id") for raw in others}
            now = [raw.number("id") async for raw in self._gitlab.get_every(path)]
            made = [number for number in now if number is not None and number not in before]
        for written in made:  # publishing all would publish what this person has not finished
            await self._gitlab.send("PUT", f"{path}/{written}/publish", {})
        return answers.Reviewed(len(drafts), len(others))


def _check_head(given: str | None) -> str | None:
    if given is not None and (check_commit(given) is None or len(given) < SHORTEST_SHA):
        raise invalid("sha", "must be the head_sha that get_merge_request_diff shows")
    return None if given is None else given.lower()


def _explain_place(failure: GitLabFailure, place: Place | None) -> None:
    """Say which line it was where GitLab only says that the position is none."""
    if failure.status == 400 and place is not None:
        number = f"old_line {place.old_line}" if place.line is None else f"line {place.line}"
        failure.advice = (
            f"GitLab does not find {number} of {place.path} in this diff: name one that get_merge_request_diff shows."
        )


def _read_refs(raw: Record) -> DiffRefs | None:
    found = [check_commit(raw.text(name)) for name in ("base_sha", "start_sha", "head_sha")]
    return DiffRefs(*(one for one in found if one)) if all(found) else None


def _index_changes(rows: list[Record]) -> dict[str, Change]:
    """Return changed files by both of their names; where a file took another's old name, the new name counts."""
    changes = [read(Change, raw) for raw in rows]
    old = {change.old_path: change for change in changes if change.old_path}
    return old | {change.new_path: change for change in changes if change.new_path}


def _check_paths(changes: dict[str, Change], wanted: set[str]) -> None:
    missing = sorted(wanted - set(changes))
    if missing:
        raise invalid("path", f"{missing[0]} is not among the changed files of this merge request")
