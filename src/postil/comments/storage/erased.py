"""Comments and replies that we wrote and that are gone: another program took them out, or they were deleted here.

An editor with an old copy in memory takes out what was written meanwhile; another program deletes the whole sidecar
(`git/taken_out.py`). What git did (a checkout, a pull, a commit) is not told: then the sidecar is what the last commit
holds, or the comment is in a commit of another branch or an earlier one, and not in the last. So a comment counts as
erased while its sidecar differs from the last commit, no file of the workspace holds it, no commit but the last has
it, and the sidecar was not a version without it that git has when we wrote it again (`find_discarded`). Not here: how
it is written again (`storage/put_back.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from postil.comments.git.objects import iterate_objects
from postil.comments.git.taken_out import (
    find_deleted_here,
    find_home,
    find_taken_by_git,
    find_vanished,
    read_committed,
    split,
)
from postil.comments.model import EDITED_BY, Comment
from postil.comments.sidecar.dialects import AnyComment, find_id
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.noted import LostReply, Noted, list_replies
from postil.comments.storage.store import Store
from postil.comments.storage.write_log import LogReader, Row, Written, decode_line
from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.failures import GitFailed, GitTimedOut
from postil.workspace.git import TIMEOUT
from postil.workspace.paths import RelativePath

QUICKLY = 1.0
"""Seconds that git has to say what it took out, where somebody only glances."""
MOST_COMMENTS = 60_000
"""Comments, and replies, of the log that are known at once; ours holds fewer."""
MOST_FILES = 20_000
"""Files of the log that are looked at."""
FOR_EVER = "~"
"""A moment after all others."""
MOST_PLACES = 20
"""Files that one comment was in, the last ones."""


class Erased(Struct, frozen=True, omit_defaults=True):
    """A comment that is in no file any more, and what it said."""

    id: str
    filePath: str
    author: str
    text: str
    written: str
    replyTo: str = ""
    """Of a reply, the comment that it is missing from."""
    editedBy: str = ""
    """Whose words these are, where they are not the author's any more."""


class Overwritten(Struct, frozen=True, omit_defaults=True):
    """A comment that another program made again what it was before we changed it."""

    id: str
    filePath: str
    author: str
    text: str = ""
    """The words that we wrote, where there are others now."""
    textNow: str = ""
    status: str = ""
    """The status that we wrote, where it is another one now."""
    statusNow: str = ""


Bases: TypeAlias = dict[str, list[tuple[int, str]]]
"""By file, what it was (a git blob) before a line of the log was written."""
FindHeld: TypeAlias = Callable[[Collection[str]], Collection[str]]
"""Tells which of some ids a file of the workspace holds."""


class Kept(NamedTuple):
    """A comment as the log keeps it, by where it is in there: very many need not be held."""

    id: str
    path: str
    places: list[int]
    """The line with the comment, then those with what was changed since."""
    marker: int
    """The line with its marker; -1 where there is none."""
    last: int
    """The line that says when it was written or deleted."""


def delete(sidecar: Sidecar, comment: Comment) -> None:
    """Take a comment out of its file, and note what it was: `find_deleted` knows it as long as the log does."""
    marker = sidecar.marker_of(comment)
    held = sidecar.raw_marker(marker.id) if marker else None
    sidecar.steps.append(Noted(comment.id, sidecar.raw_comment(comment.id), held))
    sidecar.remove(comment.id)


