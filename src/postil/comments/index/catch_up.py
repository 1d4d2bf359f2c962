"""Reading again what changed since the cache saw it, and looking in other files for code that was lost.

Loaded where something changed: all that anchors comments comes with it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from postil.comments.anchoring.deleted_between import ASKED
from postil.comments.anchoring.exchanged_files import find_exchanged
from postil.comments.anchoring.inner_repositories import find_in_all, list_inner_trees, stamp_inner, stat_history
from postil.comments.anchoring.line_holders import LineHolders, list_changed
from postil.comments.anchoring.moved_files import list_files
from postil.comments.anchoring.reader import CommentReader
from postil.comments.anchoring.renamed_away import find_renamed_away
from postil.comments.anchoring.swapped_files import Content, find_swapped
from postil.comments.git.before_merge import BeforeMerge
from postil.comments.git.recent_versions import RecentVersions
from postil.comments.index.cache import Index, Seen, find_holders_of
from postil.comments.index.joined import find_doubled, join_notes, list_homes
from postil.comments.index.notes import Note, TooLarge, make_note
from postil.comments.index.refresh_worker import Past, list_large, read_apart, read_many
from postil.comments.index.worker_answers import Read
from postil.comments.model import Located, OtherFile
from postil.comments.source_tree import ONE_TICK, SourceTree
from postil.comments.storage.doubled import find_home, merge_into
from postil.comments.storage.store import skipped_folder
from postil.core import call
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath

AT_ONCE = 200
MOST_AT_ONCE = 2000
MOST_HELD = 5_000
"""Comments that are in memory before they are kept."""
MOST_LOST = 2_000
"""Comments without their code that are in memory before they are looked for in other files."""
SWAPPED, EXCHANGED = "|~", "|?"
"""What the stamp of a file ends with, before what was looked at, that took another's name, or seems to hold another's
content: the next look must not take that for sure."""
MOST_WALKED = 20_000
"""Files of a workspace that are looked at before git is asked; git is quicker with more."""


class _Unkept:
    """What one look has read and the cache has not yet; and the files whose lost code is to be looked for in others."""

    def __init__(self) -> None:
        self.batch: list[Seen] = []
        self.comments = self.lost = 0
        self.with_lost: dict[str, tuple[Seen, Collection[Located]]] = {}

    def add(self, read: Read, seen: Seen, orphans: Collection[Located]) -> None:
        self.batch.append(seen)
        self.comments += len(read.notes or ())
        if orphans:
            self.with_lost[read.path] = seen, () if read.searched else orphans
            self.lost += len(orphans)


class CatchUp:
    """One look at what changed. `lost` tells what changes when lost code may have turned up, or have left again."""

    def __init__(self, reader: CommentReader, index: Index, lost: Callable[[], str]) -> None:
        self._reader, self._index, self._lost = reader, index, lost
        self._tree, self._store = reader.tree, reader.store
        self._holders, self._recent = LineHolders(reader.tree), RecentVersions(reader.tree)

    def read(
        self,
        known: dict[str, str],
        astray: Collection[tuple[str, str]],
        now: Mapping[RelativePath, str],
        changed: list[RelativePath],
        gone: Sequence[str],
    ) -> list[RelativePath]:
        """Read files that changed and forget those that are gone. Returns the sidecars that cannot be understood.

        `known` are the stamps of all files as the cache has them, `now` those they have; `astray` are the files with a
        comment whose code has gone to another.
        """
        # What these showed together with others has to be made anew.
        exchanged = [path for path, stamp in known.items() if EXCHANGED in stamp]
        again = {*list_homes(self._index, [*changed, *gone]), *exchanged}.difference(changed).intersection(now)
        changed += [RelativePath(path) for path in again]
        unkept = _Unkept()
        broken: list[RelativePath] = []
        contents_now: dict[str, Content] = {}
        at_once = min(max(AT_ONCE, len(changed) // 10), MOST_AT_ONCE)  # each is synced: many files, larger steps
        contents = self._contents(changed, known, {path for path, _ in astray})
        self._recent.expect(changed)
        reads = read_many(self._reader, changed, {path: held for path, held in contents.items() if path not in again})
        for number, read in enumerate(_ask_past(self._reader, reads, self._recent), 1):
            call.current().check()
            call.current().progress(number, len(changed), "reading comments")
            stamp, before = now[RelativePath(read.path)], known.get(read.path, "")
            seen, orphans = self._judge(read, stamp, before)
            unkept.add(read, seen, orphans)
            if read.problem:
                broken.append(RelativePath(read.path))
            if read.versions:
                contents_now[read.path] = Content(read.blob, read.versions)
            if unkept.lost >= MOST_LOST:
                self._index.replace(unkept.batch)
                self._search_other_files(unkept.with_lost, {})
                unkept = _Unkept()
            elif len(unkept.batch) >= at_once or unkept.comments >= MOST_HELD:
                self._index.replace(unkept.batch)
                unkept.batch, unkept.comments = [], 0
        self._index.replace(unkept.batch, gone)
        with_lost = unkept.with_lost
        sure = {(path, there) for path, there in astray if EXCHANGED not in known.get(path, "")}
        swapped = self._find_swapped(contents_now, sure) if contents_now else {}
        for path, other in swapped.items():
            doubtful = any(each.exchanged or each.copied for each in other)
            stamp = f"{now[RelativePath(path)]}{EXCHANGED if doubtful else SWAPPED}"
            seen = Seen(path, stamp, self._index.contents([path]).get(path, ""), None)
            with_lost[path] = seen, with_lost[path][1] if path in with_lost else ()
        self._search_other_files(with_lost, swapped)
        self._join_doubled(changed)
        if len(changed) > AT_ONCE:
            self._index.catch_up()  # the next search finds the texts ready
        return broken

    def _find_swapped(
        self, contents: Mapping[str, Content], astray: Collection[tuple[str, str]]
    ) -> dict[str, list[OtherFile]]:
        """Returns the files that took others' names, or others' content, with what has their own."""
        renamed = find_renamed_away(self._tree, contents, self._recent)
        swapped = find_swapped(self._tree, contents, partial(find_holders_of, self._index), astray)
        rest = {path: each for path, each in contents.items() if path not in swapped and path not in renamed}
        swapped |= find_exchanged(self._tree, self._reader.versions, rest)
        return {path: [other] for path, other in swapped.items()} | renamed

    def _contents(self, paths: Sequence[str], known: dict[str, str], astray: Collection[str]) -> dict[str, str]:
        """Returns what some files held, unless their comments have to be located again whatever they hold.

        Code that was found in another file may have left it again, and what took another's name may have been edited.
        """
        contents = self._index.contents(paths)
        return {
            path: held
            for path, held in contents.items()
            if not any(mark in known.get(path, "") for mark in (SWAPPED, EXCHANGED))
            and (path not in astray or "|" not in known.get(path, ""))
        }

    def _judge(self, read: Read, stamp: str, before: str) -> tuple[Seen, Collection[Located]]:
        """Returns what is kept of a file, and its comments that are to be looked for in others.

        Where some are lost, the stamp says so, and when they were last looked for.
        """
        if read.notes is None and "|" in before:
            if before.endswith(f"|{self._lost()}"):
                return Seen(read.path, f"{stamp}|{self._lost()}", read.content, None), ()
            orphans = self._index.rows("path = ? AND state IN ('orphaned', 'review')", (read.path,))
            return Seen(read.path, f"{stamp}|", read.content, None), orphans
        seen = f"{stamp}|" if read.orphans else stamp
        return Seen(read.path, seen, read.content, read.notes, read.problem), read.orphans

    def _search_other_files(
        self,
        with_lost: dict[str, tuple[Seen, Collection[Located]]],
        swapped: Mapping[str, Sequence[OtherFile]],
    ) -> None:
        """Look in other files for what some have lost, for all of them together."""
        orphans = [each for _, some in with_lost.values() for each in some if each.marker]
        others = find_in_all(self._tree, orphans, self._reader.versions, self._holders) if orphans else {}
        others |= {path: [*some, *others.get(path, ())] for path, some in swapped.items()}
        again = [path for path, (seen, some) in with_lost.items() if some and seen.notes is None]
        apart = {read.path: read.notes for read in read_apart(self._reader, list_large(self._reader, again), {})}
        self._recent.expect(with_lost)
        searched = 0
        for at in range(0, len(with_lost), AT_ONCE):
            batch: list[Seen] = []
            for seen, _ in list(with_lost.values())[at : at + AT_ONCE]:
                call.current().check()
                if seen.path in others:  # the others take no time
                    call.current().progress(searched, len(others), "looking in other files")
                    searched += 1
                elsewhere = others.get(seen.path) if seen.path not in apart else None
                notes = self._make_notes(seen.path, elsewhere) if elsewhere else apart.get(seen.path)
                batch.append(Seen(seen.path, f"{seen.stamp}{self._lost()}", seen.content, notes))
            self._index.replace(batch)

    def _join_doubled(self, paths: Sequence[str]) -> None:
        """Show a comment once that one branch moved to another file and another branch edited in the old one."""
        before = BeforeMerge(self._tree)
        for comment, held in find_doubled(self._index, paths).items():
            try:
                sidecars = [self._store.read(RelativePath(path)) for path in held]
            except Failure:
                continue
            home = find_home(sidecars, comment) if all(each.comment(comment) for each in sidecars) else None
            shown = self._index.rows("path = ? AND id = ?", (home.path, comment)) if home else []
            if home is None or not shown:
                continue  # a file that was copied with its comments: two of them
            merge_into(home, [each for each in sidecars if each is not home], comment, before)
            merged = home.comment(comment)
            if merged:
                note = make_note(replace(shown[0], comment=merged))
                join_notes(self._index, note, home.path, [path for path in held if path != home.path])

    def _make_notes(self, path: str, elsewhere: list[OtherFile]) -> list[Note] | None:
        try:
            sidecar = self._store.read(RelativePath(path))
        except Failure:
            return None  # it changed meanwhile: the next look sees it
        source = self._tree.source_or_none(RelativePath(path))
        try:
            return [make_note(each) for each in self._reader.locate(sidecar, source, elsewhere, recent=self._recent)]
        except TooLarge:
            return None


def _ask_past(reader: CommentReader, reads: Iterable[Read], recent: RecentVersions) -> Iterator[Read]:
    """Yields what was read; files whose code may have been deleted and replaced since last, and read again.

    Those are the ones of which git has versions between that of now and the one that a comment knew that is not gone.
    """
    held: dict[str, Past] = {}
    for read in reads:
        placed = read.blob and not read.searched and any(note.state in ASKED for note in read.notes or ())
        past = {blob: recent.list_between(read.path, blob, read.blob) for blob in read.versions} if placed else {}
        if any(past.values()):
            held[read.path] = past
        else:
            yield read
    yield from read_many(reader, list(held), {}, held)


def find_lost_stamp(tree: SourceTree, index: Index) -> str:
    """Returns what changes when code lost in one file may have turned up in another, or has left it again.

    git is asked only when a file of the workspace, whatever it is, has changed since it was asked last.
    """
    walk = _make_walk_stamp(tree, index)
    known = index.select("SELECT lost FROM looked WHERE walk = ?", (walk,)) if walk else []
    if known:
        return known[0][0]
    made = _make_lost_stamp(tree, index)
    if walk:
        with index.using() as db, db:
            db.execute("REPLACE INTO looked VALUES (1, ?, ?)", (walk, made))
    return made


def _make_walk_stamp(tree: SourceTree, index: Index) -> str:
    """Returns what changes with every file; empty where there are too many, or one changed just now."""
    latest = time.time_ns() - ONE_TICK
    made = hashlib.blake2b(digest_size=16)
    count, stack = 0, [tree.root]
    try:
        while stack:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if not skipped_folder(entry.name):
                            stack.append(entry.path)
                        continue
                    seen = entry.stat(follow_symlinks=False)
                    count += 1
                    if count > MOST_WALKED or seen.st_mtime_ns > latest or seen.st_ctime_ns > latest:
                        return ""
                    line = f"{entry.path}\0{seen.st_mtime_ns}-{seen.st_size}-{seen.st_ino}-{seen.st_ctime_ns}\n"
                    made.update(line.encode("utf-8", "surrogateescape"))
        inner = (each for _, each in list_inner_trees(tree, index.stamps()))
        for each in (tree, *inner):
            made.update("\n".join(stat_history(each)).encode())
    except OSError:
        return ""
    return made.hexdigest()


def _make_lost_stamp(tree: SourceTree, index: Index) -> str:
    others = list_changed(tree, "HEAD") if tree.git else list_files(tree)
    seen = [*stat_history(tree), *(f"{path} {tree.stat(path)}" for path in others)]
    seen += stamp_inner(tree, index.stamps())
    return hashlib.sha256("\n".join(seen).encode("utf-8", "surrogateescape")).hexdigest()[:24]
