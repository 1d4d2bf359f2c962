"""Comments that come from files and go into sources: exports, and comments written inline in the source."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType, to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from postil.anchor.model import Span
from postil.anchor.syntax.symbols import Symbol
from postil.comments.clock import new_id, now
from postil.comments.failures import SourceNotParsed
from postil.comments.model import Addition, Place
from postil.comments.operations.answers import warn_missing
from postil.comments.operations.contract import ContractTools
from postil.comments.operations.validation import sign
from postil.comments.operations.written import Added
from postil.comments.source_tree import Source, decode
from postil.comments.storage.first_write import tell_first
from postil.comments.storage.store import refuse_unlisted
from postil.comments.transfer.inline import extract_inline, insert_inline, read_back, takes_comments
from postil.comments.transfer.inline_place import CommentLines
from postil.comments.transfer.read_export import (
    Record,
    count_texts,
    is_document,
    list_old_versions,
    make_comment,
    make_record_marker,
    read_records,
    refuse_unreadable,
)
from postil.core import call, limits
from postil.core.answer import Answer
from postil.core.failure import Conflict, InvalidArguments, NotFound
from postil.core.operation import writes
from postil.workspace.digest import blob_id
from postil.workspace.disk import read_named
from postil.workspace.files import atomic_write, read_file
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext
    from postil.comments.sidecar.document import Sidecar


MOST_WARNED = 5
MOST_LISTED = 20
"""Rows of one kind that an import prints: it may bring thousands."""


class Imported(Answer, frozen=True):
    """Comments of documents and sources that became comments of sidecars."""

    added: tuple[Added, ...]
    skipped: int
    removedFrom: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Files that comments of a document speak of and that are not here."""
    without: tuple[str, ...] = ()
    """Sources in which no inline comment was found."""
    leftOut: int = 0
    """How many comments of files that are not here were left out."""
    warnings: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """5 when comments were left out, or nothing was found that could be imported."""
        nothing = not self.added and not self.skipped
        return 5 if self.leftOut or nothing else 0

    def for_model(self) -> str:
        left_out = f", {self.leftOut} left out: their files are not here" if self.leftOut else ""
        lines = [f"{len(self.added)} imported, {self.skipped} were there already{left_out}"]
        lines += _list_first([f"{path} is not here: its comments were left out" for path in self.missing], "such files")
        lines += _list_first(
            [
                f"{path} holds no `@paired:` comment (of exports, json, jsonl and csv can be read)"
                for path in self.without
            ],
            "such files",
        )
        lines += _list_first([_show_added(each) for each in self.added], "comments: `postil comments list` shows them")
        lines += _list_first([f"taken out of {path}" for path in self.removedFrom], "files")
        lines += [f"⚠️ {said}" for said in self.warnings[:MOST_WARNED]]
        more = len(self.warnings) - MOST_WARNED
        return "\n".join([*lines, *([f"⚠️ and so of {more} more files"] if more > 0 else [])])


def _list_first(rows: Sequence[str], what: str) -> list[str]:
    """Returns the first of some rows, and how many more there are."""
    more = len(rows) - MOST_LISTED
    return [*(f"  {row}" for row in rows[:MOST_LISTED]), *([f"  … and {more} more {what}"] if more > 0 else [])]


def _show_added(each: Added) -> str:
    lines = f"{each.line}-{each.endLine}" if each.endLine > each.line else str(each.line)
    return f"{each.filePath}:{lines}  {each.tag or 'COMMENT'}  {each.anchoredTo}  {each.commentId}"


PLACED = ("exact", "moved", "modified")
"""States of a comment whose code is surely found."""


class Inlined(Answer, frozen=True, omit_defaults=True):
    """Comments that were written into their source."""

    filePath: str
    written: int
    above: int = 0
    """How many of them stand above what their line is inside of."""
    left: int = 0
    """Open comments that were not, since the place of their code is not sure."""
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""

    def for_model(self) -> str:
        said = f"{self.written} comment{'s' * (self.written != 1)} written into {self.filePath}"
        if self.above:
            said += f", {self.above} of them above the string, comment or continued line that theirs is part of"
        if self.left:
            said += (
                f"\n{self.left} more {'is' if self.left == 1 else 'are'} not: nobody knows for sure where "
                f"{'its' if self.left == 1 else 'their'} code is now (`postil comments review`)"
            )
        return said + warn_missing((), self.outside)


