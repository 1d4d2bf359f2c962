"""Comments for people and CI: between the lines of code, since a revision, on changed lines, as text in git's diffs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType
from msgspec.json import encode
from msgspec.structs import replace

from postil.comments.model import Damage
from postil.comments.operations.answers import CommentNow, comment_now, warn_missing
from postil.comments.operations.by_id import is_on
from postil.comments.operations.validation import Where
from postil.comments.search.filters import file_matches
from postil.comments.show.one_comment import cut_said, show_line
from postil.comments.show.since import Step
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.format import strip_tag
from postil.comments.storage.store import LARGEST_SIDECAR, SUFFIX
from postil.core import limits
from postil.core.answer import LARGEST, Answer
from postil.core.arguments.typed import type_words
from postil.core.failure import InvalidArguments, NotFound
from postil.core.operation import reads
from postil.core.others.visible import harmless, paint
from postil.workspace.disk import read_named
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.model import Located
    from postil.comments.part import CommentsContext

SinceRevision: TypeAlias = Annotated[str, Meta(max_length=300, description="A commit, a branch or a tag")]
FailOn: TypeAlias = Literal["none", "lost", "open"]
MOST_REPORTED = 10_000
"""Comments that a report holds: GitHub shows 5,000 of them, and refuses one of more than 25,000."""


class Viewed(Answer, frozen=True, omit_defaults=True):
    """Code with its comments between the lines."""

    filePath: str
    comments: tuple[CommentNow, ...]
    text: str
    near: str = ""
    """Only the code around the comments, where the whole is more than a model reads at once."""
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""

    def for_model(self) -> str:
        said = self.text
        if self.near:
            said = (
                f"{self.filePath} is long: this is the code around its comments, and the file has the rest.\n\n"
                f"{self.near}"
            )
        return said + warn_missing((), self.outside)

    def for_person(self) -> str:
        return self.text + warn_missing((), self.outside)

    def plain(self) -> Viewed:
        """The same without the colours of a terminal."""
        return replace(self, text=paint(self.text, colors=False), near=paint(self.near, colors=False))


class Since(Answer, frozen=True):
    """What was said and settled since a revision."""

    revision: str
    steps: tuple[Step, ...]
    damaged: tuple[str, ...] = ()
    asked: str | UnsetType = UNSET
    """The revision that was asked for, where the present branch came from another one."""

    @property
    def exit_status(self) -> int:
        return 7 if self.damaged else 0

    def for_model(self) -> str:
        lines = [_show_step(each) for each in self.steps] or [f"Nothing was said since {self.revision[:12]}."]
        if self.asked:
            lines.insert(0, f"Since {self.revision[:12]}, from which this branch and {self.asked} came:")
        return "\n".join([*lines, *(f"⚠️ {name} cannot be read" for name in self.damaged)])


class Reported(Answer, frozen=True):
    """Comments that a change should not leave unread."""

    base: str
    comments: tuple[CommentNow, ...]
    format: Literal["text", "sarif", "codequality"] = "text"
    failOn: FailOn = "none"
    damaged: tuple[Damage, ...] = ()
    total: int = 0
    """How many there are in all; no more than MOST_REPORTED are reported."""
    lost: int = 0
    """How many of all have lost their code, perhaps."""
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""
    lengths: Mapping[str, int] | UnsetType = UNSET
    """For a report, how many lines the files have in which code is gone; those that are gone have none."""

    @property
    def exit_status(self) -> int:
        """7 when comments could not be read, 6 when there are comments of the kind that is to fail."""
        if self.damaged:
            return 7
        return 6 if (self.failOn == "open" and self.comments) or (self.failOn == "lost" and self.lost) else 0

    def for_model(self) -> str:
        lines = [show_line(each) for each in self.comments] or [
            f"No open comments on what changed since {self.base[:12]}."
        ]
        if self.total > len(self.comments):
            lines.append(self._tell_rest())
        return "\n".join(lines) + warn_missing(self.damaged, self.outside)

    def for_person(self) -> str | bytes:
        if self.format == "text":
            return self.for_model()
        from postil.comments.show.ci_reports import make_code_quality, make_sarif  # only where CI reads it

        rest = self._tell_rest() if self.total > len(self.comments) else ""
        if missing := warn_missing(self.damaged, self.outside).strip():
            sys.stderr.write(f"{harmless(missing)}\n")
        if self.format == "sarif":
            return make_sarif(self.comments, self.lengths or {}, rest, self.damaged)
        if rest:
            sys.stderr.write(f"{rest}\n")
        return make_code_quality(self.comments, self.lengths or {})

    def _tell_rest(self) -> str:
        return f"… and {self.total - len(self.comments)} more, which are not reported: {self.total} in all"


class ViewTools:
    """Shows comments with the code they are about."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @reads("comments_view", title="Read code with its comments", shell="comments view", positional=("file",))
    def view(
        self,
        file: Annotated[str, Meta(description="A file, or FILE:10-12")],
        diff: Annotated[
            str, Meta(max_length=300, description="Only changes since this revision, and code around comments")
        ] = "",
        near: Annotated[bool, Meta(description="Only the code around comments")] = False,
        resolved: Annotated[bool, Meta(description="Resolved comments, too")] = False,
    ) -> Viewed:
        """Show a file's code with its comments between the lines; all of it, or what changed since a revision"""
        from postil.comments.show.view import render_view  # only those who read pay for the drawing

        context = self._context
        file, first, last = context.tree.split_lines(file)
        path = context.existing(context.tree.typed(file))
        source = context.tree.source_or_none(path)
        if source is None and not context.store.has(path):
            raise InvalidArguments(
                f"{path} is a folder or no text",
                advice=f"Name one file; `postil comments list {type_words(path)}` lists the comments of a folder",
                path="file",
            )
        found = [
            comment_now(each)
            for each in (*context.overview.file(path), *self._list_likely(path))
            if resolved or each.comment.status == "open"
        ]
        found.sort(key=lambda each: (each.line, each.created, each.id))
        around: Sequence[int] = ()
        ends = ""
        if last:
            count = len(context.tree.source_with_line(path, first).lines)
            ends = f"{path} ends at line {count}: {last} is beyond it" if last > count else ""
            last = min(last, count)
            found = [each for each in found if is_on(each, path, first, last)]
            around = [*range(first, last + 1), *(min(max(each.line, each.endLine), count) for each in found)]
        code: Sequence[str] = source.lines if source else ()
        added, removed = self._find_changed(path, diff, len(code)) if diff else (None, None)
        short = context.short_names()
        is_whole = not (diff or near or last)
        text = render_view(path, code, found, short, added=added, removed=removed, whole=is_whole, around=around)
        if not text:
            text = f"{path} has no open comments" + (f", and nothing changed in it since {diff}." if diff else ".")
        text = f"{text}\n{ends}" if ends else text
        brief = ""
        if is_whole and found and len(text) > LARGEST:
            brief = render_view(path, code, found, short, whole=False)
        return Viewed(path, tuple(found), text, brief, context.outside_of(path) or UNSET)

    def _find_changed(
        self, path: RelativePath, revision: str, count: int
    ) -> tuple[frozenset[int], Mapping[int, Sequence[str]]]:
        """Returns the lines that are new in a file of so many since a revision, and those that went, by their place."""
        from postil.comments.show.changed_lines import find_base, find_changed

        changed = find_changed(self._context.tree, find_base(self._context.tree, revision), path)
        ranges = changed.ranges if changed else ()
        added = frozenset(line for each in ranges for line in range(each.start, min(each.stop, count + 1)))
        return added, changed.removed if changed else {}

    def _list_likely(self, path: str) -> list[Located]:
        """Returns the comments of other files that a person has to place, and that belong here most likely."""
        named = "state = 'review' AND ? NOT IN (path, now_path) AND instr(body, ?)"  # in which its candidates are
        unsure = self._context.overview.where(named, path, path.encode())
        return [each for each in unsure if any(option.path == path for option in each.place.candidates[:1])]

    @reads("comments_diff", title="What was said since", shell="comments diff", positional=("revision",))
    def diff_comments(self, revision: SinceRevision = "HEAD", file: Where = "") -> Since:
        """Tell what was said, answered, edited, resolved, moved and deleted since a revision"""
        from postil.comments.git.blame import require_revision
        from postil.comments.show.since import list_since

        commit, steps, damaged = list_since(self._context.store, revision)
        file = self._context.tree.where(file)
        kept = [each for each in steps if not file or file_matches(file, each.filePath)]
        unread = [name for name in damaged if not file or file_matches(file, name.removesuffix(SUFFIX))]
        asked = UNSET if require_revision(self._context.tree, revision).id == commit else revision
        return Since(commit, tuple(self._find_places(kept)), tuple(unread), asked)

    def _find_places(self, steps: Sequence[Step]) -> Iterator[Step]:
        """Yields the steps with the places that their comments are at now: a sidecar has those of its last change."""
        names = encode(sorted({each.commentId for each in steps})).decode()
        located = self._context.overview.where("id IN (SELECT value FROM json_each(?))", names) if steps else ()
        now = {(each.comment.id, each.filePath): each.place for each in located}
        for each in steps:
            place = now.get((each.commentId, each.filePath))
            if place is None:
                yield each
            else:
                yield replace(each, line=place.line, movedTo=place.path if place.path != each.filePath else "")

    @reads("comments_ci", title="Comments on changed lines", shell="comments ci", toolset="extra")
    def report(
        self,
        base: Annotated[str, Meta(max_length=300, description="The branch or commit that the change is made on")],
        format: Annotated[
            Literal["text", "sarif", "codequality"], Meta(description="For people, GitHub (SARIF) or GitLab")
        ] = "text",
        failOn: Annotated[
            FailOn, Meta(description="End with status 6 for `lost` comments, or for any `open` one on changed lines")
        ] = "none",
    ) -> Reported:
        """Report open comments on lines changed since a base, and comments there whose code is gone or uncertain"""
        from postil.comments.show.on_changed import find_changed_since, is_lost

        context = self._context
        change = find_changed_since(context, base, "status = 'open'", ())
        found: list[CommentNow] = []
        total = lost = 0
        for each in filter(change.holds, context.overview.index.stream(change.where, change.values)):
            total += 1
            lost += is_lost(each)
            if total <= MOST_REPORTED:
                found.append(comment_now(each))
        found.sort(key=lambda each: (each.movedTo or each.filePath, each.line, each.id))
        damaged, outside = context.overview.damaged(), context.overview.outside() or UNSET
        lengths = UNSET if format == "text" else self._count_lines(found)
        return Reported(change.commit, tuple(found), format, failOn, damaged, total, lost, outside, lengths)

    def _count_lines(self, found: Sequence[CommentNow]) -> dict[str, int]:
        paths = {each.path for each in found if each.state in ("orphaned", "review")}
        sources = ((path, self._context.tree.source_or_none(RelativePath(path))) for path in sorted(paths))
        return {path: len(source.lines) for path, source in sources if source}

    @reads("comments_text", shell="comments text", positional=("path",), tool=False)
    def show_text(self, path: Annotated[str, Meta(description="A comment file")]) -> str:
        """Print a comment file as text: git's diffs and logs show it so (`postil setup git`)"""
        try:
            data = read_named(path, LARGEST_SIDECAR)
        except OSError as fault:
            raise NotFound(f"{path} cannot be read: {fault.strerror}", advice="Name a comment file") from fault
        if len(data) > limits.TEXTCONV:  # as text it would take twelve times as much to hold
            shown = data[: limits.TEXTCONV].decode("utf-8", "replace")
            left = len(data) - limits.TEXTCONV
            return f"{harmless(shown)}\n… {left:,} bytes more: the file is too large to be shown as text\n"
        try:
            return harmless(render_text(Sidecar(path, data or None)))  # git shows it without looking at it
        except Unreadable:
            return harmless(data.decode("utf-8", "replace"))  # what cannot be understood is shown as it is


