"""Comments whose code is gone, uncertain or another by now: shown with what is known, and decided by a person."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.json import encode
from msgspec.structs import replace

from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, symbols
from postil.comments.git.outside import tell_shallow
from postil.comments.model import Before, Candidate, Damage
from postil.comments.operations.answers import (
    CommentNow,
    describe_anchor,
    leave_out_unlikely,
    list_old_code,
    warn_missing,
)
from postil.comments.operations.by_id import LISTED, NO_NAMES, CommentsById, NamedComments
from postil.comments.operations.contract import ContractTools
from postil.comments.operations.validation import Limit, Where
from postil.comments.search.filters import is_about
from postil.comments.show.one_comment import show_line, show_row
from postil.core import call
from postil.core.arguments.file_line import split_place
from postil.core.arguments.typed import type_words
from postil.core.failure import Failure
from postil.core.operation import reads, writes
from postil.core.others.visible import harmless, paint
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.model import Located
    from postil.comments.part import CommentsContext

Done: TypeAlias = Literal["placed", "resolved", "deleted", "skipped"]
MOST_HELD = 200
"""Lost comments that are read at once."""
LOST = "state IN ('orphaned', 'review')"
STALE = "stale = 1"
AT_ONCE = 50
MOST_SHOWN = 200
LONGEST_SHOWN = 120
MOST_LINES = 5


class PlainOrphaned(Struct, frozen=True, omit_defaults=True):
    """Comments whose code is gone or uncertain, as programs get them."""

    comments: tuple[CommentNow, ...]
    total: int = 0
    outside: str | UnsetType = UNSET
    damaged: tuple[Damage, ...] = ()


class Orphaned(NamedComments, frozen=True):
    """Comments whose code is gone or uncertain."""

    comments: tuple[CommentNow, ...]
    total: int = 0
    """How many there are in all."""
    outside: str | UnsetType = UNSET
    """What is said of comments that a sparse checkout leaves out."""

    def plain(self) -> PlainOrphaned:
        return PlainOrphaned(self.comments, self.total, self.outside, self.damaged)

    def for_model(self) -> str:
        rows = [_show_options(each, show_line(each)) for each in self.comments]
        shown = [*rows, *self._tell_rest("limit")] or ["No comment has lost its code."]
        return "\n".join(shown) + warn_missing(self.damaged, self.outside)

    def for_person(self) -> str | None:
        rest = self._tell_rest("--limit; `postil comments doubts --skip` shows others")
        rows = (_show_options(each, self.show_named(each)) for each in self.comments)
        said = "\n".join([*rows, *rest]) + warn_missing(self.damaged, self.outside)
        return said if said.strip() else None

    def _tell_rest(self, how: str) -> list[str]:
        return [f"{len(self.comments)} of {self.total} are shown ({how})"] if self.total > len(self.comments) else []


class PlainReviewed(Struct, frozen=True):
    """What a person decided, as programs get it."""

    placed: int
    deleted: int
    skipped: int
    waiting: tuple[CommentNow, ...] = ()
    resolved: int = 0
    total: int = 0
    damaged: tuple[Damage, ...] = ()


class Reviewed(NamedComments, frozen=True):
    """What a person decided about uncertain comments."""

    placed: int
    deleted: int
    skipped: int
    waiting: tuple[CommentNow, ...] = ()
    resolved: int = 0
    total: int = 0
    """How many wait in all, where not all are shown."""
    outside: str = ""
    """What is said of comments whose code only the past explains, which a shallow clone has not got."""

    def plain(self) -> PlainReviewed:
        return PlainReviewed(
            self.placed, self.deleted, self.skipped, self.waiting, self.resolved, self.total, self.damaged
        )

    def for_model(self) -> str:
        return self._tell(show_line)

    def for_person(self) -> str:
        return self._tell(self.show_named)

    def _tell(self, show: Callable[[CommentNow], str]) -> str:
        if self.waiting:
            shown = [f"{len(self.waiting)} of {self.total} are shown"] if self.total > len(self.waiting) else []
            head = "To review (run it on a terminal to decide):"
            said = "\n".join([head, *(_show_options(each, show(each)) for each in self.waiting), *shown])
        else:
            done = f"{self.placed} placed, {self.resolved} resolved, {self.deleted} deleted"
            said = f"{done}, {self.skipped} left as they were"
        return said + warn_missing(self.damaged, self.outside or UNSET)


class Decision(Struct, frozen=True):
    """What a person says of one comment: one of the candidates, or a file and a line."""

    did: Literal["place", "keep", "resolve", "delete", "skip", "quit"]
    place: Candidate | None = None
    file: str = ""
    line: int = 0


class ReviewTools:
    """Comments that wait for a person's decision."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context
        self._contract = ContractTools(context)
        self._by_id = CommentsById(context)

    @reads("comments_orphans", title="Lost comments", shell="comments orphans", positional=("file",))
    def list_orphans(self, file: Where = "", limit: Limit = 200) -> Orphaned:
        """List comments whose code is gone or uncertain, with old code, commit, candidates"""
        return self._list_lost(file, 0, limit)

    @reads("comments_doubts", shell="comments doubts", positional=("file",), toolset="extra")
    def list_doubts(
        self,
        file: Where = "",
        limit: Annotated[int, Meta(ge=1, le=200, description="how many")] = 20,
        skip: Annotated[int, Meta(ge=0, description="how many to leave out")] = 0,
    ) -> Orphaned:
        """List some of the comments whose code is gone or uncertain, and how many there are"""
        return self._list_lost(file, skip, limit)

    def _list_lost(self, file: str, skip: int, limit: int) -> Orphaned:
        overview, there = self._context.overview, self._context.tree.where(file)
        overview.refresh()
        (total, held), damaged = overview.index.read(
            lambda: (self._read_lost(there), overview.damaged(there)), "lost", there
        )
        if held is None:
            found = self._find(file, LOST)
            page = [*islice(found, skip, skip + limit)]
            total = total if not file else skip + len(page) + _count(found)
        else:
            page = held[skip : skip + limit]
        if not total:
            self._context.refuse_missing(there)
        outside = self._context.tell_left_out(there, page) or UNSET
        return Orphaned(self._explain(page), total, outside, damaged=damaged, names=self._read_names())

    def _read_names(self) -> Mapping[str, str]:
        """Returns short names where a person reads them."""
        return self._context.short_names() if call.current().person else NO_NAMES

    def _read_lost(self, there: str) -> tuple[int, list[Located] | None]:
        """Returns how many comments have lost their code, and which; None where they are too many to be held."""
        from postil.comments.index.pages import count_comments  # SQLite, which the overview has loaded

        index = self._context.overview.index
        total = count_comments(index, LOST)
        if total > MOST_HELD:
            return total, None
        held = [each for each in index.rows(LOST) if not there or is_about(there, each)] if total else []
        return len(held), held

    def _find(self, file: str, where: str) -> Iterator[Located]:
        """Yields the comments of a file for which a condition holds, read as they are asked for."""
        there = self._context.tree.where(file)
        self._context.overview.refresh()
        return (each for each in self._context.overview.index.stream(where) if not there or is_about(there, each))

    def _explain(self, some: Sequence[Located]) -> tuple[CommentNow, ...]:
        return tuple(map(self._add_surroundings, self._context.explain_all(some), some))

    def _add_surroundings(self, each: CommentNow, located: Located) -> CommentNow:
        """Returns a comment whose candidates can be told apart: each with the lines around it, and what it is in.

        So it is told of the code that it was tied to.
        """
        options: list[Candidate] = []
        each = leave_out_unlikely(each)
        for option in each.candidates:
            source = self._context.tree.source_or_none(RelativePath(option.path))
            lines = source.lines if source else ()
            symbol = innermost(symbols(source.text, language_of(option.path)), option.line) if source else None
            around = tuple(line[:LONGEST_SHOWN] for line in lines[max(0, option.line - 2) : option.line + 1])
            options.append(replace(option, inside=symbol.label if symbol else "", around=around))
        return replace(each, candidates=tuple(options), was=_tell_before(each, located))

    @writes("comments_review", shell="comments review", positional=("file",), toolset="extra")
    def review(self, file: Where = "") -> Reviewed:
        """Go through uncertain, orphaned and stale comments and decide where each belongs"""
        waiting = [
            each.comment.id for where in (LOST, STALE) for each in self._find(file, f"{where} AND status = 'open'")
        ]
        there = self._context.tree.where(file)
        if not waiting:
            self._context.refuse_missing(there)
        damaged = self._context.overview.damaged(there)
        names = self._read_names()
        if not call.current().interactive:
            shown = self._read(waiting[:MOST_SHOWN])
            outside = tell_shallow(self._context.tree.common_dir) if waiting else ""
            return Reviewed(0, 0, 0, shown, total=len(waiting), outside=outside, damaged=damaged, names=names)
        count = {"placed": 0, "resolved": 0, "deleted": 0, "skipped": 0}
        for number, each in enumerate(self._read_by_turns(waiting), 1):
            head = f"[{number}/{len(waiting)}] {show_row(each, names.get(each.id, each.id)).lstrip()}"
            _say(f"\n{paint(harmless(_show_options(each, head)), call.current().colors)}\n")
            did = self._decide(each, names.get(each.id, each.id))
            if did is None:
                count["skipped"] += len(waiting) - number + 1
                break
            count[did] += 1
        done = (count["placed"], count["deleted"], count["skipped"])
        return Reviewed(*done, resolved=count["resolved"], damaged=damaged)

    def _read_by_turns(self, names: Sequence[str]) -> Iterator[CommentNow]:
        """Yields comments by id, a few read at a time: there may be very many. One that is gone is passed over."""
        for at in range(0, len(names), AT_ONCE):
            yield from self._read(names[at : at + AT_ONCE])

    def _read(self, names: Sequence[str]) -> tuple[CommentNow, ...]:
        found = {each.comment.id: each for each in self._context.overview.where(f"id {LISTED}", encode(names).decode())}
        return self._explain([found[name] for name in names if name in found])

    def _decide(self, each: CommentNow, name: str) -> Done | None:
        """Ask what is to become of a comment until it can be done, and do it. Returns None to end the review.

        `name`: how a person calls it.
        """
        here = self._context.tree.source_or_none(RelativePath(each.path)) is not None
        while True:
            decision = _ask(each, here=here)
            if decision.did == "quit":
                return None
            try:
                did, where = self._carry_out(each, decision)
            except Failure as fault:
                _say(f"{harmless(fault.text())}\n")
                continue
            if where:
                _say(f"{did.capitalize()}{harmless(where)}; `postil comments undo {type_words(name)}` undoes it\n")
            return did

    def _carry_out(self, each: CommentNow, decision: Decision) -> tuple[Done, str]:
        """Returns what was done, and of what can be undone a phrase that says where it is now."""
        if decision.did == "skip":
            return "skipped", ""
        if decision.did == "resolve":
            self._by_id.resolve(f"{each.filePath}:{each.id}")
            return "resolved", ""
        if decision.did == "delete":
            deleted = self._contract.delete(each.id, each.filePath)
            return "deleted", f" from {deleted.filePath}" if deleted.undo else ""
        if decision.did == "keep":
            self._contract.move(f"{each.filePath}:{each.id}")
            return "placed", ""
        if decision.place:
            place = decision.place
            self._context.moves.move(each.filePath, place.path, each.id, place.line, place.endLine)
            return "placed", f" at {place.path}:{place.line}"
        file = self._context.tree.typed(decision.file) or each.path
        last = len(self._context.tree.source_with_line(file, decision.line).lines)
        marker = self._context.find(each.id).marker
        more = max(marker.endLine - marker.line, 0) if marker else 0  # as many lines as it spoke of
        end = min(decision.line + more, last) if more else 0
        self._context.moves.move(each.filePath, file, each.id, decision.line, end)
        return "placed", f" at {file}:{decision.line}"


