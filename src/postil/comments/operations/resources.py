"""Comments as resources: the whole workspace, a file, a tag, the orphans, those with AI metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from postil.comments.model import ALL_TAGS, Damage, Located, State
from postil.comments.operations.answers import CommentNow, comment_now, describe_anchor
from postil.comments.sidecar.document import VERSION
from postil.core.failure import Failure
from postil.core.registry import ResourceNotFound
from postil.core.resource import join_page, match, resource, split_page

if TYPE_CHECKING:
    from postil.comments.index.subscriptions import Subscriptions
    from postil.comments.part import CommentsContext

FILE_TEMPLATE = "comment://workspace/{filePath}.comments"
TAG_TEMPLATE = "comment://workspace/tags/{tag}"
_JSON = "application/json"
MOST_ON_PAGE = 500
LARGEST_PAGE = 512 * 1024
"""Bytes of comments, as they are kept, that one reading answers; the rest is at the address in `next`."""
LONGEST_NUMBER = 18


class GhostMarker(Struct, frozen=True, omit_defaults=True):
    """Where a comment is tied to the code."""

    id: str
    commentId: str
    line: int
    state: State
    confidence: float
    endLine: int = 0
    anchor: str = ""
    anchorType: str = ""
    originalLine: int = 0
    isOrphaned: bool = False


class FileEntry(Struct, frozen=True, omit_defaults=True):
    """The comments of one file."""

    filePath: str
    version: str
    comments: list[CommentNow]
    ghostMarkers: list[GhostMarker]
    totalComments: int
    outside: str = ""
    """What a sparse checkout leaves out, here and below, and how to see it."""
    next: str = ""


class Everything(Struct, frozen=True, omit_defaults=True):
    """All comments, by file."""

    files: list[FileEntry]
    totalComments: int
    totalFiles: int
    damaged: tuple[Damage, ...] = ()
    outside: str = ""
    next: str = ""


class Item(Struct, frozen=True, omit_defaults=True):
    """One comment with its file and marker."""

    filePath: str
    comment: CommentNow
    ghostMarker: GhostMarker | None = None
    reason: str = ""


class Tagged(Struct, frozen=True, omit_defaults=True):
    """The comments with one tag."""

    tag: str
    comments: list[Item]
    totalCount: int
    damaged: tuple[Damage, ...] = ()
    outside: str = ""
    next: str = ""


class Orphans(Struct, frozen=True, omit_defaults=True):
    """The comments whose code is gone."""

    orphanedComments: list[Item]
    totalCount: int
    damaged: tuple[Damage, ...] = ()
    outside: str = ""
    next: str = ""


class Enriched(Struct, frozen=True, omit_defaults=True):
    """The comments with AI metadata, and the models named there."""

    comments: list[Item]
    totalCount: int
    models: list[str]
    damaged: tuple[Damage, ...] = ()
    outside: str = ""
    next: str = ""


class CommentResources:
    """Comments that can be read and watched at an address."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @resource("comment://workspace/all", name="All comments", mime_type=_JSON, watch="watch", paged=True)
    def read_all(self, after: str = "") -> Everything:
        """All comments across entire workspace"""
        found, total, rest = self._read_page("comment://workspace/all", after, "1")
        by_file: dict[str, list[Located]] = {}
        for each in found:
            by_file.setdefault(each.filePath, []).append(each)
        files = [_make_file_entry(path, some) for path, some in by_file.items()]
        from postil.comments.index.pages import count_holders  # SQLite, which the overview has loaded

        overview = self._context.overview
        return Everything(
            files, total, count_holders(overview.index, "1"), overview.damaged(), overview.outside(), rest
        )

    @resource(
        FILE_TEMPLATE,
        name="Comments of a file",
        mime_type=_JSON,
        watch="watch",
        complete={"filePath": "complete_commented_file"},
        paged=True,
    )
    def read_file(self, filePath: str, after: str = "") -> FileEntry:
        """Comments for specific file"""
        uri = FILE_TEMPLATE.replace("{filePath}", filePath)
        try:
            path = self._context.existing(filePath)
        except Failure as fault:
            fault.data = {**fault.data, "uri": uri[:1000]}
            raise
        first = _read_number(after, uri)
        page, total = self._context.overview.file_page(path, first, MOST_ON_PAGE, LARGEST_PAGE)
        rest = join_page(uri, str(first + len(page))) if first + len(page) < total else ""
        outside = self._context.outside_of(path)
        return replace(_make_file_entry(path, page), totalComments=total, outside=outside, next=rest)

    @resource(
        TAG_TEMPLATE, name="Comments with a tag", mime_type=_JSON, watch="watch", complete={"tag": ALL_TAGS}, paged=True
    )
    def read_tag(self, tag: str, after: str = "") -> Tagged:
        """All comments with specific tag"""
        tag = tag.upper() if tag.upper() in ALL_TAGS else tag
        if tag not in ALL_TAGS:
            raise ResourceNotFound(
                f"There is no tag {tag[:50]!r}",
                advice=f"Use one of {', '.join(ALL_TAGS)}",
                uri=f"comment://workspace/tags/{tag}"[:1000],
            )
        found, total, rest = self._read_page(f"comment://workspace/tags/{tag}", after, "tag = ?", tag)
        return Tagged(tag, _make_items(found), total, *self._tell_missing(), rest)

    def complete_commented_file(self, value: str) -> list[str]:
        """Files with comments whose paths begin like this."""
        return [path for path in self._context.store.paths() if path.startswith(value)]

    @resource("comment://workspace/orphaned", name="Orphaned comments", mime_type=_JSON, watch="watch", paged=True)
    def read_orphaned(self, after: str = "") -> Orphans:
        """Comments whose anchors no longer exist"""
        found, total, rest = self._read_page("comment://workspace/orphaned", after, "state = 'orphaned'")
        return Orphans(_make_items(found, reasons=True), total, *self._tell_missing(), rest)

    @resource(
        "comment://workspace/ai-enriched", name="AI-enriched comments", mime_type=_JSON, watch="watch", paged=True
    )
    def read_enriched(self, after: str = "") -> Enriched:
        """Comments with AI metadata"""
        found, total, rest = self._read_page("comment://workspace/ai-enriched", after, "ai = 1")
        items = _make_items(found)
        models = {item.comment.model for item in items} - {""}
        return Enriched(items, total, sorted(models), *self._tell_missing(), rest)

    def _read_page(self, uri: str, after: str, where: str, *values: object) -> tuple[list[Located], int, str]:
        """Returns the comments of one page, how many there are in all, and the address of the next page."""
        from postil.comments.index.pages import count_comments, read_page

        overview = self._context.overview
        overview.refresh()
        place, mark, path = after.partition(" ")
        if after and (not mark or not place.isdecimal() or len(place) > LONGEST_NUMBER):
            raise _no_page(uri, after)
        start = (path, int(place)) if after else ("", -1)
        found, last = read_page(overview.index, where, values, start, MOST_ON_PAGE, LARGEST_PAGE)
        rest = join_page(uri, f"{last[1]} {last[0]}") if last else ""
        return found, count_comments(overview.index, where, values), rest

    def _tell_missing(self) -> tuple[tuple[Damage, ...], str]:
        """Returns what could not be read, and what a sparse checkout leaves out."""
        return self._context.overview.damaged(), self._context.overview.outside()

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever the comments at this address have changed. Returns a function that stops it."""
        condition, values = self._condition(uri)
        return self._subscriptions.subscribe(condition, values, changed)

    @cached_property
    def _subscriptions(self) -> Subscriptions:
        """The one thread that watches this workspace, started on first need."""
        from postil.comments.index.subscriptions import Subscriptions  # brings in inotify, for subscribers only

        return Subscriptions(self._context.overview)

    def _condition(self, uri: str) -> tuple[str, tuple[str, ...]]:
        fixed = {"all": "1", "orphaned": "state = 'orphaned'", "ai-enriched": "ai = 1"}
        name = split_page(uri)[0].removeprefix("comment://workspace/")
        if name in fixed:
            return fixed[name], ()
        uri = split_page(uri)[0]
        file = match(FILE_TEMPLATE, uri)
        if file:
            from postil.comments.index.cache import IN_FILE  # brings in SQLite, which a subscriber has anyway

            path = self._context.tree.path(file["filePath"])
            return IN_FILE, (path, path)
        tag = match(TAG_TEMPLATE, uri)
        return "tag = ?", (tag["tag"] if tag else "",)


def _read_number(after: str, uri: str) -> int:
    if after and (not after.isdecimal() or len(after) > LONGEST_NUMBER):
        raise _no_page(uri, after)
    return int(after or 0)


def _no_page(uri: str, after: str) -> ResourceNotFound:
    return ResourceNotFound(
        "There is no such page",
        advice="Read the address without `?after=`; it names the next one",
        uri=join_page(uri, after)[:1000],
    )


def _make_file_entry(path: str, located: Iterable[Located]) -> FileEntry:
    found = list(located)
    markers = [marker for each in found if (marker := _make_marker(each))]
    return FileEntry(path, VERSION, [comment_now(each) for each in found], markers, len(found))


def _make_items(located: Iterable[Located], *, reasons: bool = False) -> list[Item]:
    return [
        Item(each.filePath, comment_now(each), _make_marker(each), each.place.reason if reasons else "")
        for each in located
    ]


def _make_marker(each: Located) -> GhostMarker | None:
    if each.marker is None:
        return None
    place = each.place
    return GhostMarker(
        id=each.marker.id,
        commentId=each.comment.id,
        line=place.line,
        state=place.state,
        confidence=place.confidence,
        endLine=place.endLine,
        anchor=describe_anchor(place.symbolPath, place.symbolKind, place.line),
        anchorType=place.symbolKind.lower(),
        originalLine=each.comment.line,
        isOrphaned=place.state == "orphaned",
    )