def render_text(sidecar: Sidecar) -> str:
    """Returns a comment file as text that reads well in a diff: one paragraph a comment, in the order of the file."""
    lines = {marker.id: marker for marker in sidecar.markers}
    out: list[str] = []
    for each in sidecar.comments:
        marker = lines.get(each.markerId)
        where = f"line {marker.line if marker else each.line}"
        if marker and marker.endLine > marker.line:
            where = f"lines {marker.line}-{marker.endLine}"
        code = f"  {marker.lineText}" if marker and marker.lineText else ""
        status = (
            "" if each.status == "open" else f" ({each.status}{f' by {each.resolvedBy}' if each.resolvedBy else ''})"
        )
        out.append(f"{each.tag or 'COMMENT'} {each.id}{status}")
        out.append(f"  {where}{code}")
        out.append(f"  {each.signed}, {each.created}")
        out += [f"    {line}" for line in strip_tag(each.text, each.tag).split("\n")]
        for reply in each.replies:
            said = reply.text.replace("\n", "\n      ")
            out.append(f"  > {reply.author}, {reply.created}: {said}")
        out.append("")
    return "\n".join(out)


def _show_step(each: Step) -> str:
    name = {"said": "+", "deleted": "-", "replied": ">", "edited": "~", "resolved": "✓", "reopened": "○", "moved": "→"}
    said = cut_said(each.text, 100)
    more = f" (was in {each.before})" if each.what == "moved" else ""
    where = f"{each.movedTo or each.filePath}:{each.line}"
    return f"{name[each.what]} {each.what:8} {where}  {each.author}: {said}{more}  {each.commentId}"
