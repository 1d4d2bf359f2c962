"""The commits after which code was no longer where and what it had been, for many comments together.

Those of a file are looked for in step: git is asked once for its versions, and each that is looked at is compared once
for all comments that ask about it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
from postil.comments.anchoring.locate import give_up
from postil.comments.git.blame import read_small
from postil.comments.git.versions import PATIENCE, History, Version, list_later, read_history
from postil.comments.model import Commit, State
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.core import call
from postil.workspace.git import try_git

MOST_WAYS = 16
"""Ways through branches that are looked at for a file; where there are more, a merge is named."""
AT_ONCE = 50
"""Comments of a file with large versions about which a worker is asked at once: it has a bound of time."""
MOST_TRIED = 60
"""Versions of a file that are looked at one by one, where halving finds nothing."""
_DOUBTS: dict[State, tuple[frozenset[State], ...]] = {
    "moved": (frozenset({"moved", "modified", "review", "orphaned"}),),
    "modified": (frozenset({"modified", "review", "orphaned"}),),
    "review": (frozenset({"review", "orphaned"}), frozenset({"modified", "review", "orphaned"})),
    "orphaned": (frozenset({"orphaned"}),),
}
"""By the state of a comment's code, the states of an earlier version that show it was that already; the second set is
asked where no version is in the first."""


class Suspicion(Struct, frozen=True):
    """Code that was known in one version of a file, and what became of it."""

    path: str
    blob: str
    span: Span
    state: State
    now: str = ""
    """The file that has become of it, where that is known."""


class Culprits(NamedTuple):
    """For each question the commit that did it, or None when none is to blame or known."""

    commits: list[Commit | None]
    complete: bool
    """Whether as much of the history was read as was needed: what is not known now is not known later.

    Of a partial clone it is not, where versions are at its remote alone: they may be here the next time.
    """


def find_culprits(tree: SourceTree, versions: FileVersions, asked: Sequence[Suspicion]) -> Culprits:
    """Returns the commits that did it."""
    found: list[Commit | None] = [None] * len(asked)
    names = _follow_names(tree, asked)
    groups: dict[tuple[str, str, str], list[int]] = {}
    for number, each in enumerate(asked):
        if each.state != "exact" and each.blob:
            now = each.path if each.state == "moved" else each.now or names.get(each.path, each.path)
            groups.setdefault((each.path, now, each.blob), []).append(number)
    histories: dict[str, History] = {}
    until = time.monotonic() + PATIENCE
    complete, is_partial = True, _leaves_objects(tree)
    for done, ((path, now, blob), numbers) in enumerate(groups.items()):
        call.current().check()
        if len(groups) > 1:
            call.current().progress(done, len(groups), "looking for the commits")
        history, later, some = list[Version](), list[Version](), [asked[at] for at in numbers]
        for name in dict.fromkeys((now, path)):  # code that went alone to another file left its own
            known = histories.get(name)
            is_enough = known is not None and (known.complete or known.partial or _holds(known, blob))
            if known is None or not (is_enough or time.monotonic() > until):
                histories[name] = read_history(tree, name, until, partial(_holds, blob=blob))
            history = histories[name].versions
            if later := list_later(history, blob):
                break
        every = history if any(each.merged for each in later) else later
        wanted = [one for one in (blob, *(each.blob for each in every)) if one] if later else []
        if later and is_partial and read_small(versions, [blob]) == {}:
            wanted = [blob]  # of the others git would be asked one by one
        large = set[str]()
        texts = read_small(versions, wanted, large)
        if texts is None:
            commits, is_whole = _ask_worker(tree, path, some)
        else:
            commits = _judge(path, blob, history, texts, some) if blob in texts else [None] * len(some)
            is_whole = all(one in texts or one in large for one in wanted)
        complete = complete and is_whole
        for number, commit in zip(numbers, commits, strict=True):
            found[number] = commit
    complete = complete and not any(each.partial for each in histories.values())
    return Culprits(found, complete and time.monotonic() < until)


def _leaves_objects(tree: SourceTree) -> bool:
    """Whether a clone has left objects at its remote."""
    try:
        return tree.git and any(name.endswith(".promisor") for name in os.listdir(f"{tree.common_dir}/objects/pack"))
    except OSError:
        return False


def name_history(tree: SourceTree) -> str:
    """Returns what differs between histories: the last commit, and where a shallow clone ends. Empty without any."""
    done = try_git(tree.root, "rev-parse", "--verify", "--quiet", "HEAD") if tree.git else None
    cut = tree.stat(os.path.join(tree.common_dir, "shallow"))
    return f"{done.out.decode().strip()} {cut}" if done and done.status == 0 else ""


def _follow_names(tree: SourceTree, asked: Sequence[Suspicion]) -> dict[str, str]:
    """Returns what files are called now that are gone: a commit that renamed one took no code out of it."""
    gone = {each.path for each in asked if each.state not in ("exact", "moved") and each.blob and not each.now}
    gone = {path for path in gone if not tree.stat(path)}
    if not gone or not tree.git:
        return {}
    from postil.comments.anchoring.renamed_in_steps import follow_renames  # only where files are gone

    return follow_renames(tree, gone)


def _holds(history: History, blob: str) -> bool:
    """Whether a version was made of that one, or is it."""
    return any(blob in (each.old_blob, each.blob) for each in history.versions)


def _ask_worker(tree: SourceTree, path: str, asked: Sequence[Suspicion]) -> Culprits:
    """Returns the same for a file with large versions, which the server does not compare itself."""
    from postil.comments.git.past_worker import TakesTooLong, ask_past

    found: list[Commit | None] = []
    complete = True
    for at in range(0, len(asked), AT_ONCE):
        some = asked[at : at + AT_ONCE]
        try:
            told = ask_past(tree, "culprit", path, (some,), Culprits)
        except TakesTooLong:
            told = Culprits([None] * len(some), True)
        found += told.commits
        complete = complete and told.complete
    return Culprits(found, complete)


def _judge(
    path: str, blob: str, history: Sequence[Version], texts: Mapping[str, str], asked: Sequence[Suspicion]
) -> list[Commit | None]:
    """Returns the commits that did it. What came with a merge, a commit of the branch did that brought it."""
    commits: list[Commit | None] = [None] * len(asked)
    open_: list[tuple[Sequence[Version], str | None, Sequence[int]]] = [(history, None, range(len(asked)))]
    for _ in range(MOST_WAYS):
        if not open_:
            break
        some, tip, numbers = open_.pop()
        trial = _Trial(path, texts[blob], list_later(some, blob, tip), texts)
        found = dict(zip(numbers, trial.find([asked[number] for number in numbers]), strict=True))
        for number, version in found.items():
            commits[number] = version.commit if version else commits[number]
        for merge in dict.fromkeys(each for each in found.values() if each is not None and each.merged):
            joined = [at for at, each in enumerate(some) if each.commit == merge.commit]
            earlier = some[joined[-1] + 1 :]  # a later version may be the same as one that was merged
            theirs = [number for number, each in found.items() if each == merge]
            others = [some[at].old_blob for at in joined if some[at] != merge and some[at].old_blob]
            open_ += [(earlier, other, theirs) for other in others]
    return commits


class _Trial:
    """Pieces of code of one version, and the versions that came after it, as far as they can be read."""

    def __init__(self, path: str, old: str, later: Sequence[Version], texts: Mapping[str, str]) -> None:
        self._old, self._path = Source(old, path), path
        is_read = [not each.blob or each.blob in texts for each in later]
        self._later = [each for each, is_here in zip(later, is_read, strict=True) if is_here]
        self._is_next = [before for before, is_here in zip([True, *is_read], is_read, strict=False) if is_here]
        """Whether the version before is read, too: else one between may have been the first."""
        self._texts = texts
        self._known: dict[tuple[int, Span], State] = {}

    def find(self, asked: Sequence[Suspicion]) -> list[Version | None]:
        """Returns for each the first version in which it is what it is now; None where that is not sure."""
        first = self._bisect({at: (each.span, _DOUBTS[each.state][0]) for at, each in enumerate(asked)})
        again = {
            at: (each.span, _DOUBTS[each.state][1])
            for at, each in enumerate(asked)
            if first[at] == len(self._later) and len(_DOUBTS[each.state]) > 1
        }
        first |= self._bisect(again)
        for at, each in enumerate(asked):
            if first[at] == len(self._later) and each.state == "review":
                first[at] = self._find_first(each.span)
        return [
            self._later[first[at]] if first[at] < len(self._later) and self._is_next[first[at]] else None
            for at in range(len(asked))
        ]

    def _find_first(self, span: Span) -> int:
        """Returns the first version in which code was gone or uncertain, though a later one has what looks like it."""
        for version in range(min(len(self._later), MOST_TRIED)):
            self._judge(version, [span])
            if self._known[version, span] in _DOUBTS["review"][0]:
                return version
        return len(self._later)

    def _bisect(self, asked: Mapping[int, tuple[Span, frozenset[State]]]) -> dict[int, int]:
        """Returns for each the first version in one of its states, all of them halving their choice in step."""
        low = dict.fromkeys(asked, 0)
        high = dict.fromkeys(asked, len(self._later))
        while open_ := [at for at in asked if low[at] < high[at]]:
            middle = {at: (low[at] + high[at]) // 2 for at in open_}
            for version in dict.fromkeys(middle.values()):
                self._judge(version, [asked[at][0] for at in open_ if middle[at] == version])
            for at in open_:
                span, states = asked[at]
                if self._known[middle[at], span] in states:
                    high[at] = middle[at]
                else:
                    low[at] = middle[at] + 1
        return low

    def _judge(self, version: int, spans: Sequence[Span]) -> None:
        """See what became of some lines in a version."""
        call.current().check()
        unknown = [span for span in dict.fromkeys(spans) if (version, span) not in self._known]
        text = self._texts.get(self._later[version].blob)
        if text is None:  # the commit deleted the file
            self._known |= {(version, span): "orphaned" for span in unknown}
            return
        there = relocate_all(self._old, Source(text, self._path), unknown) if unknown else ()
        self._known |= {(version, span): give_up(each).state for span, each in zip(unknown, there, strict=True)}