def _count(rest: Iterator[Located]) -> int:
    return sum(1 for _ in rest)


def _tell_before(each: CommentNow, located: Located) -> Before | None:
    """Returns where the code of a comment was, as its marker says; None of blank code, which is told otherwise."""
    marker, code = located.marker, tuple(line for line in each.oldText.split("\n")[:MOST_LINES] if line.strip())
    if marker is None or each.oldAround or not code:
        return None
    anchor = marker.anchor
    above = anchor.pre[-1:] if anchor and anchor.pre else (marker.prevLineText,) if marker.prevLineText else ()
    below = anchor.post[:1] if anchor and anchor.post else (marker.nextLineText,) if marker.nextLineText else ()
    label = describe_anchor(marker.symbolPath, marker.symbolKind, marker.line) if marker.symbolPath else ""
    cut = [tuple(line[:LONGEST_SHOWN] for line in lines) for lines in (code, above, below)]
    return Before(marker.line, cut[0], label, *cut[1:])


def _show_before(was: Before) -> Iterator[str]:
    yield f"    was at line {was.line}" + (f" in {was.inside}" if was.inside else "")
    rows = [*((" ", line) for line in was.above), *(("-", line) for line in was.code)]
    for number, (mark, line) in enumerate([*rows, *((" ", line) for line in was.below)], was.line - len(was.above)):
        yield f"       {mark} {number:>5} {line}"