class Gone:
    """What the log of a workspace says of comments that no file holds; of some files alone, where these are given."""

    def __init__(self, store: Store, log: LogReader, find_held: FindHeld, among: Collection[str] | None = None) -> None:
        self._store, self._log, self._find_held = store, log, find_held
        self._written: dict[str, tuple[Kept, ...]] = {}
        self._deleted: dict[str, Kept] = {}
        self._left: dict[str, dict[str, int]] = {}
        self._bases: Bases = {}
        believe = Belief(store)
        for row in log.rows():
            is_known = row.id in self._written or len(self._written) < MOST_COMMENTS
            if is_known and (among is None or row.path in among) and believe.path(row.path):
                self._take(row)
                add_base(self._bases, row)

    def _take(self, row: Row) -> None:
        """Learn what we wrote last of a comment, by file, or that it was deleted, and what it was."""
        places = self._written.get(row.id, ())
        before = next((each for each in places if each.path == row.path), None)
        others = tuple(each for each in places[-MOST_PLACES:] if each.path != row.path)
        self._deleted.pop(row.id, None)
        self._written[row.id] = others
        if not row.has_comment:
            self._left.setdefault(row.path, {})[row.id] = row.place
            if before and not others:  # else it was moved to another file, where it was written first
                self._deleted[row.id] = before._replace(last=row.place)
            return
        self._left.get(row.path, {}).pop(row.id, None)
        if row.part and not before:
            return  # the comment itself was too long to be noted
        lines = before.places if row.part and before else []
        lines.append(row.place)
        marker = row.place if row.has_marker else before.marker if before else -1
        self._written[row.id] = (*others, Kept(row.id, row.path, lines, marker, row.place))

    def find_missing(self) -> dict[str, Kept]:
        """Returns the comments that we wrote last and nobody holds, by id, whoever took them out."""
        held = self._find_held([name for name, places in self._written.items() if places])
        return {name: places[-1] for name, places in self._written.items() if places and name not in held}

    def find_deleted(self) -> dict[str, Kept]:
        """Returns the comments that were deleted here, by id, the last one last."""
        held = self._find_held(self._deleted)
        return {name: each for name, each in self._deleted.items() if name not in held}

    def find_erased(self) -> dict[str, Kept]:
        """Returns the comments that we wrote last and nobody holds, by id. Raises GitTimedOut."""
        found = {name for some in self.iterate_erased(TIMEOUT) for name in some}
        return {name: places[-1] for name, places in self._written.items() if name in found}

    def iterate_erased(self, timeout: float) -> Iterator[set[str]]:
        """Yields their ids, of as many files together as git is asked of. Raises GitTimedOut."""
        held = self._find_held([name for name, places in self._written.items() if places])
        by_path: dict[str, list[str]] = {}
        for name, places in self._written.items():
            if places and name not in held:
                by_path.setdefault(places[-1].path, []).append(name)
        for part in split(list(by_path)):
            found = _find_erased(self._store, {path: by_path[path] for path in part}, timeout)
            last = {name: (self._written[name][-1].path, self._written[name][-1].last) for name in found}
            yield found - find_discarded(self._store, last, self._bases)

    def find_deleted_files(self, timeout: float = TIMEOUT) -> dict[str, list[str]]:
        """Returns the files whose sidecar git has and another program deleted, with the comments that would come back.

        Raises GitTimedOut.
        """
        from postil.comments.storage.put_back import read_deleted  # only where files may be gone

        found = {
            path: read_deleted(self._store, RelativePath(path), self.list_taken_out(path))
            for path in find_deleted_here(self._store.tree, timeout)
        }
        return {path: [each.id for each in sidecar.comments] for path, sidecar in found.items() if sidecar}

    def load(self, kept: Kept) -> Written | None:
        """Returns a comment as it was written last; None where what the log holds is none."""
        found = self._log.read(kept.places[0])
        for place in kept.places[1:]:
            change = self._log.read(place)
            if found and found.comment is not None and change and change.comment:
                found = replace(found, comment={**found.comment, **change.comment})
        if found is None or (found.id, found.path) != (kept.id, kept.path) or not is_sound(found):
            return None
        marker = self._log.read(kept.marker) if kept.marker >= 0 else None
        last = self._log.read(kept.last)
        return replace(found, at=last.at if last else found.at, marker=marker.marker if marker else None)

    def list_taken_out(self, path: str) -> dict[str, str]:
        """Returns the comments that were deleted from a file, and when; and, for ever, those that another holds."""
        left = self._left.get(path, {})
        held = self._find_held(left) if left else ()
        read = {name: self._log.read(place) for name, place in left.items() if name not in held}
        return dict.fromkeys(held, FOR_EVER) | {name: each.at for name, each in read.items() if each}


