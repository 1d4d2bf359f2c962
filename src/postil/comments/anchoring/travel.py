"""Looking for lost code in other files. Pure: texts in, relocations out. moved_files.py says which files to look in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from posixpath import dirname

from msgspec import Struct
from msgspec.structs import replace

from postil.anchor.model import MOST_CANDIDATES, Candidate, Relocation
from postil.anchor.model import Source as Version
from postil.anchor.other_files import measure_way
from postil.anchor.page import Page
from postil.anchor.travelled import Travelled
from postil.comments.model import OtherFile

LOST = ("orphaned", "review")
WENT = "moved to "
"""What is said first of code that was found in another file, by that file's name."""
SURE = ("exact", "moved", "modified")
ALIKE = 0.8
"""Where another file got this share of the rows that came along to one, nobody can tell which the code is in."""


class Origin(Struct, frozen=True):
    """What is known of the code that was lost: the old text (or a fragment of it), the row in it, its symbol.

    `blob` is the id of the whole old text, where it is known.
    """

    old: Version
    row: int
    symbol: tuple[str, ...] = ()
    blob: str = ""


class _Move(Struct, frozen=True):
    """A file that code came to, and how many rows came along."""

    proof: float
    found: Relocation
    path: str


class _Judges:
    """Who says what came to another file, one for each old text and function; what is compared is shared."""

    def __init__(self, pages: dict[Version, Page], now: Page, other: Page, file: OtherFile) -> None:
        self._pages, self._now, self._other, self._file = pages, now, other, file
        self._found: dict[tuple[Version, tuple[str, ...]], Travelled] = {}

    def find(self, old: Version, symbol: tuple[str, ...] = ()) -> Travelled:
        """Returns the judge of code of a text, in the function or class of that path."""
        found = self._found.get((old, symbol))
        if found is None:
            before, common = self._file.before, self._file.common
            if old not in self._pages:
                self._pages[old] = Page(old)
            found = (
                self.find(old).of_symbol(symbol)
                if symbol
                else Travelled(self._pages[old], self._now, self._other, before.__contains__, common.__contains__)
            )
            self._found[old, symbol] = found
        return found


Ask = Callable[[Sequence[int], Version], Sequence[Relocation]]


def search_others(
    here: Sequence[Relocation], ask: Ask, origins: Sequence[Origin], now: Version, elsewhere: Sequence[OtherFile]
) -> list[Relocation]:
    """Returns the same, with what its file has lost looked for in other files, the likeliest first.

    Only what travelled goes to another file: rows came along, or the function around it did. What is merely alike
    there stays lost.
    """
    found = list(here)
    if not elsewhere:
        return found
    doubtful: dict[int, list[Candidate]] = {}
    moves: dict[int, list[_Move]] = {}
    pages: dict[Version, Page] = {}
    after = Page(now)
    for other in elsewhere:
        if other.former:
            went = [index for index, origin in enumerate(origins) if origin.blob in other.former]
            for index, there in zip(went, ask(went, Version(other.text, other.path)), strict=True):
                found[index] = _follow_rename(here[index], there, other, now.path)
            continue
        if other.exchanged or other.copied:
            everything = range(len(found))
            there = ask(everything, Version(other.text, other.path)) if other.exchanged else list(here)
            found = [_ask_which(each, there[index], other, now.path) for index, each in enumerate(found)]
            continue
        lost = [
            index
            for index, each in enumerate(found)
            if each.state in LOST or other.replaced or (other.swapped and origins[index].old.text == other.text)
        ]
        if not lost:
            break
        there = Page(Version(other.text, other.path))
        judges = _Judges(pages, after, there, other)
        if not (other.sure or other.renamed):  # the engine is dear: what cannot have come is not asked about
            lost = [each for each in lost if judges.find(origins[each].old).may_have_come(origins[each].row)]
        for index, each in zip(lost, ask(lost, there.source), strict=True):
            if each.span is None:
                continue
            origin = origins[index]
            travelled = judges.find(origin.old, origin.symbol)
            verdict = "moved" if other.sure else travelled.judge(origin.row, each.span.start - 1, other.renamed)
            if verdict == "moved" and each.state in SURE and (other.sure or other.renamed):
                found[index] = _move(each, other.path)
                moves.pop(index, None)
            elif verdict == "moved" and each.state in SURE:
                proof = travelled.count_proof(origin.row, each.span.start - 1)
                moves.setdefault(index, []).append(_Move(proof, each, other.path))
            elif (verdict or other.renamed) and here[index].state == "orphaned":
                doubtful.setdefault(index, []).append(
                    Candidate(each.span, min(each.confidence, 0.7), each.new_text, other.path)
                )
    for index, some in moves.items():
        found[index] = _choose(some, now.path)
    for index, candidates in doubtful.items():
        if found[index].state == "orphaned":
            found[index] = _offer(found[index], candidates, now.path)
    return [_say_renamed(each, now, elsewhere) for each in found]