def _show_options(each: CommentNow, head: str) -> str:
    """Returns a comment below its head line: why it waits, what it was tied to, and where that may be."""
    lines = [head, f"    {each.reason}" + (", and little is left of what it was" if each.stale else "")]
    if each.commit:
        lines.append(f"    by {each.commit.id[:12]} {each.commit.subject} ({each.commit.author})")
    if each.was:
        lines += _show_before(each.was)
    else:
        lines += [f"    - {line}" for line in list_old_code(each)[:MOST_LINES]]
    if each.stale:
        lines += [f"    + {line}" for line in each.newText.split("\n")[:MOST_LINES] if line.strip()]
    for rank, option in enumerate(each.candidates, 1):
        inside = f" in {option.inside}" if option.inside else ""
        lines.append(f"    {rank}. {option.path}:{option.line}{inside} ({option.confidence:.2f})")
        first = max(1, option.line - 1)
        shown = option.around or (option.text.strip()[:LONGEST_SHOWN],)
        start = first if option.around else option.line
        lines += [
            f"       {'>' if start + at == option.line else ' '} {start + at:>5} {line}"
            for at, line in enumerate(shown)
        ]
    return "\n".join(lines)


_WORDS: dict[str, Literal["keep", "resolve", "delete", "skip", "quit"]] = {
    "k": "keep",
    "r": "resolve",
    "d": "delete",
    "s": "skip",
    "": "skip",
    "q": "quit",
}