@contextmanager
def read_gone(store: Store, find_held: FindHeld) -> Generator[Gone]:
    """Yields what the log says of comments that are gone."""
    with store.log.open() as log:
        yield Gone(store, log, find_held)


def count_vanished(store: Store, there: Collection[str], find_held: FindHeld) -> str:
    """Returns how many comments are gone with their sidecars, which are not `there`; empty if none, quickly."""
    until = time.monotonic() + QUICKLY
    found: set[str] = set()
    whole: dict[str, list[str]] = {}
    has_asked, more = False, ""
    with store.log.open() as log:
        paths = _list_gone(store, log, there)
        gone = Gone(store, log, find_held, paths)
        with suppress(GitTimedOut):
            whole = gone.find_deleted_files(QUICKLY)
        try:
            for some in gone.iterate_erased(QUICKLY) if paths else ():
                found, has_asked = found | some, True
                if time.monotonic() > until:
                    more = "more than "
                    break
        except (GitTimedOut, GitFailed):
            if not has_asked:
                return "Comment files that were written here are gone"
            more = "more than "
    count = len(found.union(*whole.values()))
    if not count:
        return ""
    if count > len(found):
        files = "a comment file" if len(whole) == 1 else f"{len(whole)} comment files"
        return f"{more}{count} {'is' if count == 1 else 'are'} gone with {files} that another program deleted"
    return (
        "1 that was written here is gone"
        if count == 1 and not more
        else f"{more}{count} that were written here are gone"
    )


def _list_gone(store: Store, log: LogReader, there: Collection[str]) -> set[str]:
    """Returns the files of the log that are here, and have no sidecar."""
    believe = Belief(store)
    return {path for path in log.paths().difference(there) if believe.path(path) and store.tree.stat(path)}


def add_base(bases: Bases, row: Row) -> None:
    """Learn what a file was before a line of the log was written."""
    if row.base and row.base.isalnum():
        bases[row.path] = [*bases.get(row.path, ())[-MOST_PLACES:], (row.place, row.base)]


def find_discarded(store: Store, lost: Mapping[str, tuple[str, int]], bases: Bases) -> set[str]:
    """Returns those of some ids, by file and the line of the log that wrote them, that git had taken out.

    When the file was written again, it was a version that git has, and without them: a checkout put it there.
    """
    if not store.tree.git:
        return set()
    later = {name: [base for place, base in bases.get(path, ()) if place > last] for name, (path, last) in lost.items()}
    homes: dict[str, set[str]] = {}
    for name, (path, _) in lost.items():
        if later[name]:
            homes.setdefault(find_home(store.tree, path).root, set()).update(later[name])
    without: set[str] = set()
    for root, blobs in homes.items():
        for blob, text in iterate_objects(root, sorted(blobs)):
            without |= {name for name, some in later.items() if blob in some and name.encode() not in text}
    return without


class Belief:
    """Which files may have comments: a repository may bring a log of its own."""

    def __init__(self, store: Store) -> None:
        self._tree = store.tree
        self._known: dict[str, bool] = {}

    def path(self, path: str) -> bool:
        """Whether a file may have comments."""
        if path not in self._known:
            if len(self._known) >= MOST_FILES:
                return False
            try:
                self._known[path] = self._tree.path(path) == path
            except Failure:
                self._known[path] = False
        return self._known[path]


def list_believed(store: Store, text: bytes) -> Iterator[Written]:
    """Yields what the log says of files that may have comments, in the lines that hold a text, newest first."""
    with store.log.open() as log:
        for _, each in _believe(store, log.lines_back(text)):
            yield each


def _believe(store: Store, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Written]]:
    believe = Belief(store)
    for place, line in lines:
        each = decode_line(line)
        if each and believe.path(each.path) and is_sound(each):
            yield place, each


