"""Comments that come from files and go into them: exports, and comments written inline in the source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from postil.comments.context import Desk
from postil.comments.failures import SourceNotParsed
from postil.comments.operations.add import Saying
from postil.comments.operations.answers import Added, Exported
from postil.comments.operations.arguments import ExportOptions
from postil.comments.operations.validation import only_in_the_shell
from postil.comments.sidecar.format import blob_id, detect_tag
from postil.comments.source_tree import Source, decode
from postil.comments.storage.group_commit import Addition
from postil.comments.transfer.export import FORMATS, write_export
from postil.comments.transfer.inline import extracted, inserted
from postil.comments.transfer.read_export import Record, comment_of, is_document, marker_of, records
from postil.core import call
from postil.core.failure import Conflict, InvalidArguments, NotFound, StorageFailed
from postil.core.operation import reads, writes
from postil.workspace.files import atomic_write, read_file
from postil.workspace.paths import RelativePath


class Imported(Struct, frozen=True):
    """Comments of documents and sources that became comments of sidecars."""

    added: tuple[Added, ...]
    skipped: int
    removedFrom: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Files that comments of a document speak of and that are not here."""

    def text(self) -> str:
        lines = [f"{len(self.added)} imported, {self.skipped} were there already"]
        lines += [f"  {path} is not here: its comments were left out" for path in self.missing]
        lines += [f"  {each.filePath}:{each.line}  {each.commentId}" for each in self.added]
        return "\n".join(lines + [f"  taken out of {path}" for path in self.removedFrom])


class Inlined(Struct, frozen=True):
    """Comments that were written into their source."""

    filePath: str
    written: int

    def text(self) -> str:
        return f"{self.written} comments written into {self.filePath}"


