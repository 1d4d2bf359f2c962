"""Comments that come from files and go into them: exports, and comments written inline in the source."""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta, Struct

from postil.comments.adding import Saying
from postil.comments.answers import Added, Exported
from postil.comments.arguments import ExportOptions
from postil.comments.checks import only_in_the_shell
from postil.comments.desk import Desk
from postil.comments.export import FORMATS, write_export
from postil.comments.ground import Source, decode
from postil.comments.inline import extracted, inserted
from postil.comments.words import blob_id, detect_tag
from postil.core.failure import InvalidArguments, StorageFailed
from postil.core.operation import reads, writes
from postil.workspace.files import atomic_write


class Imported(Struct, frozen=True):
    """Inline comments that became comments of the sidecar."""

    added: tuple[Added, ...]
    skipped: int
    removedFrom: tuple[str, ...] = ()

    def text(self) -> str:
        lines = [f"{len(self.added)} imported, {self.skipped} were there already"]
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
        format: Annotated[
            str, Meta(description="json, markdown, jsonl or parquet", extra_json_schema={"enum": list(FORMATS)})
        ],
        file: Annotated[str, Meta(description="Only this file")] = "",
        context: Annotated[int, Meta(ge=0, le=20, description="Lines of code around each comment")] = 0,
        output: Annotated[str, Meta(description="Write to this file")] = "",
    ) -> Exported:
        """Export comments as JSON, Markdown, training data or Parquet"""
        only_in_the_shell()
        options = ExportOptions(context > 0, context or 3)
        path = self.ground.path(file) if file else None
        if not output:
            from postil.comments.export import exported

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
    def import_inline(
        self,
        files: Annotated[tuple[str, ...], Meta(min_length=1, description="Sources with `// @paired:` comments")],
        remove: Annotated[bool, Meta(description="Take them out of the source")] = False,
        author: Annotated[str, Meta(description="Who wrote them")] = "",
    ) -> Imported:
        """Turn inline `// @paired:` comments into comments of the sidecar"""
        only_in_the_shell()
        added: list[Added] = []
        skipped = 0
        removed: list[str] = []
        for file in files:
            source = self.ground.source(self.ground.path(file))
            taken = extracted(source.text, remove=remove)
            if not taken.found:
                continue
            target = self._rewritten(source, taken.without) if remove else source
            known = {(each.comment.text, each.place.line) for each in self.reading.file(source.path)}
            for each in taken.found:
                if (each.text, each.line) in known:
                    skipped += 1
                else:
                    tag = detect_tag(each.text)
                    added.append(self.adding.add_on(target, Saying(each.line, each.text, self.signed(author), tag)))
            if remove:
                atomic_write(self.ground.root, source.path, _encoded(target.text, source, self.ground.root))
                removed.append(source.path)
        return Imported(tuple(added), skipped, tuple(removed))

    def _rewritten(self, source: Source, text: str) -> Source:
        content = _encoded(text, source, self.ground.root)
        return Source(source.path, decode(content), blob_id(content, self.ground.id_width), "")

    @writes("comments_inline", shell="comments inline", positional=("file",), tool=False)
    def write_inline(
        self,
        file: Annotated[str, Meta(description="The source to write into")],
        tag: Annotated[str, Meta(description="Only this tag")] = "",
    ) -> Inlined:
        """Write a file's open comments into its source as `// @paired:` lines"""
        only_in_the_shell()
        source = self.ground.source(self.ground.path(file))
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
            atomic_write(self.ground.root, source.path, _encoded(text, source, self.ground.root))
        return Inlined(source.path, len(missing))


def _encoded(text: str, source: Source, root: str) -> bytes:
    """A changed source as bytes, with the byte order mark it had."""
    with open(os.path.join(root, source.path), "rb") as file:
        marked = file.read(3) == b"\xef\xbb\xbf"
    return (b"\xef\xbb\xbf" if marked else b"") + text.encode("utf-8", "replace")