def _follow_rename(here: Relocation, there: Relocation, other: OtherFile, path: str) -> Relocation:
    """Returns where code is in what its file became; where it is not there surely, a person is asked."""
    if there.state in SURE and there.span:
        return _move(there, other.path)
    inside = [Candidate(each.span, each.confidence, each.text, other.path) for each in there.candidates]
    if not inside and here.span is None:
        reason = f"The file is now {other.path}; nothing like this code is left in it"
        return replace(here, state="orphaned", reason=reason, candidates=(), path=other.path)
    own = [Candidate(here.span, min(here.confidence, 0.5), here.new_text, path)] if here.span else []
    reason = f"the file was renamed to {other.path}, and {path} is another one now"
    options = tuple(inside) if there.state == "review" and inside else (*own, *inside)
    return Relocation("review", None, options[0].confidence, reason, here.old_text, options[0].text, options)


def _ask_which(here: Relocation, there: Relocation, other: OtherFile, path: str) -> Relocation:
    """Returns where code is that another file may have now; unless that is clear, a person is asked."""
    own = _list_own(here, path)
    if other.copied:
        if not own or here.state not in ("modified", "review"):
            return here
        reason = f"the file seems to be a copy of {other.path} now, and this may be other code"
        return Relocation("review", None, own[0].confidence, reason, here.old_text, own[0].text, own)
    if there.state not in SURE or there.span is None:
        return here
    if here.old_text == there.new_text != here.new_text and not other.unknown:
        return _move(there, other.path)
    reason = f"the file and {other.path} seem to have taken each other's names"
    if other.unknown:
        reason = f"the file was given another content, and {other.path} holds what it was"
    options = (Candidate(there.span, min(there.confidence, 0.7), there.new_text, other.path), *own)[:MOST_CANDIDATES]
    return Relocation("review", None, options[0].confidence, reason, here.old_text, there.new_text, options)


def _list_own(here: Relocation, path: str) -> tuple[Candidate, ...]:
    """Returns the places that a person is shown of the comment's own file."""
    if here.state == "review":
        return tuple(replace(each, path=each.path or path) for each in here.candidates)
    return (Candidate(here.span, min(here.confidence, 0.7), here.new_text, path),) if here.span else ()


def _choose(moves: Sequence[_Move], path: str) -> Relocation:
    """Returns where most rows came along; where about as many came to another file too, a person is asked.

    So it is where most came to another folder and enough to a file of their own: folders may hold the same headers.
    """
    best = max(moves, key=lambda each: each.proof)
    home = dirname(path)
    left_home = dirname(best.path) != home
    alike = [each for each in moves if each.proof >= ALIKE * best.proof or (left_home and dirname(each.path) == home)]
    alike.sort(key=lambda each: -each.proof)
    if len(alike) == 1:
        return _move(best.found, best.path)
    options = rank(
        [
            Candidate(each.found.span, min(each.found.confidence, 0.7), each.found.new_text, each.path)
            for each in alike
            if each.found.span
        ],
        best.found.old_text,
        path,
    )
    reason = f"it stands in several files now: {', '.join(each.path for each in options)}"
    return Relocation("review", None, options[0].confidence, reason, best.found.old_text, options[0].text, options)


def rank(candidates: Sequence[Candidate], old_text: str, origin: str) -> tuple[Candidate, ...]:
    """Returns the likeliest first; of equally likely ones the same code before what is alike, then the nearer file."""
    wanted = "".join(old_text.split())
    return tuple(
        sorted(
            candidates,
            key=lambda each: (
                -round(each.confidence, 2),
                "".join(each.text.split()) != wanted,
                measure_way(origin, each.path),
            ),
        )
    )


def _move(found: Relocation, path: str) -> Relocation:
    state = "modified" if found.state == "modified" else "moved"
    reason = f"{WENT}{path}" + (" and edited" if state == "modified" else "")
    return Relocation(state, found.span, found.confidence, reason, found.old_text, found.new_text, path=path)


def _offer(lost: Relocation, candidates: Sequence[Candidate], origin: str) -> Relocation:
    ranked = rank(candidates, lost.old_text, origin)
    best = ranked[0]
    reason = f"it may have moved to {best.path}"
    return Relocation("review", None, best.confidence, reason, lost.old_text, best.text, ranked)


def _say_renamed(found: Relocation, now: Version, elsewhere: Sequence[OtherFile]) -> Relocation:
    """Returns the same; code that is gone from a renamed file, or uncertain in it, counts where the file is now."""
    renamed = next((each.path for each in elsewhere if each.renamed), "")
    if found.state not in LOST or now.text or not renamed:
        return found
    if found.candidates:
        best = found.candidates[0]
        return replace(found, path=renamed, span=best.span) if best.path == renamed else found
    return replace(found, reason=f"The file is now {renamed}; nothing like this code is left in it", path=renamed)