class TransferTools:
    """Takes comments from files, and writes them into sources."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context
        self._tree = context.tree

    @writes("comments_import", shell="comments import", positional=("files",), tool=False)
    def import_files(
        self,
        files: Annotated[
            tuple[str, ...],
            Meta(min_length=1, description="Exports (.json, .jsonl, .csv), or sources with `// @paired:` comments"),
        ],
        remove: Annotated[bool, Meta(description="Take inline comments out of the source")] = False,
        author: Annotated[str, Meta(description="Who wrote the inline comments")] = "",
    ) -> Imported:
        """Take in exported comments, or turn inline `// @paired:` comments into comments of the sidecar"""
        refuse_unreadable(files, self._tree.typed)
        documents: list[Sequence[Record]] = []
        left, texts = limits.IMPORTED_COMMENTS, limits.IMPORTED_TEXTS
        for file in filter(is_document, files):
            content = _read_document(file, left)
            left -= len(content)
            texts -= count_texts(file, content)
            if texts < 0:
                raise _too_large(file, f"{limits.IMPORTED_TEXTS:,} comments and replies")
            documents.append(read_records(file, content))
        typed = [self._tree.typed(file) for file in files if not is_document(file)]
        sources = [self._tree.source(self._tree.path(file)) for file in typed]
        for source in sources:
            refuse_unlisted(source.path)
        had = set(self._context.store.paths())
        done = [self._import_records(some) for some in documents]
        done += [self._import_inline(source, sign(author, self._context.person), remove=remove) for source in sources]
        added = tuple(each for one in done for each in one.added)
        new = dict.fromkeys(each.filePath for each in added if each.filePath not in had)
        return Imported(
            self._place(added),
            sum(one.skipped for one in done),
            tuple(path for one in done for path in one.removedFrom),
            tuple(path for one in done for path in one.missing),
            tuple(path for one in done for path in one.without),
            sum(one.leftOut for one in done),
            tuple(tell_first(self._context.store, list(new))),
        )

    def _place(self, added: Sequence[Added]) -> tuple[Added, ...]:
        """Returns comments that were added with where their code is now, and what that is."""
        overview = self._context.overview
        overview.refresh()
        places = {(each.commentId, each.filePath): each for each in added}
        paths = encode(sorted({each.filePath for each in added})).decode()
        located = overview.index.stream("path IN (SELECT value FROM json_each(?))", (paths,)) if added else ()
        for each in located:
            if before := places.get((each.comment.id, each.filePath)):
                place = each.place
                places[before.commentId, before.filePath] = Added(
                    before.commentId,
                    before.ghostMarkerId,
                    place.path,
                    place.line,
                    each.comment.tag,
                    _tell_anchor(place),
                    place.endLine,
                )
        return tuple(places.values())

    def _import_records(self, some: Sequence[Record]) -> Imported:
        """Add the comments of a document that are not here yet; each path is checked before anything is written."""
        by_file: dict[RelativePath, list[Record]] = {}
        paths: dict[str, RelativePath] = {}  # each is looked at once: an export names it with every comment
        for each in some:
            path = paths.get(each.path) or paths.setdefault(each.path, self._tree.path(each.path))
            by_file.setdefault(path, []).append(each)
        for path in by_file:
            refuse_unlisted(path)
        here = self._context.overview.held([each.id for each in some])
        added: list[Added] = []
        missing: list[str] = []
        for number, (path, wanted) in enumerate(by_file.items()):
            call.current().check()
            call.current().progress(number, len(by_file), path)
            source = self._tree.source_or_none(path)
            if source is None:
                missing.append(path)
                continue
            known = {(each.comment.text, each.comment.line) for each in self._context.reader.file(path)}
            ids: set[str] = set()
            versions = self._context.versions.read(list_old_versions(wanted), limits.HERE)
            new = [
                Addition(
                    source.blob,
                    make_comment(each, new_id("c_"), now()),
                    make_record_marker(each, source, new_id("gm_"), now(), versions),
                )
                for each in wanted
                if each.id not in here and (_is_first(each.id, ids) if each.id else (each.text, each.line) not in known)
            ]
            added += self._add_all(source, new)
        left_out = sum(len(by_file[RelativePath(path)]) for path in missing)
        return Imported(tuple(added), len(some) - len(added) - left_out, missing=tuple(missing), leftOut=left_out)

    def _add_all(self, source: Source, new: Sequence[Addition]) -> list[Added]:
        if not new:
            return []
        markers = self._context.store.change(source.path, lambda sidecar: _add_to(sidecar, new))
        self._context.versions.keep(source)
        return [
            Added(comment.id, marker, source.path, comment.line, None, f"line {comment.line}")
            for comment, marker in zip((each.comment for each in new), markers, strict=True)
        ]

    def _import_inline(self, source: Source, author: str, *, remove: bool) -> Imported:
        """Make comments of a source's inline ones."""
        taken = extract_inline(source.text, remove=remove)
        if not taken.found:
            return Imported((), 0, without=(source.path,))
        target = self._make_changed(source, taken.without) if remove else source
        places, held = CommentLines(source.path, source.text), self._context.reader.file(source.path)
        known = {(each.comment.text, each.place.line) for each in held}
        for each in held:
            line, said = places.find_code(places.above(each.place.line)), each.comment.text
            known |= {(said, line), (read_back(source.path, said), line)}
        standing = extract_inline(source.text, remove=False).found  # the same ones, on the lines they are on now
        pairs = zip(taken.found, standing, strict=True)
        new = [each for each, there in pairs if (each.text, there.line) not in known]
        contract = ContractTools(self._context)
        added = [contract.add_on(target, each.line, each.text, author) for each in new]
        if remove:
            self._rewrite(source, taken.without)
        return Imported(tuple(added), len(taken.found) - len(new), (source.path,) if remove else ())

    def _make_changed(self, source: Source, text: str) -> Source:
        content = self._encode(source, text)
        return Source(source.path, decode(content), blob_id(content, self._tree.id_width))

    def _rewrite(self, source: Source, text: str) -> None:
        """Write a changed source, unless somebody else changed it meanwhile."""
        content = self._encode(source, text)
        if self._tree.source(source.path).blob != source.blob:
            raise Conflict(f"{source.path} was changed meanwhile", advice="Run the command again", path="files")
        atomic_write(self._tree.root, source.path, content)

    def _encode(self, source: Source, text: str) -> bytes:
        """A changed source as bytes, with the byte order mark it had; one that is no UTF-8 cannot be written back."""
        before = read_file(self._tree.root, source.path)
        mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
        if mark + source.text.encode("utf-8", "replace") != before:
            raise SourceNotParsed(
                source.path, "the file is not UTF-8", "Convert it to UTF-8 first: written back it would lose characters"
            )
        return mark + text.encode("utf-8")

    @writes("comments_inline", shell="comments inline", positional=("file",), tool=False)
    def write_inline(
        self,
        file: Annotated[str, Meta(description="The source to write into")],
        tag: Annotated[str, Meta(description="Only this tag")] = "",
    ) -> Inlined:
        """Write a file's open comments into its source as `// @paired:` lines"""
        source = self._tree.source(self._tree.path(self._tree.typed(file)))
        if not takes_comments(source.path):
            raise InvalidArguments(
                f"{source.path} is a kind of file that has no comments: a line of ours would break it",
                advice="Leave them beside it; `postil comments view` shows both together",
                path="file",
            )
        places = CommentLines(source.path, source.text)
        chosen = [
            each
            for each in self._context.reader.file(source.path)
            if each.comment.status == "open" and (not tag or each.comment.tag == tag)
        ]
        wanted = [
            (each.place.line, each.comment.text)
            for each in chosen
            if each.place.state in PLACED and each.place.path == source.path
        ]
        present = {(each.line, each.text) for each in extract_inline(source.text, remove=False).found}
        known = [(places.find_code(places.above(line)), read_back(source.path, said)) for line, said in wanted]
        missing = [each for each, there in zip(wanted, known, strict=True) if there not in present]
        if missing:
            above = [(places.above(line), said) for line, said in missing]
            self._rewrite(source, insert_inline(source.path, source.text, above))
        left = sum(each.place.state not in PLACED for each in chosen)
        above_theirs = sum(places.above(line) < line for line, _ in missing)
        outside = self._context.outside_of(source.path) or UNSET
        return Inlined(source.path, len(missing), above_theirs, left, outside)


