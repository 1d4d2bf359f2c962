"""Which other files code may have gone to: those that got the missing lines since the comment knew its file.

A file that held the lines all along holds a copy, not the code that moved. git is asked a few times for all orphans
together, never once for each.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

from postil.anchor.other_files import measure_way
from postil.anchor.travelled import stands_anywhere
from postil.comments.anchoring.equal_files import find_without_git, list_respelled
from postil.comments.anchoring.former_names import find_former_names
from postil.comments.anchoring.line_holders import EVER, LineHolders, find_successors, telling_lines
from postil.comments.anchoring.locate import fingerprint_of
from postil.comments.anchoring.renamed_in_steps import follow_renames
from postil.comments.git.objects import read_objects
from postil.comments.model import Located, OtherFile
from postil.comments.source_tree import SourceTree, decode
from postil.comments.storage.file_versions import FileVersions
from postil.comments.storage.store import SUFFIX, skipped_folder
from postil.core import limits
from postil.workspace.failures import ELSEWHERE, GitFailed
from postil.workspace.git import git_lines, try_git
from postil.workspace.paths import RelativePath

MOST_FILES = 5
MOST_PARTS = 16
"""Files that a file may have been split into: those that got most lines around some lost code."""
MOST_COMMITS = 1000
MOST_WALKED = 20_000
"""Files of a folder without git that are looked at."""
MOST_READ = 64 * limits.MIB
"""Bytes that are read of what files were at commits."""
ALIKE = 0.8
"""Where another file got this share of the lines that one got, nobody can tell which of them it became."""
Place = tuple[str, str]
"""A commit and a path."""
NAMED = 0.5
"""What a file of the same name must have got of the lines that another got at most, to be what became of it."""
RENAMED = 0.4
FEWEST = 4
"""The share of the lines of a file that is gone that another one must have got to be what became of it."""
WHOLE = 0.5
"""The share of them with which it is the same file under another name, and its code is looked for as if it had it."""
SEVERAL = 2
MOST_BESIDE = 30
MOST_LINES = 500
"""Other files that hold a line all along, with which it tells nothing; how many are asked, and for how many lines."""
REST = 0.2
LARGEST_REST = 2048
"""The share of its lines that a file keeps at most whose content went elsewhere, and the bytes that are left of it."""


def find_other_files(
    tree: SourceTree, orphans: Sequence[Located], versions: FileVersions, known: LineHolders | None = None
) -> dict[str, list[OtherFile]]:
    """Returns for each file with lost code the other files that have got its lines since, the likeliest first.

    `known` are the changed files, read once for all who ask; none of them is larger than what the caller compares.
    """
    wanted: dict[str, set[str]] = {}
    pieces: dict[str, set[frozenset[str]]] = {}
    blobs: dict[str, set[str]] = {}
    placed: dict[str, list[str]] = {}
    for each in orphans:
        lines = _list_lines(each)
        wanted.setdefault(each.filePath, set()).update(lines)
        pieces.setdefault(each.filePath, set()).add(lines)
        if each.marker and each.marker.anchor and each.marker.anchor.blob:
            blobs.setdefault(each.filePath, set()).add(each.marker.anchor.blob)
            placed.setdefault(each.filePath, []).append(each.marker.lastVerified)
    known = known or LineHolders(tree)
    if not tree.git:
        texts = versions.read((blob for some in blobs.values() for blob in some), known.largest)
        return find_without_git(tree, {path: _pick(texts, blobs.get(path, ())) for path in wanted}, list_files)
    gone = _read_gone(tree, blobs, versions, known.largest)
    whole = {path: frozenset(line for text in texts for line in telling_lines(text)) for path, texts in gone.items()}
    then = find_commits(tree, blobs)
    unknown = _list_unknown(tree, wanted, then)
    whole |= {origin: frozenset(wanted[origin]) for origin in unknown}
    then |= dict.fromkeys(unknown, EVER)
    by_time = _find_by_time(tree, {origin: placed.get(origin, ()) for origin in wanted if origin not in then})
    then |= by_time.commits
    unknown |= by_time.older
    then = {origin: then.get(origin, "HEAD") for origin in wanted}
    known.read_changed(then.values())
    likely = {
        origin: _list_likely(known, origin, then[origin], some, whole.get(origin)) for origin, some in pieces.items()
    }
    became = {
        origin: list_respelled(tree, origin) or known.equal(then[origin], gone.get(origin, ()))
        for origin in wanted
        if not tree.stat(origin)
    }
    asked = {(then[origin], path) for named in (likely, became) for origin, paths in named.items() for path in paths}
    before = _read_lines_at(tree, asked, known.largest)
    read = cache(known.read_text)
    held = _Held(known, read, before, {(then[origin], path) for origin in likely for path in likely[origin]})
    every: dict[str, dict[str, set[str]]] = {}
    for origin, paths in likely.items():
        lines = wanted[origin] | whole.get(origin, frozenset())
        every[origin] = {path: known.select_held(path, lines) - held.at(then[origin], path, origin) for path in paths}
    common = _find_common(known, then, every)
    found: dict[str, list[OtherFile]] = {origin: [] for origin in likely}
    code: dict[str, dict[str, int]] = {}
    for origin, paths in likely.items():
        came, lines = every[origin], whole.get(origin, frozenset())
        new = {path: len(some) for path, some in came.items()}
        code[origin] = {path: _count_code(some) for path, some in came.items()}
        strange = {path for path in paths if _has_heir(code[origin], origin, path)}
        share = 1.0 if tree.stat(origin) else NAMED  # one that is still there has its name itself
        named = _find_named(new, origin, strange, share) if origin in whole else ""
        own = {path: len(some - common[origin]) for path, some in came.items()}
        own_lines = len(lines - common[origin])
        best = sorted(
            _order({path: count for path, count in new.items() if count}, origin), key=lambda path: path != named
        )
        for path in _select_parts(best, pieces[origin], came):
            successor = path not in strange and _is_successor(new, path, len(lines), named)
            successor = successor and _got_own(own[path], own_lines, path == named)
            sure = successor and new[path] >= max(FEWEST, WHOLE * len(lines)) and own[path] >= WHOLE * own_lines
            found[origin].append(
                OtherFile(
                    path,
                    read(path),
                    _list_keys(held.at(then[origin], path, origin)),
                    frozenset() if successor else _list_keys(common[origin]),
                    renamed=successor,
                    sure=sure and held.is_from(then[origin], path, origin),
                )
            )
    for origin, paths in became.items():
        # One that was another before and has the whole text now was overwritten; one that is merely spelled so was not.
        equal = known.equal(then[origin], gone.get(origin, ()))
        new_there = [path for path in paths if path in equal or (then[origin], path) not in before]
        if len(new_there) == 1:
            found[origin] = [OtherFile(new_there[0], known.read_text(new_there[0]), renamed=True, sure=True)]
    lost = [origin for origin in became if not any(each.renamed for each in found[origin])]
    for origin, path in _follow(known, lost).items():
        there = known.select_held(path, whole.get(origin, ()))
        got_common = bool(there) and there <= common[origin]
        if got_common or _has_heir({**code[origin], path: _count_code(there)}, origin, path):
            continue
        likely = [each for each in found[origin] if each.path != path]
        found[origin] = [OtherFile(path, known.read_text(path), renamed=True), *likely][:MOST_FILES]
    for origin in unknown:  # whether a file held the lines before is not known: only what became of the whole file
        found[origin] = [each for each in found[origin] if each.renamed][:1]
    return found


def _follow(known: LineHolders, lost: Sequence[str]) -> dict[str, str]:
    """Returns what files that are gone are called now, after they were edited and renamed one after the other."""
    names = follow_renames(known.tree, lost)
    last = find_successors(known, [name for name in names.values() if not known.tree.stat(name)])
    now = {origin: last.get(name, name) for origin, name in names.items()}
    return {origin: name for origin, name in now.items() if name != origin and known.tree.stat(name)}


def _list_likely(
    known: LineHolders, origin: str, commit: str, pieces: Collection[frozenset[str]], whole: Iterable[str] | None
) -> list[str]:
    """Returns the files that got most of the lines around what is lost, or most lines of a file that is gone.

    So are those that got most of what is around one piece of it: the others are for other pieces.
    """

    @cache
    def find(line: str) -> list[str]:
        return [path for path in known.find(commit, line) if path != origin]

    near, most = (
        Counter(path for line in lines for path in find(line))
        for lines in (frozenset[str]().union(*pieces), whole or ())
    )
    ordered = _order(near, origin)
    place = {path: number for number, path in enumerate(ordered)}
    parts = Counter[str]()
    for piece in pieces:
        got = Counter(path for line in piece for path in find(line))
        parts.update(sorted(got, key=lambda path: (-got[path], place[path]))[:2])
    split = sorted(parts, key=lambda path: (-parts[path], place[path]))[:MOST_PARTS]
    found = dict.fromkeys((*ordered[:MOST_FILES], *_order(most, origin)[:MOST_FILES], *split))
    return list(found | dict.fromkeys(_list_named(_order(most, origin), origin)[:MOST_FILES]))


def _select_parts(
    ordered: Sequence[str], pieces: Iterable[frozenset[str]], came: Mapping[str, Collection[str]]
) -> list[str]:
    """Returns those of some files that got most lines, and those that got most around one piece, in their order."""
    wanted = dict.fromkeys(ordered[:MOST_FILES])
    parts = Counter[str]()
    for piece in pieces:
        got = {path: len(piece.intersection(came[path])) for path in ordered}
        best = max(ordered, key=got.__getitem__, default="")
        if best and got[best]:
            parts[best] += 1
    wanted |= dict.fromkeys(path for path, _ in parts.most_common(MOST_PARTS))
    return [path for path in ordered if path in wanted][:MOST_PARTS]


def _order(got: Mapping[str, int], origin: str) -> list[str]:
    """Returns files by the lines that they got, of those with as many the ones nearest to the origin first."""
    return sorted(got, key=lambda path: (-got[path], measure_way(origin, path), path))


def _is_successor(got: dict[str, int], path: str, lines: int, named: str) -> bool:
    """Whether a file is what became of one that is gone: it got many of its lines, and no other got nearly as many.

    Where one bears its name (`named`), it is that one: files of a family may be more like each other than each is like
    what it was.
    """
    if named:
        return path == named and got[path] >= FEWEST
    next_best = max((count for other, count in got.items() if other != path), default=0)
    return bool(lines) and got[path] >= max(FEWEST, RENAMED * lines) and next_best < ALIKE * got[path]


def _list_keys(lines: Iterable[str]) -> frozenset[str]:
    """Returns lines without their whitespace."""
    return frozenset("".join(line.split()) for line in lines)


def _got_own(count: int, lines: int, named: bool) -> bool:
    """Whether a file got enough of those lines of one that is gone that do not stand in several others all along."""
    enough = RENAMED * lines
    return count >= max(1, min(FEWEST, enough) if named else enough)


def _find_named(got: dict[str, int], origin: str, strange: Collection[str], share: float) -> str:
    """Returns the one file that bears the name of a file that is gone and got about as many of its lines as any."""
    enough = max(FEWEST, share * max(got.values(), default=0))
    same = [path for path in _list_named(got, origin) if got[path] >= enough]
    return same[0] if len(same) == 1 and same[0] not in strange else ""


def _has_heir(code: Mapping[str, int], origin: str, path: str) -> bool:
    """Whether a file of the folder of one that is gone got as much of its code as another file of another folder.

    Small files of one name, in several folders, are alike: there neither the name nor git tells what became of one.
    """
    home = PurePosixPath(origin).parent
    if PurePosixPath(path).parent == home:
        return False
    return any(PurePosixPath(each).parent == home and count >= max(1, code[path]) for each, count in code.items())


def _count_code(lines: Iterable[str]) -> int:
    """Returns how many of some lines do not stand in many files, as licences and imports do."""
    return sum(not stands_anywhere(line) for line in lines)


def _list_named(paths: Iterable[str], origin: str) -> list[str]:
    name = PurePosixPath(origin).name
    return [path for path in paths if PurePosixPath(path).name == name]


def _list_unknown(tree: SourceTree, origins: Iterable[str], then: dict[str, str]) -> set[str]:
    """Returns the files that are gone, and that the history of a shallow clone does not reach back to."""
    gone = {path for path in origins if path not in then and not tree.stat(path)}
    if gone and try_git(tree.root, "rev-parse", "--is-shallow-repository").out.strip() != b"true":
        return set()
    return gone


def _read_gone(
    tree: SourceTree, blobs: dict[str, set[str]], versions: FileVersions, largest: int
) -> dict[str, list[str]]:
    """Returns the files that are gone as their comments knew them, as far as that can be had.

    So are those of which next to nothing is left: their content went elsewhere, and a few lines lead there.
    """
    likely = {path: some for path, some in blobs.items() if not tree.stat(path) or tree.size(path) <= LARGEST_REST}
    texts = versions.read((blob for some in likely.values() for blob in some), largest) if likely else {}
    known = {path: _pick(texts, some) for path, some in likely.items()}
    return {path: some for path, some in known.items() if not tree.stat(path) or _is_emptied(tree, path, some)}


def _is_emptied(tree: SourceTree, path: str, texts: Sequence[str]) -> bool:
    source = tree.source_or_none(RelativePath(path))
    now = telling_lines(source.text) if source else frozenset[str]()
    return any(len(now & (then := telling_lines(text))) <= REST * len(then) for text in texts)


def _pick(texts: Mapping[str, str], blobs: Iterable[str]) -> list[str]:
    return [texts[blob] for blob in blobs if blob in texts]


class _Held:
    """What files held when comments knew theirs, under the names that they had then."""

    def __init__(
        self,
        known: LineHolders,
        read: Callable[[str], str],
        before: Mapping[Place, frozenset[str]],
        asked: Iterable[Place],
    ) -> None:
        self._before = before
        new: dict[str, list[str]] = {}
        for commit, path in asked:
            if (commit, path) not in before and commit != EVER:
                new.setdefault(commit, []).append(path)
        names = {commit: find_former_names(known.tree, commit, paths) for commit, paths in new.items()}
        places = {(commit, name) for commit, former in names.items() for some in former.values() for name in some}
        lines = _read_lines_at(known.tree, places, known.largest)
        self._former: dict[Place, dict[str, frozenset[str]]] = {}
        """Of files that are new by their names the ones that they have most lines of, with all lines of those."""
        for commit, former in names.items():
            for path, some in former.items():
                now = telling_lines(read(path)) if some else frozenset[str]()
                shared = {name: len(lines.get((commit, name), frozenset()) & now) for name in some}
                most = max(shared.values(), default=0)
                best = [name for name in some if shared[name] == most > 0]
                self._former[commit, path] = {name: lines[commit, name] for name in best}

    def at(self, commit: str, path: str, origin: str) -> frozenset[str]:
        """Returns the lines that a file held; none of one that is new, or is what became of the origin of a comment."""
        former = self._former.get((commit, path), {})
        if not former or origin in former:
            return self._before.get((commit, path), frozenset())
        return next(iter(former.values()))

    def is_from(self, commit: str, path: str, origin: str) -> bool:
        """Returns whether a file was nothing else before than the origin of a comment."""
        return list(self._former.get((commit, path), ())) == [origin]


def _list_lines(orphan: Located) -> frozenset[str]:
    if orphan.marker is None:
        return frozenset()
    print_ = fingerprint_of(orphan.marker, {})
    return telling_lines("\n".join((print_.text, *print_.before, *print_.after)))


def find_commits(tree: SourceTree, blobs: dict[str, set[str]]) -> dict[str, str]:
    """Returns for each file the latest commit at which it was as its comments knew it."""
    found: dict[str, str] = {}
    if try_git(tree.root, "rev-parse", "--verify", "--quiet", "HEAD").status != 0:
        return found  # nothing was committed yet
    for commit, name, old, new in _list_last_changes(tree):
        if name in blobs and name not in found:
            if new in blobs[name]:
                found[name] = commit
            elif old in blobs[name]:
                found[name] = f"{commit}^"
            if len(found) == len(blobs):
                break
    return found


def _list_last_changes(tree: SourceTree) -> Iterator[tuple[str, str, str, str]]:
    """Yields the last commits, newest first, with each file that they changed, its old and its new version.

    Where a partial clone has left the folders of commits at its remote, these are the last that it knows; where a
    commit changed more than git gets memory for, those after it.
    """
    commit = ""
    fields: list[str] = []
    arguments = ("--raw", "--no-abbrev", "--no-renames", "-z", f"--max-count={MOST_COMMITS}", "--format=%x01%H")
    try:
        for row in git_lines(tree.root, "log", *arguments, separator=b"\0"):
            text = row.decode("utf-8", "surrogateescape").lstrip("\n")
            if text.startswith("\x01"):
                commit = text[1:].split("\n", 1)[0]
            elif text.startswith(":"):
                fields = text.split()
            elif fields:
                yield commit, text, fields[2], fields[3]
    except GitFailed as fault:
        if ELSEWHERE not in fault.said and not fault.lacks_memory:
            raise


class _ByTime(NamedTuple):
    """The last commits that there were when comments were placed, and of which files they are older than all."""

    commits: dict[str, str]
    older: set[str]


def _find_by_time(tree: SourceTree, placed: Mapping[str, Sequence[str]]) -> _ByTime:
    """Returns since when files changed that were never committed as their comments knew them, by when that was.

    Were it the last commit, the one with which code was committed elsewhere would take the comment's place from it.
    """
    found = _ByTime({}, set())
    dates = _list_dates(tree) if placed else []
    for path, moments in placed.items():
        moment = min(map(_read_moment, moments), default=0)
        before = next((commit for at, commit in dates if at < moment), EVER)
        before = before or next((commit for at, commit in reversed(dates) if at == moment), EVER)
        if before or not dates:
            found.commits[path] = before
        elif moment and len(dates) < MOST_COMMITS and not tree.stat(path):
            found.commits[path] = EVER
            found.older.add(path)
    return found


def _list_dates(tree: SourceTree) -> list[tuple[int, str]]:
    """Returns when commits were made, in seconds, the last one first; none where nothing was committed yet."""
    rows = try_git(tree.root, "log", f"--max-count={MOST_COMMITS}", "--format=%ct %H").out.decode().split("\n")
    return [(int(at), commit) for at, _, commit in (row.partition(" ") for row in rows if row)]


def _read_moment(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        return 0  # another program's


def _find_common(
    known: LineHolders, then: Mapping[str, str], came: Mapping[str, Mapping[str, Iterable[str]]]
) -> dict[str, frozenset[str]]:
    """Returns for each file with lost code the lines that several others hold, and held when its comments knew it.

    They say nothing of where code went. Asked are the files that hold most of what came to another one, those of its
    folder, and those of its name.
    """
    some = {
        origin: paths
        for origin, paths in came.items()
        if then[origin] != EVER and (any(paths.values()) or not known.tree.stat(origin))
    }
    rows = git_lines(known.tree.root, "ls-files", "-z", separator=b"\0") if some else ()
    beside: dict[str, list[str]] = {}
    for path in (row.decode("utf-8", "surrogateescape") for row in rows):
        for key in (f"{PurePosixPath(path).parent}/", PurePosixPath(path).name):
            beside.setdefault(key, []).append(path)
    asked: dict[str, set[str]] = {}
    for origin, paths in some.items():
        lines = dict.fromkeys(line for got in paths.values() for line in got)
        count = Counter(path for line in islice(lines, MOST_LINES) for path in known.find(then[origin], line))
        near = (*beside.get(f"{PurePosixPath(origin).parent}/", ()), *beside.get(PurePosixPath(origin).name, ()))
        asked[origin] = {*_order(count, origin)[:MOST_BESIDE], *islice(near, MOST_BESIDE)} - {origin}
    places = {(then[origin], path) for origin, paths in asked.items() for path in paths if known.tree.stat(path)}
    before = _read_lines_at(known.tree, places, known.largest)
    still = {place: known.select_still(place[1], lines) for place, lines in before.items()}
    found = dict.fromkeys(came, frozenset[str]())
    for origin, paths in asked.items():
        count = Counter(line for path in paths for line in still.get((then[origin], path), ()))
        found[origin] = frozenset(line for line, times in count.items() if times >= SEVERAL)
    return found


def _read_lines_at(tree: SourceTree, places: set[Place], largest: int) -> dict[Place, frozenset[str]]:
    """Returns the telling lines of files at commits; one that was not there has none."""
    names = (f"{commit}:{path}" for commit, path in places if commit != EVER)
    there = read_objects(tree.root, names, max(largest, 4 * limits.HERE), MOST_READ)
    return {place: telling_lines(decode(there[name])) for place in places if (name := ":".join(place)) in there}


def list_files(tree: SourceTree) -> Iterator[str]:
    """Yields the sources of a folder without git, as far as they are looked at."""
    return islice(_walk(tree), MOST_WALKED)


def _walk(tree: SourceTree) -> Iterator[str]:
    stack = [""]
    while stack:
        inside = stack.pop()
        try:
            entries = list(os.scandir(os.path.join(tree.root, inside)))
        except OSError:
            continue
        for entry in entries:
            path = os.path.join(inside, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if not skipped_folder(entry.name):
                    stack.append(path)
            elif entry.is_file(follow_symlinks=False) and not entry.name.endswith(SUFFIX):
                yield path