def is_sound(each: Written) -> bool:
    """Whether a sidecar that holds this comment, or what it was before, can still be read."""
    if each.comment is None:
        return True
    now = {"text": "", **each.comment} if each.part else each.comment
    before = {**now, **{key: value for key, value in (each.was or {}).items() if value is not None}}
    return bool(each.id) and all(find_id(raw, AnyComment) == each.id for raw in (now, before))


def _find_erased(store: Store, lost: Mapping[str, Collection[str]], timeout: float = TIMEOUT) -> set[str]:
    """Returns those of some ids, by file, that another program took out."""
    vanished = find_vanished(store.tree, [path for path in lost if not store.has(RelativePath(path))], timeout)
    changed = [path for path in lost if path in vanished or is_changed(store, path)]
    asked = {path: lost[path] for path in changed}
    taken = find_taken_by_git(store.tree, asked, timeout) if store.tree.git else {}
    return {name for path, names in asked.items() for name in names if name not in taken.get(path, ())}


def find_erased_replies(store: Store) -> dict[str, LostReply]:
    """Returns the replies that we wrote and that their comment, which is there, has not got any more, by id."""
    found: dict[str, LostReply] = {}
    bases: Bases = {}
    with store.log.open() as log:
        for row in log.rows():
            add_base(bases, row)
        for path, some in _list_noted_replies(store, log).items():
            if not some or not is_changed(store, path):
                continue
            held = {each.id: {reply.id for reply in each.replies} for each in store.read(RelativePath(path)).comments}
            lost = [name for name, (comment, _) in some.items() if name not in held.get(comment, {name})]
            taken: set[str] = set()
            if store.tree.git and lost:
                taken |= find_taken_by_git(store.tree, {path: lost}).get(path, set())
            taken |= find_discarded(store, {name: (path, some[name][1]) for name in lost if name not in taken}, bases)
            for name in lost:
                written = log.read(some[name][1]) if name not in taken else None
                if written and written.comment and name in (replies := dict(list_replies(written.comment))):
                    found[name] = LostReply(path, written.id, replies[name], written.at)
    return found


def _list_noted_replies(store: Store, log: LogReader) -> dict[str, dict[str, tuple[str, int]]]:
    """Returns the replies that we wrote, by file and id: the comment that each is of, and the last line that has it."""
    by_path: dict[str, dict[str, tuple[str, int]]] = {}
    left = MOST_COMMENTS
    for place, each in _believe(store, log.lines(lambda line: b'"repl' in line or b'"comment"' not in line)):
        if each.comment is None:  # deleted, or moved to another file, where it was written first
            known = by_path.get(each.path, {})
            by_path[each.path] = {name: at for name, at in known.items() if at[0] != each.id}
            continue
        made = by_path.setdefault(each.path, {})
        if each.undoes and each.reply:
            made.pop(each.reply, None)
        for name, _ in list_replies(each.comment):
            if name in made or left > 0:
                left -= name not in made
                made[name] = each.id, place
    return by_path


def describe(each: Written) -> Erased:
    """Returns what is told of an erased comment."""
    raw = each.comment or {}
    author, by = str(raw.get("author", "")), str(raw.get(EDITED_BY) or "")
    return Erased(each.id, each.path, author, str(raw.get("text", ""))[: limits.TEXT], each.at, editedBy=by)


def describe_reply(name: str, each: LostReply) -> Erased:
    """Returns what is told of an erased reply."""
    raw = each.reply
    return Erased(
        name, each.path, str(raw.get("author", "")), str(raw.get("text", ""))[: limits.TEXT], each.at, each.comment
    )


def is_changed(store: Store, path: str) -> bool:
    """Whether a sidecar is there and is not what the last commit holds."""
    try:
        now = store.read_bytes(RelativePath(path))
        store.read(RelativePath(path))
    except Failure:
        return False  # a damaged file has its comments still, and is told as damaged
    return now is not None and not (store.tree.git and read_committed(store.tree, path) == now)