def _tell_anchor(place: Place) -> str:
    """Returns what an imported comment is anchored to, in the words of `add`; or that this is not known."""
    if place.state == "orphaned":
        return "code that is not here"
    if place.state == "review":
        return "code that may be elsewhere"
    if not place.symbolPath:
        return f"line {place.line}"
    named = Symbol(place.symbolPath[-1], place.symbolKind.lower() or "symbol", Span(place.line), place.symbolPath[:-1])
    return f"the {named.phrase}"


def _add_to(sidecar: Sidecar, new: Sequence[Addition]) -> list[str]:
    """Add comments. Returns their markers: what was written about other code shares none with what was not."""
    fresh = [each for each in new if not _is_stale(each)]
    made = dict(zip((each.comment.id for each in fresh), sidecar.add_all(fresh), strict=True)) if fresh else {}
    held = {comment.id for comment in sidecar.comments}
    markers: dict[tuple[int, object, str], str] = {}
    for each in filter(_is_stale, new):
        marker = each.marker
        made[each.comment.id] = name = markers.setdefault((marker.line, marker.endLine, marker.lineText), marker.id)
        if each.comment.id not in held:
            sidecar.add(to_builtins(each.comment), to_builtins(replace(marker, id=name, commentIds=(each.comment.id,))))
    return [made[each.comment.id] for each in new]


def _is_stale(addition: Addition) -> bool:
    anchor = addition.marker.anchor
    return not isinstance(anchor, UnsetType) and bool(anchor.wrote)


def _is_first(name: str, known: set[str]) -> bool:
    """Whether an id was not met before; from now on it was."""
    is_first = name not in known
    known.add(name)
    return is_first


def _read_document(file: str, most: int) -> bytes:
    try:
        return read_named(file, most)
    except OSError as fault:
        if fault.errno == errno.EFBIG:
            raise _too_large(file, f"{limits.IMPORTED_COMMENTS:,} bytes") from fault
        raise NotFound(f"{file} cannot be read: {fault.strerror}", advice="Name an export of comments") from fault


def _too_large(file: str, most: str) -> InvalidArguments:
    return InvalidArguments(
        f"{file} is too large: exports of {most} are imported together",
        advice="Import them one by one; export what is larger file by file (`postil comments export json --file FILE`)",
        path="files",
    )