def _ask(each: CommentNow, *, here: bool) -> Decision:
    """Returns what the person at the terminal says about one comment; `here`: its file is there."""
    options = len(each.candidates)
    places = [f"1-{options}" if options > 1 else "1"] if options else []
    places += ["FILE:LINE", *([":LINE"] if here else [])]
    keep = ["[k]eep here"] if each.stale else []
    words = ", ".join([*places, *keep, "[r]esolve", "[s]kip", "[d]elete", "[q]uit", "?"])
    while True:
        _say(f"{words} > ")
        said = sys.stdin.readline()
        decision = _parse_decision(said.strip(), each) if said else Decision("quit")
        if decision:
            return decision
        if said.strip() in ("?", "h", "help"):
            _say("".join(f"  {word:<10} {means}\n" for word, means in _list_help(each, here=here)))
        else:
            _say("That is none of these; ? explains them.\n")


def _list_help(each: CommentNow, *, here: bool) -> Iterator[tuple[str, str]]:
    """Yields what can be said of a comment, and what it does."""
    options = len(each.candidates)
    if options:
        yield f"1-{options}" if options > 1 else "1", "tie it to that place, of those above"
    yield "FILE:LINE", "tie it to that line of that file"
    if here:
        yield ":LINE", f"tie it to that line of {harmless(each.path)}"
    if each.stale:
        yield "k", "keep it here: it holds for the code as it is now"
    yield "r", "resolve it: it stays in its file, and is not asked about again"
    yield "s, Enter", "leave it as it is, and go on"
    yield "d", "delete it (`postil comments undo ID` brings it back)"
    yield "q", "end; what was decided stays decided"


def _say(text: str) -> None:
    """Tell the person, on a line that a progress bar may stand on."""
    sys.stderr.write(f"\r\x1b[K{text}" if sys.stderr.isatty() else text)
    sys.stderr.flush()


def _parse_decision(word: str, each: CommentNow) -> Decision | None:
    """A bare number is a candidate and never a line: a slip of the finger must not place a comment anywhere."""
    if word in _WORDS and (word != "k" or each.stale):
        return Decision(_WORDS[word])
    if word.isdecimal():
        inside = 1 <= int(word) <= len(each.candidates)
        return Decision("place", each.candidates[int(word) - 1]) if inside else None
    file, line, end = split_place(word)
    return Decision("place", file=file, line=line) if line and not end else None
