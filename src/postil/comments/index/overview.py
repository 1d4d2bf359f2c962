"""All comments of the workspace in their places, through the cache: only files that changed are read again."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from msgspec.structs import replace

from postil.comments.anchoring.deleted_between import ASKED
from postil.comments.anchoring.exchanged_files import find_exchanged
from postil.comments.anchoring.inner_repositories import find_in_all, list_inner_trees, stamp_inner, stat_history
from postil.comments.anchoring.line_holders import LineHolders, list_changed
from postil.comments.anchoring.moved_files import list_files
from postil.comments.anchoring.reader import CommentReader
from postil.comments.anchoring.renamed_away import find_renamed_away
from postil.comments.anchoring.swapped_files import Content, find_swapped
from postil.comments.git.outside import tell_outside
from postil.comments.git.recent_versions import RecentVersions
from postil.comments.index.cache import IN_FILE, SHOWN, Index, Seen, find_held, find_holders_of, is_of_the_disk
from postil.comments.index.change_gate import FolderWatch, may_name
from postil.comments.index.fit import digest_shown, fit_text
from postil.comments.index.half_written import await_whole
from postil.comments.index.joined import find_doubled, join_notes, list_homes
from postil.comments.index.notes import Note, TooLarge, make_note
from postil.comments.index.refresh_worker import CAUTION, Past, list_large, read_apart, read_many
from postil.comments.index.worker_answers import Read
from postil.comments.model import Damage, Located, OtherFile
from postil.comments.search.filters import file_matches
from postil.comments.sidecar.format import is_comment_id
from postil.comments.source_tree import ONE_TICK, SourceTree
from postil.comments.storage.doubled import find_home, merge_into
from postil.comments.storage.store import SUFFIX, skipped_folder
from postil.core import call
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath

AT_ONCE = 200
MOST_AT_ONCE = 2000
SAMPLE = 200
"""Files that are compared with the cache when somebody asks whether it is right."""
LOOKS_BEFORE_WATCHING = 3
MANY_UNREAD = 500
MOST_HELD = 5_000
"""Comments that are in memory before they are kept."""
MOST_LOST = 2_000
"""Comments without their code that are in memory before they are looked for in other files."""
SWAPPED, EXCHANGED = "|~", "|?"
"""What the stamp of a file ends with, before what was looked at, that took another's name, or seems to hold another's
content: the next look must not take that for sure."""
MOST_WALKED = 20_000
"""Files of a workspace that are looked at before git is asked; git is quicker with more."""


class Overview:
    """The workspace's comments as they stand now."""

    def __init__(self, reader: CommentReader) -> None:
        self.reader = reader
        self.tree, self.store = reader.tree, reader.store
        self.index = Index(self.tree, self.make_anew)
        self._lock = threading.RLock()
        self._looks = 0
        self._watch: FolderWatch | None = None
        self._meanwhile: threading.Thread | None = None

    def refresh(self) -> None:
        """Read again what changed since the cache saw it.

        A process that asks again and again watches the folders, and looks at the files only when something happened.
        """
        with self._lock:
            if self._watch is None or self._watch.something_happened():
                try:
                    self._look()
                    self._looks += 1
                    if self._looks == LOOKS_BEFORE_WATCHING:
                        self._watch = FolderWatch.over(self.tree)
                        self._look()  # what happened before the watch began
                except BaseException:  # the caller gave up, say: what happened is not known
                    if self._watch is not None:
                        self._watch.look_again()
                    raise

    def find_only_holder(self, comment: str) -> RelativePath | None:
        """Returns the only file that holds a comment, where that is sure without reading anew what changed.

        A sidecar that changed may hold it as well now: whether its id is in there is read from its bytes.
        """
        with self._lock:
            changed = self._watch.list_sidecars() if self._watch else None
            if changed is None or not is_comment_id(comment):
                return None
            try:
                rows = self.index.select(f"SELECT path, {SHOWN} FROM note WHERE id = ?", (comment,))  # noqa: S608 - ours
            except sqlite3.OperationalError:  # a full or failing disk, as in `_look`
                return None
            if len(rows) != 1 or not rows[0][1]:
                return None
            home = RelativePath(rows[0][0])
            others = changed - {os.path.join(self.tree.root, home + SUFFIX)}
            return None if any(may_name(each, comment) for each in others) else home

    def _look(self) -> None:
        try:
            self._catch_up()
        except sqlite3.DatabaseError as fault:  # damaged, or on a disk that is full or fails
            self.index.start_again(in_memory=is_of_the_disk(fault))
            self._catch_up()

    def _catch_up(self) -> None:
        broken = self._read_changed()
        if broken and await_whole(self.store, broken):  # another program was writing them
            self._read_changed()

    def _read_changed(self) -> list[RelativePath]:
        """Read what changed since the cache saw it. Returns the sidecars among it that cannot be understood."""
        known, astray = self.index.read(lambda: (self.index.stamps(), self.index.astray()))
        lost = _Later(self._lost_stamp)
        now = {path: self._stamp(path) for path in self.store.paths()}
        changed = [path for path, stamp in now.items() if not _same(known.get(path, ""), stamp, lost)]
        gone = [path for path in known if path not in now]
        if not changed and not gone:
            return []
        # What these showed together with others has to be made anew.
        exchanged = [path for path, stamp in known.items() if EXCHANGED in stamp]
        again = {*list_homes(self.index, [*changed, *gone]), *exchanged}.difference(changed).intersection(now)
        changed += [RelativePath(path) for path in again]
        batch: list[Seen] = []
        broken: list[RelativePath] = []
        held = lost_held = 0
        with_lost: dict[str, tuple[Seen, Collection[Located]]] = {}
        contents_now: dict[str, Content] = {}
        holders = LineHolders(self.tree)
        at_once = min(max(AT_ONCE, len(changed) // 10), MOST_AT_ONCE)  # each is synced: many files, larger steps
        contents = self._contents(changed, known, {path for path, _ in astray})
        recent = RecentVersions(self.tree)
        recent.expect(changed)
        reads = read_many(self.reader, changed, {path: held for path, held in contents.items() if path not in again})
        for number, read in enumerate(_ask_past(self.reader, reads, recent), 1):
            call.current().check()
            call.current().progress(number, len(changed), "reading comments")
            stamp, before = now[RelativePath(read.path)], known.get(read.path, "")
            seen, orphans = self._judge(read, stamp, before, lost)
            batch.append(seen)
            if read.problem:
                broken.append(RelativePath(read.path))
            if orphans:
                with_lost[read.path] = seen, () if read.searched else orphans
                lost_held += len(orphans)
            if read.versions:
                contents_now[read.path] = Content(read.blob, read.versions)
            held += len(read.notes or ())
            if len(batch) >= at_once or held >= MOST_HELD:
                self.index.replace(batch)
                batch, held = [], 0
            if lost_held >= MOST_LOST:
                self.index.replace(batch)
                self._search_other_files(with_lost, lost, {}, holders, recent)
                batch, held, with_lost, lost_held = [], 0, {}, 0
        self.index.replace(batch, gone)
        sure = {(path, there) for path, there in astray if EXCHANGED not in known.get(path, "")}
        swapped = self._find_swapped(contents_now, sure, recent) if contents_now else {}
        for path, other in swapped.items():
            doubtful = any(each.exchanged or each.copied for each in other)
            stamp = f"{now[RelativePath(path)]}{EXCHANGED if doubtful else SWAPPED}"
            seen = Seen(path, stamp, self.index.contents([path]).get(path, ""), None)
            with_lost[path] = seen, with_lost[path][1] if path in with_lost else ()
        self._search_other_files(with_lost, lost, swapped, holders, recent)
        self._join_doubled(changed)
        if len(changed) > AT_ONCE:
            self.index.catch_up()  # the next search finds the texts ready
        return broken

    def _find_swapped(
        self, contents: Mapping[str, Content], astray: Collection[tuple[str, str]], recent: RecentVersions
    ) -> dict[str, list[OtherFile]]:
        """Returns the files that took others' names, or others' content, with what has their own."""
        renamed = find_renamed_away(self.tree, contents, recent)
        swapped = find_swapped(self.tree, contents, partial(find_holders_of, self.index), astray)
        rest = {path: each for path, each in contents.items() if path not in swapped and path not in renamed}
        swapped |= find_exchanged(self.tree, self.reader.versions, rest)
        return {path: [other] for path, other in swapped.items()} | renamed

    def _contents(self, paths: Sequence[str], known: dict[str, str], astray: Collection[str]) -> dict[str, str]:
        """Returns what some files held, unless their comments have to be located again whatever they hold.

        Code that was found in another file may have left it again, and what took another's name may have been edited.
        """
        contents = self.index.contents(paths)
        return {
            path: held
            for path, held in contents.items()
            if not any(mark in known.get(path, "") for mark in (SWAPPED, EXCHANGED))
            and (path not in astray or "|" not in known.get(path, ""))
        }

    def _judge(self, read: Read, stamp: str, before: str, lost: _Later) -> tuple[Seen, Collection[Located]]:
        """Returns what is kept of a file, and its comments that are to be looked for in others.

        Where some are lost, the stamp says so, and when they were last looked for.
        """
        if read.notes is None and "|" in before:
            if before.endswith(f"|{lost.value}"):
                return Seen(read.path, f"{stamp}|{lost.value}", read.content, None), ()
            orphans = self.index.rows("path = ? AND state IN ('orphaned', 'review')", (read.path,))
            return Seen(read.path, f"{stamp}|", read.content, None), orphans
        seen = f"{stamp}|" if read.orphans else stamp
        return Seen(read.path, seen, read.content, read.notes, read.problem), read.orphans

    def _search_other_files(
        self,
        with_lost: dict[str, tuple[Seen, Collection[Located]]],
        lost: _Later,
        swapped: Mapping[str, Sequence[OtherFile]],
        holders: LineHolders,
        recent: RecentVersions,
    ) -> None:
        """Look in other files for what some have lost, for all of them together."""
        orphans = [each for _, some in with_lost.values() for each in some if each.marker]
        others = find_in_all(self.tree, orphans, self.reader.versions, holders) if orphans else {}
        others |= {path: [*some, *others.get(path, ())] for path, some in swapped.items()}
        again = [path for path, (seen, some) in with_lost.items() if some and seen.notes is None]
        apart = {read.path: read.notes for read in read_apart(self.reader, list_large(self.reader, again), {})}
        recent.expect(with_lost)
        searched = 0
        for at in range(0, len(with_lost), AT_ONCE):
            batch: list[Seen] = []
            for seen, _ in list(with_lost.values())[at : at + AT_ONCE]:
                call.current().check()
                if seen.path in others:  # the others take no time
                    call.current().progress(searched, len(others), "looking in other files")
                    searched += 1
                elsewhere = others.get(seen.path) if seen.path not in apart else None
                notes = self._make_notes(seen.path, elsewhere, recent) if elsewhere else apart.get(seen.path)
                batch.append(Seen(seen.path, f"{seen.stamp}{lost.value}", seen.content, notes))
            self.index.replace(batch)

    def _join_doubled(self, paths: Sequence[str]) -> None:
        """Show a comment once that one branch moved to another file and another branch edited in the old one."""
        for comment, held in find_doubled(self.index, paths).items():
            try:
                sidecars = [self.store.read(RelativePath(path)) for path in held]
            except Failure:
                continue
            home = find_home(sidecars, comment) if all(each.comment(comment) for each in sidecars) else None
            shown = self.index.rows("path = ? AND id = ?", (home.path, comment)) if home else []
            if home is None or not shown:
                continue  # a file that was copied with its comments: two of them
            merge_into(home, [each for each in sidecars if each is not home], comment)
            merged = home.comment(comment)
            if merged:
                note = make_note(replace(shown[0], comment=merged))
                join_notes(self.index, note, home.path, [path for path in held if path != home.path])

    def _make_notes(self, path: str, elsewhere: list[OtherFile], recent: RecentVersions) -> list[Note] | None:
        try:
            sidecar = self.store.read(RelativePath(path))
        except Failure:
            return None  # it changed meanwhile: the next look sees it
        source = self.tree.source_or_none(RelativePath(path))
        try:
            return [make_note(each) for each in self.reader.locate(sidecar, source, elsewhere, recent=recent)]
        except TooLarge:
            return None

    def find_lies(self, read: Mapping[str, int] | None = None) -> list[str]:
        """Returns how the cache differs from the files, of a sample of them; nothing when it is right.

        `read` says what files held that were read just now (`digest_shown`): they are read again where that differs.
        """
        try:
            self.refresh()
            damage = self.index.damage()
        except sqlite3.DatabaseError as fault:
            return [f"the cache of comments is damaged: {fault}"]
        if damage:
            return [f"the cache of comments is damaged: {damage[0]}"]
        paths = list(self.store.paths())
        found: list[str] = []
        for path in paths[:: max(1, len(paths) // SAMPLE)]:
            rows = self.index.rows("path = ?", (path,))
            if read and read.get(path) == digest_shown(each.comment for each in rows):
                continue
            try:
                held = sorted((comment.id, fit_text(comment.text)) for comment in self.store.read(path).comments)
            except Failure:
                continue  # damaged itself, which is told elsewhere
            shown = sorted((each.comment.id, each.comment.text) for each in rows)
            if shown != held and not find_doubled(self.index, [path]):
                found.append(f"the cache shows {len(shown)} comments of {path}, which holds {len(held)}")
        return found

    def make_anew(self) -> None:
        """Forget the cache and read every file again."""
        with self._lock:
            self.index.start_again()
            self._look()

    def file(self, path: RelativePath) -> list[Located]:
        """The comments of one file, and those of other files whose code is in it now; SidecarDamaged as it may be."""
        if self._far_behind():
            return self.reader.file(path)
        self.refresh()
        problem, found = self.index.read(
            lambda: (self.index.problem(path), self.index.rows(IN_FILE, (path, path))), "file", path
        )
        if problem is None:  # not among the files that are walked, such as those of node_modules
            return self.reader.file(path) + found
        if problem:
            self.store.read(path)  # says in the contract's words what is wrong with it
            return self.reader.file(path) + found  # nothing now: it was being written
        return [*found]

    def file_page(self, path: RelativePath, first: int, most: int, most_bytes: int) -> tuple[list[Located], int]:
        """Returns some of the comments of one file, and how many it has: a file of very many is not held whole."""
        if self._far_behind() or not self._is_listed(path):
            from postil.comments.index.pages import cut_page

            found = self.file(path)
            return cut_page(found, first, most, most_bytes), len(found)
        from postil.comments.index.pages import count_comments, read_numbered

        page = read_numbered(self.index, IN_FILE, (path, path), first, most, most_bytes)
        return page, count_comments(self.index, IN_FILE, (path, path))

    def _is_listed(self, path: RelativePath) -> bool:
        """Whether the cache knows a file, and could read it."""
        self.refresh()
        return self.index.problem(path) == ""

    def _far_behind(self) -> bool:
        """Whether so many files were never read that the answer about one should not wait: they are read meanwhile."""
        if self._meanwhile is None or not self._meanwhile.is_alive():
            if self._watch is not None:
                return False
            known = self.index.stamps()
            unread = sum(path not in known for path in self.store.paths())
            if unread <= MANY_UNREAD:
                return False
            self._meanwhile = threading.Thread(target=self.refresh, name="postil-comments-read", daemon=True)
            self._meanwhile.start()
        return True

    def held(self, ids: Collection[str]) -> set[str]:
        """Returns those of some ids that a comment of the workspace has."""
        self.refresh()
        return find_held(self.index, ids)

    def has_lost_code(self) -> bool:
        """Whether a comment's code is in another file, or might turn up there."""
        return any("|" in stamp for stamp in self.index.stamps().values())

    def everything(self) -> Iterator[Located]:
        """Yields every comment, by file, in the sidecars' order."""
        self.refresh()
        return self.index.stream()

    def where(self, condition: str, *values: object) -> list[Located]:
        """Returns the comments for which a condition on the cache's columns holds."""
        self.refresh()
        return self.index.rows(condition, values)

    def damaged(self, file: str = "") -> tuple[Damage, ...]:
        """Returns the sidecars that cannot be read, of these files."""
        problems = self.index.problems().items()
        return tuple(Damage(path, why) for path, why in problems if not file or file_matches(file, path))

    def outside(self, file: str = "") -> str:
        """Returns what is to be said of comments that a sparse checkout leaves out, of these files; mostly nothing."""
        return tell_outside(self.tree.root, self.tree.git_dir, lambda path: not file or file_matches(file, path))

    def _stamp(self, path: str) -> str:
        return f"{self.tree.stat(path + SUFFIX)} {self.tree.stat(path)}{CAUTION[self.tree.cautious]}"

    def _lost_stamp(self) -> str:
        """Returns what changes when code lost in one file may have turned up in another, or has left it again.

        git is asked only when a file of the workspace, whatever it is, has changed since it was asked last.
        """
        walk = _make_walk_stamp(self.tree, self.index)
        known = self.index.select("SELECT lost FROM looked WHERE walk = ?", (walk,)) if walk else []
        if known:
            return known[0][0]
        made = _make_lost_stamp(self.tree, self.index)
        if walk:
            with self.index.using() as db, db:
                db.execute("REPLACE INTO looked VALUES (1, ?, ?)", (walk, made))
        return made


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


class _Later:
    """A stamp that is made when it is first needed: most workspaces have lost nothing."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    @cached_property
    def value(self) -> str:
        return self._make()


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


def _same(seen: str, stamp: str, lost: _Later) -> bool:
    """Whether a file is still what the cache saw."""
    files, looked_elsewhere, then = seen.partition("|")
    return files == stamp and (not looked_elsewhere or then.lstrip("~?") == lost.value)
