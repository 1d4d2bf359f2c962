"""The files that changed since a commit, and which of them hold a line. Reads each file once, for all that is lost.

A line is known by a number, so that those of very many files take little memory: eight bytes for a line of a file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice

from postil.comments.anchoring.equal_files import FilesBySize
from postil.comments.git.objects import read_objects
from postil.comments.source_tree import SourceTree, decode
from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.git import list_rows, try_git
from postil.workspace.paths import RelativePath

SHORTEST_LINE = 8
MOST_CHANGED = 2000
MOST_READ = 64 * limits.MIB
"""Characters that are read of all files, the small ones first."""
MOST_COMMITS_KNOWN = 200
COMMON = 100
"""A line that more of the files hold does not tell one from another."""
FEWEST, MOST, ALIKE = 4, 0.5, 0.8
"""What a new file must have got of another's lines to be what became of it: so many, and this share; and no other may
have got nearly as many."""
EVER = ""
"""In place of a commit: before there was anything."""
_NEW_OR_CHANGED = ("--name-only", "-z", "--no-renames", "--diff-filter=AM")
_FILE_BITS = 16
_LINE_MASK = (1 << 47) - 1
_TABLES = 256


class LineHolders:
    """The changed files of a workspace, as they were when they were first asked for.

    None of them is larger than `largest`, and of all together no more is read than `most`.
    """

    def __init__(self, tree: SourceTree, largest: int = limits.HERE, most: int = MOST_READ) -> None:
        self.tree, self.largest = tree, largest
        self._left = most
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._tables = [array("q") for _ in range(_TABLES)]
        """The numbers of lines, each with that of a file in its last bits: in order, once all files are read."""
        self._unsorted = False
        self._changed: dict[str, bytes] = {}
        """By commit, for the number of a file whether it changed since."""
        self._by_size: dict[str, FilesBySize] = {}
        self.inner: dict[str, LineHolders] = {}
        """Those of submodules, by their folders."""

    def read_changed(self, commits: Iterable[str]) -> None:
        """Read the files that changed since some commits, all before the first question about one of them."""
        for commit in dict.fromkeys(commits):
            self._list(commit)
        if self._unsorted:
            self._tables = [array("q", sorted(table)) for table in self._tables]
            self._unsorted = False

    def _list(self, commit: str) -> bytes:
        known = self._changed.get(commit)
        if known is None:
            if len(self._changed) >= MOST_COMMITS_KNOWN:
                self._changed.clear()
            paths = list_changed(self.tree, commit)
            sizes = {path: self.tree.size(path) for path in paths}
            for path in sorted((path for path in paths if sizes[path] <= self.largest), key=sizes.__getitem__):
                self._read(path)
            flags = bytearray(len(self._names))
            for path in paths:
                if path in self._numbers:
                    flags[self._numbers[path]] = 1
            known = self._changed[commit] = bytes(flags)
        return known

    def _read(self, path: str) -> None:
        if path in self._numbers or self._left <= 0 or len(self._names) >> _FILE_BITS:
            return
        try:
            text = self.tree.source(RelativePath(path)).text
        except Failure:
            return
        self._left -= len(text)
        number = self._numbers[path] = len(self._names)
        self._names.append(path)
        for line in telling_lines(text):
            value = _number(line)
            self._tables[value % _TABLES].append(value << _FILE_BITS | number)
        self._unsorted = True

    def find(self, commit: str, line: str) -> list[str]:
        """Returns those of the files that hold a line; none where so many do that it tells nothing."""
        changed, found = self._list(commit), list[str]()
        for number in self._find(line):
            if number < len(changed) and changed[number]:
                found.append(self._names[number])
                if len(found) > COMMON:
                    return []
        return found

    def _find(self, line: str) -> Iterator[int]:
        value = _number(line)
        table, first = self._tables[value % _TABLES], value << _FILE_BITS
        for at in range(bisect_left(table, first), len(table)):
            if table[at] >> _FILE_BITS != value:
                return
            yield table[at] & ((1 << _FILE_BITS) - 1)

    def select_held(self, path: str, lines: Iterable[str]) -> set[str]:
        """Returns those of some lines that a file holds."""
        number = self._numbers.get(path)
        return set() if number is None else {line for line in lines if self._holds(line, number)}

    def select_still(self, path: str, lines: frozenset[str]) -> Collection[str]:
        """Returns those of the lines that a file held which it holds still: all, where it did not change."""
        return self.select_held(path, lines) if path in self._numbers else lines

    def _holds(self, line: str, number: int) -> bool:
        value = _number(line)
        table, wanted = self._tables[value % _TABLES], value << _FILE_BITS | number
        at = bisect_left(table, wanted)
        return at < len(table) and table[at] == wanted

    def equal(self, commit: str, texts: Collection[str]) -> list[str]:
        """Returns the changed files that hold one of some texts, and nothing else."""
        if not texts:
            return []
        if commit not in self._by_size:
            if len(self._by_size) >= MOST_COMMITS_KNOWN:
                self._by_size.clear()
            self._by_size[commit] = FilesBySize(self.tree, list_changed(self.tree, commit))
        return self._by_size[commit].equal(texts)

    def read_text(self, path: str) -> str:
        """Returns a file as it is now, one of the few that are likely; nothing when it cannot be read."""
        if self.tree.size(path) > self.largest:
            return ""
        try:
            return self.tree.source(RelativePath(path)).text
        except Failure:
            return ""


def _number(line: str) -> int:
    return hash(line) & _LINE_MASK


def list_changed(tree: SourceTree, commit: str) -> list[str]:
    """Returns the sources that are new or differ from what they were at a commit, committed or not; EVER: all."""
    asked = ("ls-files", "-z") if commit == EVER else ("diff", *_NEW_OR_CHANGED, commit, "--", ".")
    changed = try_git(tree.root, *asked).out
    new = try_git(tree.root, "ls-files", "-z", "--others", "--exclude-standard").out
    paths = chain(list_rows(changed), list_rows(new))
    return list(islice((path for path in paths if not path.endswith(".comments")), MOST_CHANGED))


def telling_lines(text: str) -> frozenset[str]:
    """Returns the lines of a text that are long enough to tell where they came from, without the blanks around them."""
    return frozenset(line for row in text.split("\n") if len(line := row.strip()) >= SHORTEST_LINE)


def find_successors(known: LineHolders, names: Collection[str]) -> dict[str, str]:
    """Returns what files of the last commit became since: new files that have most of their lines."""
    if not names:
        return {}
    there = _read_head(known.tree, names)
    lines = {name: telling_lines(text) for name, text in there.items()}
    if not lines:
        return {}
    known.read_changed(["HEAD"])
    got = {name: Counter(path for line in some for path in known.find("HEAD", line)) for name, some in lines.items()}
    old = _read_head(known.tree, {path for some in got.values() for path in some})
    found: dict[str, str] = {}
    for name, some in got.items():
        new = [(path, count) for path, count in some.most_common() if path not in old]
        enough = [path for path, count in new if count >= max(FEWEST, MOST * len(lines[name]), ALIKE * new[0][1])]
        if len(enough) == 1:
            found[name] = enough[0]
    return found


def _read_head(tree: SourceTree, paths: Iterable[str]) -> dict[str, str]:
    """Returns files as the last commit has them, of those that are small."""
    there = read_objects(tree.root, (f"HEAD:{path}" for path in paths), limits.HERE, 8 * limits.MIB)
    return {name.partition(":")[2]: decode(content) for name, content in there.items()}
