"""All comments of the workspace in their places, through the cache: only files that changed are read again."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING

from postil.comments.git.outside import tell_outside
from postil.comments.index.cache import IN_FILE, SHOWN, Index, find_held, is_of_the_disk
from postil.comments.index.change_gate import FolderWatch, may_name
from postil.comments.index.fit import digest_shown, fit_text
from postil.comments.index.half_written import await_whole
from postil.comments.index.joined import find_doubled
from postil.comments.index.notes import tell_caution
from postil.comments.model import Damage, Located
from postil.comments.search.filters import file_matches
from postil.comments.sidecar.format import is_comment_id
from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import SUFFIX
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.anchoring.reader import CommentReader
    from postil.comments.storage.store import Store

SAMPLE = 200
"""Files that are compared with the cache when somebody asks whether it is right."""
LOOKS_BEFORE_WATCHING = 3
MANY_UNREAD = 500


class Overview:
    """The workspace's comments as they stand now."""

    def __init__(self, tree: SourceTree, store: Store, make_reader: Callable[[], CommentReader]) -> None:
        self.tree, self.store, self._make_reader = tree, store, make_reader
        self.index = Index(self.tree, self.make_anew)
        self._lock = threading.RLock()
        self._looks = 0
        self._watch: FolderWatch | None = None
        self._meanwhile: threading.Thread | None = None

    @cached_property
    def reader(self) -> CommentReader:
        """Reads comments in their places; not needed where nothing changed."""
        return self._make_reader()

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
        lost = cache(self._find_lost_stamp)
        now = {path: self._stamp(path) for path in self.store.paths(regular=None)}  # a link is told as one not read
        changed = [path for path, stamp in now.items() if not _same(known.get(path, ""), stamp, lost)]
        gone = [path for path in known if path not in now]
        if not changed and not gone:
            return []
        from postil.comments.index.catch_up import CatchUp  # brings in all that finds lost code

        return CatchUp(self.reader, self.index, lost).read(known, astray, now, changed, gone)

    def _find_lost_stamp(self) -> str:
        from postil.comments.index.catch_up import find_lost_stamp  # only where code was lost

        return find_lost_stamp(self.tree, self.index)

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
        return f"{self.tree.stat(path + SUFFIX)} {self.tree.stat(path)}{tell_caution(self.tree.cautious)}"


def _same(seen: str, stamp: str, lost: Callable[[], str]) -> bool:
    """Whether a file is still what the cache saw."""
    files, looked_elsewhere, then = seen.partition("|")
    return files == stamp and (not looked_elsewhere or then.lstrip("~?") == lost())
