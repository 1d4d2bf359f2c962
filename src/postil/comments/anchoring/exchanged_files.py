"""Files that hold what was another's, though both were edited since: swapped names, and files that were copied over.

What a file lost and another got, and what it got that another had, says so, where more of its old text is in the other
file than in its own. That is likely and never sure: only a comment whose code is there, and here no longer, goes along;
of the others a person is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec import Struct

from postil.comments.anchoring.equal_files import FilesBySize
from postil.comments.anchoring.moved_files import find_commits, list_files
from postil.comments.anchoring.swapped_files import Content, make_swapped
from postil.comments.model import OtherFile
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.comments.storage.store import SUFFIX
from postil.core import limits
from postil.workspace.failures import GitFailed
from postil.workspace.git import git_lines, try_git
from postil.workspace.paths import RelativePath

MOST_OTHERS = 100
"""Changed files without comments that are compared, those beside commented ones first."""
MOST_COMPARED = 64 * limits.MIB
"""Characters of all files that are compared, AT_ONCE of them at a time."""
MOST_BASES = 3
"""Commits since which is asked what else changed."""
MOST_TRIED = 3
AT_ONCE = 50
ASKED_AT_ONCE = 20
"""Files whose own old text, and that of up to six others, is held while they are compared."""
COMMON = 20
"""A line that more files lost, or got, tells nothing."""
COPIED_OVER = 0.5
"""The share of its lines that a file keeps at most which was copied over."""


class _Change(Struct, frozen=True):
    """The lines that a file lost since its comments knew it, and those that it got."""

    lost: frozenset[int]
    got: frozenset[int]


def find_exchanged(tree: SourceTree, versions: FileVersions, read: Mapping[str, Content]) -> dict[str, OtherFile]:
    """Returns for files that seem to hold what was another's the file that has their own content, or the one copied."""
    own = {path: each for path, each in read.items() if each.now and each.versions}
    tracked = _list_tracked(tree, {each.now for each in own.values()}) if tree.git and own else {}
    everything = {**_list_others(tree, own, tracked), **own}
    changes = dict(_compare(tree, versions, everything)) if own else {}
    losers = _by_line((path, each.lost) for path, each in changes.items())
    getters = _by_line((path, each.got) for path, each in changes.items())

    ranked = {
        path: _Ranked(
            _rank(change.got, losers, path), _rank(change.lost, getters, path), tracked.get(own[path].now, ())
        )
        for path, change in changes.items()
        if path in own
    }
    asked = [path for path, each in ranked.items() if any(name != path for some in each for name in some)]
    found: dict[str, OtherFile] = {}
    for at in range(0, len(asked), ASKED_AT_ONCE):
        part = asked[at : at + ASKED_AT_ONCE]
        named = {name for path in part for name in (path, *ranked[path].givers, *ranked[path].holders)}
        texts = versions.read((blob for name in named for blob in everything[name].versions), limits.HERE)
        for path in part:
            other = _judge(_Shared(tree, everything, texts), path, ranked[path])
            if other:
                found[path] = other
    if not tree.git:
        found |= _find_kept(tree, versions, {path: each for path, each in own.items() if path not in found})
    return found


def _find_kept(tree: SourceTree, versions: FileVersions, own: Mapping[str, Content]) -> dict[str, OtherFile]:
    """Returns for files of a folder without git that were given another content the one file that holds their own."""
    lost: dict[str, list[str]] = {}
    names = list(own)
    for at in range(0, len(names), AT_ONCE):
        part = {path: own[path] for path in names[at : at + AT_ONCE]}
        texts = versions.read((blob for each in part.values() for blob in each.versions), limits.HERE)
        shared = _Shared(tree, part, texts)
        for path, each in part.items():
            was = [texts[blob] for blob in each.versions if blob in texts]
            if was and shared.keeps_little(path):
                lost[path] = was
    files = FilesBySize(tree, list_files(tree)) if lost else None
    found: dict[str, OtherFile] = {}
    for path, was in lost.items():
        there = [name for name in (files.equal(was) if files else ()) if name != path]
        source = tree.source_or_none(RelativePath(there[0])) if len(there) == 1 else None
        if source:
            found[path] = OtherFile(source.path, source.text, exchanged=True, unknown=True)
    return found


class _Ranked(NamedTuple):
    """For one file, those that lost most of what it got, that got most of what it lost, and that hold the same."""

    givers: Sequence[str]
    holders: Sequence[str]
    equal: Sequence[str]


class _Shared:
    """How much of what files were is in others now; what they were is at hand."""

    def __init__(self, tree: SourceTree, files: Mapping[str, Content], texts: Mapping[str, str]) -> None:
        self.tree, self.files = tree, files
        self._texts = texts
        self._known: dict[tuple[str, str], int] = {}

    def count(self, old: str, new: str) -> int:
        """Returns how many lines of what one file was another one is now."""
        if (old, new) not in self._known:
            source = self.tree.source_or_none(RelativePath(new))
            now = _count(source.text if source else "")
            self._known[old, new] = max(((_count(text) & now).total() for text in self._list_texts(old)), default=0)
        return self._known[old, new]

    def keeps_little(self, path: str) -> bool:
        """Whether a file holds little of what it was."""
        most = max((_count(text).total() for text in self._list_texts(path)), default=0)
        return self.count(path, path) <= COPIED_OVER * most

    def _list_texts(self, path: str) -> list[str]:
        return [self._texts[blob] for blob in self.files[path].versions if blob in self._texts]


