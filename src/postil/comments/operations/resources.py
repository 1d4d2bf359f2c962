"""Comments as resources: the whole workspace, a file, a tag, the orphans, those with AI metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from postil.comments.failures import SourceNotFound
from postil.comments.model import ALL_TAGS, Damage, Located, State
from postil.comments.operations.answers import CommentNow, comment_now, describe_anchor
from postil.comments.sidecar.document import VERSION
from postil.core import limits
from postil.core.failure import Failure
from postil.core.registry import ResourceNotFound
from postil.core.resource import match, resource

if TYPE_CHECKING:
    from postil.comments.index.subscriptions import Subscriptions
    from postil.comments.part import CommentsContext

FILE_TEMPLATE = "comment://workspace/{filePath}.comments"
TAG_TEMPLATE = "comment://workspace/tags/{tag}"
_JSON = "application/json"


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


class FileEntry(Struct, frozen=True):
    """The comments of one file."""

    filePath: str
    version: str
    comments: list[CommentNow]
    ghostMarkers: list[GhostMarker]
    totalComments: int


class Everything(Struct, frozen=True, omit_defaults=True):
    """All comments, by file."""

    files: list[FileEntry]
    totalComments: int
    totalFiles: int
    damaged: tuple[Damage, ...] = ()


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


class Orphans(Struct, frozen=True, omit_defaults=True):
    """The comments whose code is gone."""

    orphanedComments: list[Item]
    totalCount: int
    damaged: tuple[Damage, ...] = ()


class Enriched(Struct, frozen=True, omit_defaults=True):
    """The comments with AI metadata, and the models named there."""

    comments: list[Item]
    totalCount: int
    models: list[str]
    damaged: tuple[Damage, ...] = ()


class CommentResources:
    """Comments that can be read and watched at an address."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @resource("comment://workspace/all", name="All comments", mime_type=_JSON, watch="watch")
    def read_all(self) -> Everything:
        """All comments across entire workspace"""
        self._check_size("1")
        by_file: dict[str, list[Located]] = {}
        for each in self._context.overview.everything():
            by_file.setdefault(each.filePath, []).append(each)
        files = [_make_file_entry(path, some) for path, some in by_file.items()]
        return Everything(
            files, sum(entry.totalComments for entry in files), len(files), self._context.overview.damaged()
        )

    @resource(
        FILE_TEMPLATE,
        name="Comments of a file",
        mime_type=_JSON,
        watch="watch",
        complete={"filePath": "complete_commented_file"},
    )
    def read_file(self, filePath: str) -> FileEntry:
        """Comments for specific file"""
        try:
            path = self._context.existing(filePath)
        except SourceNotFound as fault:
            fault.data = {**fault.data, "uri": f"comment://workspace/{filePath}.comments"[:1000]}
            raise
        return _make_file_entry(path, self._context.overview.file(path))

    @resource(TAG_TEMPLATE, name="Comments with a tag", mime_type=_JSON, watch="watch", complete={"tag": ALL_TAGS})
    def read_tag(self, tag: str) -> Tagged:
        """All comments with specific tag"""
        if tag not in ALL_TAGS:
            raise ResourceNotFound(
                f"There is no tag {tag[:50]!r}",
                advice=f"Use one of {', '.join(ALL_TAGS)}",
                uri=f"comment://workspace/tags/{tag}"[:1000],
            )
        self._check_size("tag = ?", tag)
        items = _make_items(self._context.overview.where("tag = ?", tag))
        return Tagged(tag, items, len(items), self._context.overview.damaged())

    def complete_commented_file(self, value: str) -> list[str]:
        """Files with comments whose paths begin like this."""
        return [path for path in self._context.store.paths() if path.startswith(value)]

    @resource("comment://workspace/orphaned", name="Orphaned comments", mime_type=_JSON, watch="watch")
    def read_orphaned(self) -> Orphans:
        """Comments whose anchors no longer exist"""
        self._check_size("state = 'orphaned'")
        items = _make_items(self._context.overview.where("state = 'orphaned'"), reasons=True)
        return Orphans(items, len(items), self._context.overview.damaged())

    @resource("comment://workspace/ai-enriched", name="AI-enriched comments", mime_type=_JSON, watch="watch")
    def read_enriched(self) -> Enriched:
        """Comments with AI metadata"""
        self._check_size("ai = 1")
        items = _make_items(self._context.overview.where("ai = 1"))
        models = {item.comment.model for item in items} - {""}
        return Enriched(items, len(items), sorted(models), self._context.overview.damaged())

    def _check_size(self, condition: str, *values: str) -> None:
        """Raises Failure where a document would be larger than any that is sent: it is not made first."""
        size = self._context.overview.measure(condition, *values)
        if size > limits.DOCUMENT:
            raise Failure(
                f"These comments have {size} bytes; a document of at most {limits.DOCUMENT} is sent",
                advice="Read one file's comments, or list them page by page with comments_list",
            )

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
        name = uri.removeprefix("comment://workspace/")
        if name in fixed:
            return fixed[name], ()
        file = match(FILE_TEMPLATE, uri)
        if file:
            from postil.comments.index.cache import IN_FILE  # brings in SQLite, which a subscriber has anyway

            path = self._context.tree.path(file["filePath"])
            return IN_FILE, (path, path)
        tag = match(TAG_TEMPLATE, uri)
        return "tag = ?", (tag["tag"] if tag else "",)


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