class Exchange(Desk):
    """Comments in and out."""

    @reads("comments_export", shell="comments export", positional=("format",), tool=False)
    def export_to(
        self,
        format: Annotated[str, Meta(description=", ".join(FORMATS), extra_json_schema={"enum": list(FORMATS)})],
        file: Annotated[str, Meta(description="Only this file")] = "",
        context: Annotated[int, Meta(ge=0, le=20, description="Lines of code around each comment")] = 0,
        output: Annotated[str, Meta(description="Write to this file")] = "",
    ) -> Exported:
        """Export comments as JSON, Markdown, training data, Parquet, CSV or a web page"""
        only_in_the_shell()
        options = ExportOptions(context > 0, context or 3)
        path = self.ground.path(self.ground.typed(file)) if file else None
        if not output:
            from postil.comments.transfer.export import exported

            if format == "parquet":
                raise InvalidArguments(
                    "Parquet is not for a terminal", advice="Name a file with --output", path="output"
                )
            return exported(self.ground, self.overview, format, path, options)
        beside = f"{output}.part"
        try:
            with open(beside, "wb") as out:
                total = write_export(self.ground, self.overview, format, path, options, out)
            os.replace(beside, output)
        except OSError as fault:
            raise StorageFailed(
                f"{output} cannot be written: {fault.strerror}", advice="Choose another file"
            ) from fault
        finally:
            if os.path.exists(beside):
                os.unlink(beside)
        uri, mime = FORMATS[format]
        return Exported(format, total, os.path.getsize(output), uri, mime, written=output)

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
        only_in_the_shell()
        documents = [(file, records(file, _document(file))) for file in files if is_document(file)]
        typed = [self.ground.typed(file) for file in files if not is_document(file)]
        sources = [self.ground.source(self.ground.path(file)) for file in typed]
        done = [self._taken_in(some) for _, some in documents]
        done += [self._taken_out(source, self.signed(author), remove=remove) for source in sources]
        return Imported(
            tuple(each for one in done for each in one.added),
            sum(one.skipped for one in done),
            tuple(path for one in done for path in one.removedFrom),
            tuple(path for one in done for path in one.missing),
        )

    def _taken_in(self, some: Sequence[Record]) -> Imported:
        """Add the comments of a document that are not here yet; each path is checked before anything is written."""
        by_file: dict[RelativePath, list[Record]] = {}
        for each in some:
            by_file.setdefault(self.ground.path(each.path), []).append(each)
        here = self.overview.ids()
        added: list[Added] = []
        missing: list[str] = []
        for number, (path, wanted) in enumerate(by_file.items()):
            call.current().check()
            call.current().progress(number, len(by_file), path)
            source = self.reading.source_or_none(path)
            if source is None:
                missing.append(path)
                continue
            known = {(each.comment.text, each.comment.line) for each in self.reading.file(path)}
            new = [
                Addition(source.blob, comment_of(each), marker_of(each, source))
                for each in wanted
                if each.id not in here and (each.id or (each.text, each.line) not in known)
            ]
            added += self._added(source, new)
        left_out = sum(len(by_file[RelativePath(path)]) for path in missing)
        return Imported(tuple(added), len(some) - len(added) - left_out, missing=tuple(missing))

    def _added(self, source: Source, new: Sequence[Addition]) -> list[Added]:
        if not new:
            return []
        markers = self.store.change(source.path, lambda sidecar: sidecar.add_all(new))
        self.texts.keep(source)
        return [
            Added(each.id, marker, source.path, line, None, f"line {line}")
            for each, marker in zip(new, markers, strict=True)
            if isinstance(line := each.comment["line"], int)
        ]

    def _taken_out(self, source: Source, author: str, *, remove: bool) -> Imported:
        """Make comments of a source's inline ones."""
        taken = extracted(source.text, remove=remove)
        if not taken.found:
            return Imported((), 0)
        target = self._rewritten(source, taken.without) if remove else source
        known = {(each.comment.text, each.place.line) for each in self.reading.file(source.path)}
        standing = extracted(source.text, remove=False).found  # the same ones, on the lines they are on now
        pairs = zip(taken.found, standing, strict=True)
        new = [each for each, there in pairs if (each.text, there.line) not in known]
        added = [
            self.adding.add_on(target, Saying(each.line, each.text, author, detect_tag(each.text))) for each in new
        ]
        if remove:
            self._rewrite(source, taken.without)
        return Imported(tuple(added), len(taken.found) - len(new), (source.path,) if remove else ())

    def _rewritten(self, source: Source, text: str) -> Source:
        content = self._bytes(source, text)
        return Source(source.path, decode(content), blob_id(content, self.ground.id_width), "")

    def _rewrite(self, source: Source, text: str) -> None:
        """Write a changed source, unless somebody else changed it meanwhile."""
        content = self._bytes(source, text)
        if self.ground.source(source.path).blob != source.blob:
            raise Conflict(f"{source.path} was changed meanwhile", advice="Run the command again", path="files")
        atomic_write(self.ground.root, source.path, content)

    def _bytes(self, source: Source, text: str) -> bytes:
        """A changed source as bytes, with the byte order mark it had; one that is no UTF-8 cannot be written back."""
        before = read_file(self.ground.root, source.path)
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
        only_in_the_shell()
        source = self.ground.source(self.ground.path(self.ground.typed(file)))
        wanted = [
            (each.place.line, each.comment.text)
            for each in self.reading.file(source.path)
            if each.place.state in ("exact", "moved", "modified")
            and each.comment.status == "open"
            and (not tag or each.comment.tag == tag)
            and each.place.path == source.path
        ]
        present = {(each.line, each.text) for each in extracted(source.text, remove=False).found}
        missing = [each for each in wanted if each not in present]
        if missing:
            text = inserted(source.path, source.text, missing)
            self._rewrite(source, text)
        return Inlined(source.path, len(missing))


def _document(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as fault:
        raise NotFound(f"{file} cannot be read: {fault.strerror}", advice="Name an export of comments") from fault
