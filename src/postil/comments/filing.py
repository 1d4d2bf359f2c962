"""Comments and files: comment on a range, write exports, inline comments, check, merge, measure, look back."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from msgspec import Meta, Struct

from postil.comments import history
from postil.comments.answers import Added, CommentNow, Exported, comment_now
from postil.comments.arguments import ExportOptions, GivenAiMeta
from postil.comments.desk import check_tag, only_in_the_shell
from postil.comments.dialects import Unreadable
from postil.comments.export import FORMATS, write_export
from postil.comments.ground import Source, decode
from postil.comments.inline import extracted, inserted
from postil.comments.measuring import Measured, measure
from postil.comments.merge import merged
from postil.comments.model import ALL_TAGS
from postil.comments.relocating import Relocating
from postil.comments.repair import Fault, faults
from postil.comments.search import file_matches
from postil.comments.sidecar import Sidecar
from postil.comments.store import SUFFIX, is_sidecar
from postil.comments.threads import AtRevision, Where, one_line
from postil.comments.words import blob_id, detect_tag
from postil.core.check import Finding, check
from postil.core.failure import Failure, InvalidArguments, NotFound, StorageFailed
from postil.core.operation import reads, writes
from postil.workspace.files import atomic_write
from postil.workspace.git import run_git, try_git
from postil.workspace.paths import RelativePath

DRIVER = "postil-comments"
ATTRIBUTE = f"*.comments merge={DRIVER}"
_DRIVER_SETTINGS = {
    f"merge.{DRIVER}.name": "Postil's merge of comment files",
    f"merge.{DRIVER}.driver": "postil comments merge %O %A %B %P",
}


class Checked(Struct, frozen=True):
    """What is wrong with the sidecars."""

    faults: tuple[Fault, ...]
    files: int

    @property
    def exit_status(self) -> int:
        """7 while something is still wrong."""
        return 7 if any(not fault.fixed for fault in self.faults) else 0

    def text(self) -> str:
        if not self.faults:
            return f"{self.files} comment files, nothing wrong"
        return "\n".join(
            f"{fault.filePath}{SUFFIX}: {fault.problem}" + (f" — {fault.fixed}" if fault.fixed else "")
            for fault in self.faults
        )


class Then(Struct, frozen=True):
    """The comments at a revision."""

    revision: str
    comments: tuple[CommentNow, ...]

    def text(self) -> str:
        return "\n".join(one_line(each) for each in self.comments) or f"No comments at {self.revision[:12]}."


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


class GitSetUp(Struct, frozen=True):
    """Whether git merges comment files with Postil."""

    attributes: bool
    driver: bool
    did: str

    def text(self) -> str:
        return self.did


class Merged(Struct, frozen=True):
    """A sidecar merged by the driver."""

    path: str

    def text(self) -> str:
        return ""


class Filing(Relocating):
    """Comments that come from files and go into them."""

    @writes("comments_add", title="Comment on lines", shell="comments add", positional=("filePath", "line", "text"))
    def add_lines(
        self,
        filePath: Annotated[str, Meta(description="The source file, relative to the workspace")],
        line: Annotated[int, Meta(ge=1, description="The line, from 1")],
        text: Annotated[str, Meta(min_length=1, max_length=10000, description="What to say")],
        tag: Annotated[str, Meta(description="Its tag", extra_json_schema={"enum": list(ALL_TAGS)})] | None = None,
        endLine: Annotated[int, Meta(ge=0, description="The last line, for a range")] = 0,
        author: Annotated[str, Meta(description="Who says it")] = "",
        anchor: Annotated[
            Literal["code", "text"], Meta(description="`text` comments on code that has a syntax error, too")
        ] = "code",
    ) -> Added:
        """Comment on a line or a range of a source file"""
        check_tag(tag, every=True)
        end = endLine if endLine != line else 0
        tag = tag or detect_tag(text)
        return self.add_at(filePath, line, text, tag, self.signed(author), None, end, by_text=anchor == "text")

    def add_at(
        self,
        path: str,
        line: int,
        text: str,
        tag: str | None,
        author: str,
        ai: GivenAiMeta | None = None,
        end: int = 0,
        *,
        by_text: bool = False,
    ) -> Added:
        """Add a comment: the part's tools have it."""
        raise NotImplementedError

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
                    added.append(self.add_on(target, each.line, each.text, tag, self.signed(author)))
            if remove:
                atomic_write(self.ground.root, source.path, _encoded(target.text, source, self.ground.root))
                removed.append(source.path)
        return Imported(tuple(added), skipped, tuple(removed))

    def add_on(self, source: Source, line: int, text: str, tag: str | None, author: str, end: int = 0) -> Added:
        """Add a comment to a version of a source at hand: the part's tools have it."""
        raise NotImplementedError

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

    @reads("comments_at", title="Comments at a revision", shell="comments at", positional=("revision", "file"))
    def at(self, revision: AtRevision, file: Where = "") -> Then:
        """List the comments a revision held, in the places they had in its code; and where present ones were then"""
        commit = history.resolved(self.ground, revision)
        if commit is None:
            raise NotFound(f"There is no revision {revision[:100]!r}", advice="Name a commit, a branch or a tag")
        listed: list[CommentNow] = []
        for name in history.sidecars_at(self.ground, commit.id):
            path = name.removesuffix(SUFFIX)
            if is_sidecar(name.rsplit("/", 1)[-1]) and (not file or file_matches(file, path)):
                listed += self._then(commit.id, path, history.text_at(self.ground, commit.id, name))
        held = {each.id for each in listed}
        paths = {path for path in self.store.paths() if not file or file_matches(file, path)}
        for path in sorted(paths):
            later = self._then(commit.id, path, self.store.bytes_of(path))
            listed += [each for each in later if each.id not in held and each.state != "orphaned"]
        return Then(commit.id, tuple(listed))

    def _then(self, commit: str, path: str, data: bytes | None) -> list[CommentNow]:
        content = history.text_at(self.ground, commit, path)
        try:
            sidecar = Sidecar(path, data)
        except Unreadable:
            return []
        text = decode(content) if content is not None else ""
        source = Source(RelativePath(path), text, blob_id(content or b"", self.ground.id_width), "")
        return [comment_now(each) for each in self.reading.placed(sidecar, source if content is not None else None)]

    @reads("comments_check", title="Check the comment files")
    def checked(self) -> Checked:
        """Name the comment files that are damaged or that the extension would not take"""
        return Checked(tuple(faults(self.store, fix=False)), sum(1 for _ in self.store.paths()))

    @writes("comments_repair", title="Check and repair", shell="comments check", tool=False)
    def check_files(
        self, fix: Annotated[bool, Meta(description="Restore or set aside what is damaged")] = False
    ) -> Checked:
        """Name the comment files that are damaged; restore them or set them aside (--fix)"""
        only_in_the_shell()
        return Checked(tuple(faults(self.store, fix=fix)), sum(1 for _ in self.store.paths()))

    @check("comment files")
    def doctor_files(self) -> Finding:
        """Whether every sidecar can be read."""
        found = list(faults(self.store, fix=False))
        if not found:
            return Finding("ok", f"{sum(1 for _ in self.store.paths())} comment files can be read")
        named = "; ".join(f"{fault.filePath}{SUFFIX}: {fault.problem}" for fault in found[:5])
        return Finding("error", named, "Run `postil comments check --fix`")

    @check("comment merge driver")
    def doctor_driver(self) -> Finding:
        """Whether git merges sidecars without conflicts."""
        if not self.ground.git or not any(True for _ in self.store.paths()):
            return Finding("ok", "no comment files to merge")
        state = self._git_state()
        if state.attributes and state.driver:
            return Finding("ok", "git merges comment files with Postil")
        return Finding("warning", "git would merge comment files line by line", "Run `postil setup git`")

    @reads("comments_bench", shell="comments bench", tool=False)
    def bench(
        self,
        commits: Annotated[int, Meta(ge=1, le=100000, description="How many commits back")] = 200,
        files: Annotated[int, Meta(ge=1, le=100000, description="At most so many changed files")] = 200,
    ) -> Measured:
        """Measure how well comments would have followed this repository's own history"""
        only_in_the_shell()
        if not self.ground.git:
            raise NotFound("There is no history to measure on", advice="Run it in a git repository")
        return measure(self.ground, commits, files)

    @writes("comments_merge", shell="comments merge", positional=("base", "ours", "theirs", "path"), tool=False)
    def merge_files(
        self,
        base: Annotated[str, Meta(description="The common ancestor (%O)")],
        ours: Annotated[str, Meta(description="Our version, which becomes the result (%A)")],
        theirs: Annotated[str, Meta(description="Their version (%B)")],
        path: Annotated[str, Meta(description="The path in the repository (%P)")] = "",
    ) -> Merged:
        """Merge three versions of a comment file: git's merge driver"""
        only_in_the_shell()
        sides: list[bytes | None] = []
        for name in (base, ours, theirs):
            try:
                with open(name, "rb") as file:
                    sides.append(file.read() or None)
            except OSError as fault:
                raise StorageFailed(f"{name} cannot be read: {fault.strerror}") from fault
        try:
            result = merged((path or ours).removesuffix(SUFFIX), *sides)
        except Unreadable as fault:
            raise Failure(f"{path or ours} cannot be merged: {fault}", advice="Resolve it by hand") from None
        folder, name = os.path.split(os.path.abspath(ours))
        atomic_write(folder, RelativePath(name), result)
        return Merged(path or ours)

    @writes("comments_setup_git", shell="setup git", tool=False)
    def setup_git(
        self,
        check: Annotated[bool, Meta(description="Only say whether it is set up")] = False,
        remove: Annotated[bool, Meta(description="Undo it")] = False,
    ) -> GitSetUp:
        """Let git merge comment files with Postil, so that branches that add or edit comments never conflict"""
        only_in_the_shell()
        if not self.ground.git:
            raise NotFound("There is no git repository here", advice="Run it in a repository")
        state = self._git_state()
        if check:
            return state
        attributes = RelativePath(".gitattributes")
        lines = self._attributes()
        if remove:
            kept = [line for line in lines if line.strip() != ATTRIBUTE]
            if kept != lines:
                atomic_write(self.ground.root, attributes, "".join(f"{line}\n" for line in kept).encode())
            try_git(self.ground.root, "config", "--local", "--remove-section", f"merge.{DRIVER}")
            return GitSetUp(False, False, "git merges comment files line by line again")
        if not state.attributes:
            atomic_write(self.ground.root, attributes, "".join(f"{line}\n" for line in [*lines, ATTRIBUTE]).encode())
        for key, value in _DRIVER_SETTINGS.items():
            run_git(self.ground.root, "config", "--local", key, value)
        return GitSetUp(
            True,
            True,
            "git merges comment files with Postil now. Commit .gitattributes; everyone runs `postil setup git` once.",
        )

    def _git_state(self) -> GitSetUp:
        attributes = any(line.strip() == ATTRIBUTE for line in self._attributes())
        driver = try_git(self.ground.root, "config", "--get", f"merge.{DRIVER}.driver").status == 0
        yes = "git merges comment files with Postil"
        return GitSetUp(attributes, driver, yes if attributes and driver else "Not set up: run `postil setup git`")

    def _attributes(self) -> list[str]:
        try:
            with open(os.path.join(self.ground.root, ".gitattributes"), encoding="utf-8", errors="replace") as file:
                return file.read().splitlines()
        except OSError:
            return []


def _encoded(text: str, source: Source, root: str) -> bytes:
    """A changed source as bytes, with the byte order mark it had."""
    with open(os.path.join(root, source.path), "rb") as file:
        marked = file.read(3) == b"\xef\xbb\xbf"
    return (b"\xef\xbb\xbf" if marked else b"") + text.encode("utf-8", "replace")