def _judge(shared: _Shared, path: str, ranked: _Ranked) -> OtherFile | None:
    files, content = shared.files, shared.files[path]
    givers = [name for name in ranked.givers if shared.count(name, path) > shared.count(path, path)]
    holders = [
        name
        for name in ranked.holders
        if shared.count(path, name) > max(shared.count(path, path), shared.count(name, name))
    ]
    copied = next((name for name in (*givers, *ranked.equal) if name != path), "")
    source = shared.tree.source_or_none(RelativePath(holders[0])) if givers and holders else None
    if source and source.blob in content.versions and any(content.now in files[name].versions for name in givers):
        return make_swapped(source, replaced=True)
    if source:
        return OtherFile(source.path, source.text, exchanged=True)
    return OtherFile(copied, "", copied=True) if copied and shared.keeps_little(path) else None


def _list_tracked(tree: SourceTree, blobs: set[str]) -> dict[str, list[str]]:
    """Returns the tracked files that git knows to hold some contents, by blob id."""
    found: dict[str, list[str]] = {}
    for row in git_lines(tree.root, "ls-files", "-s", "-z", separator=b"\0"):
        about, _, name = row.decode("utf-8", "surrogateescape").partition("\t")
        blob = about.split(" ")[1] if about else ""
        if blob in blobs:
            found.setdefault(blob, []).append(name)
    return found


def _list_others(tree: SourceTree, own: Mapping[str, Content], tracked: Mapping[str, list[str]]) -> dict[str, Content]:
    """Returns the files without comments that changed since the commented ones were what their comments knew."""
    if not tree.git or not own:
        return {}
    committed = {path: set(each.versions) for path, each in own.items() if path in tracked.get(each.now, ())}
    bases = Counter(find_commits(tree, committed).values() if committed else ())
    bases["HEAD"] += len(own) - len(committed)
    kinds = {PurePosixPath(path).suffix for path in own}
    beside = {PurePosixPath(path).parent for path in own}
    others: dict[str, Content] = {}
    for base, _ in bases.most_common(MOST_BASES):
        for name, blob in _list_changed_blobs(tree, base):
            if name not in own and PurePosixPath(name).suffix in kinds and not name.endswith(SUFFIX):
                others.setdefault(name, Content("", frozenset({blob} if blob.strip("0") else ())))
    new = try_git(tree.root, "ls-files", "-z", "--others", "--exclude-standard").out.decode("utf-8", "surrogateescape")
    for name in new.split("\0"):
        if PurePosixPath(name).suffix in kinds and name not in own and not name.endswith(SUFFIX):
            others.setdefault(name, Content("", frozenset()))
    likely = sorted(others, key=lambda name: PurePosixPath(name).parent not in beside)[:MOST_OTHERS]
    return {name: others[name] for name in likely}


def _list_changed_blobs(tree: SourceTree, commit: str) -> Iterator[tuple[str, str]]:
    """Yields the tracked files that differ from a commit, with what they were there."""
    asked = ("diff", "--raw", "-z", "--no-abbrev", "--no-renames", commit, "--", ".")
    try:
        rows = (row.decode("utf-8", "surrogateescape") for row in git_lines(tree.root, *asked, separator=b"\0"))
        for about, name in zip(rows, rows, strict=False):
            yield name, about.split(" ")[2]
    except GitFailed:  # nothing was committed yet, or more than git gets memory for
        return


def _compare(tree: SourceTree, versions: FileVersions, files: Mapping[str, Content]) -> Iterator[tuple[str, _Change]]:
    """Yields what some files lost and got; nothing of large ones."""
    left = MOST_COMPARED
    everything = list(files.items())
    for at in range(0, len(everything), AT_ONCE):
        part = everything[at : at + AT_ONCE]
        texts = versions.read((blob for _, each in part for blob in each.versions), limits.HERE)
        for path, each in part:
            before = {line for blob in each.versions for line in _lines(texts.get(blob, ""))}
            small = left > 0 and tree.size(path) <= limits.HERE
            source = tree.source_or_none(RelativePath(path)) if small else None
            now = set(_lines(source.text)) if source else set[int]()
            left -= len(source.text) if source else 0
            if small and (before or not each.versions):
                yield path, _Change(frozenset(before - now), frozenset(now - before))
        left -= sum(map(len, texts.values()))


def _by_line(files: Iterable[tuple[str, frozenset[int]]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for path, lines in files:
        for line in lines:
            found.setdefault(line, []).append(path)
    return found


def _rank(lines: frozenset[int], holding: Mapping[int, list[str]], path: str) -> list[str]:
    telling = (names for line in lines if len(names := holding.get(line, ())) <= COMMON)
    count = Counter(name for names in telling for name in names if name != path)
    return [name for name, _ in count.most_common(MOST_TRIED)]


def _lines(text: str) -> Iterator[int]:
    return (hash(line) for row in text.split("\n") if (line := row.strip()))


def _count(text: str) -> Counter[int]:
    return Counter(_lines(text))
