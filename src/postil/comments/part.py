"""The context of the part: what every group of operations on comments works with."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from postil.comments.failures import CommentNotFound, FileAccessDenied, SeveralHold, SidecarDamaged
from postil.comments.model import Located
from postil.comments.operations.answers import CommentNow, comment_now
from postil.comments.sidecar.format import is_comment_id
from postil.comments.sidecar.short_ids import is_named, is_short, shorten_ids, split_file
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.comments.storage.store import SUFFIX, Store
from postil.core import limits
from postil.core.failure import InvalidArguments
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from postil.comments.anchoring.reader import CommentReader
    from postil.comments.git.culprits import Suspicion
    from postil.comments.index.overview import Overview
    from postil.comments.model import Commit
    from postil.comments.storage.move_journal import Moves

T = TypeVar("T")
MOST_NAMED = 20_000


class CommentsContext:
    """One workspace's comments. `start` is any folder in it; `author` signs what people write in the shell."""

    def __init__(self, start: str = "", *, cache_home: str = "", author: str = "", cautious: bool = False) -> None:
        self.tree = SourceTree(start or os.getcwd(), cache_home, cautious=cautious)
        self.store = Store(self.tree)
        self.versions = FileVersions(self.tree)
        self.author = author

    @cached_property
    def reader(self) -> CommentReader:
        """Reads comments in their places."""
        from postil.comments.anchoring.reader import CommentReader  # a list of unchanged files anchors nothing

        return CommentReader(self.tree, self.store, self.versions)

    @cached_property
    def overview(self) -> Overview:
        """All comments of the workspace, through the cache. Raises NotFound where there are no files at all."""
        if self.tree.bare:
            raise self.tree.without_files()
        from postil.comments.index.overview import Overview  # brings in SQLite, which adding a comment does not need

        return Overview(self.tree, self.store, lambda: self.reader)

    @cached_property
    def moves(self) -> Moves:
        """Takes comments to other lines and files."""
        from postil.comments.storage.move_journal import Moves  # only where comments move

        return Moves(self.reader)

    def find(self, comment: str) -> Located:
        """Returns the comment of that id in its place, in any file or, as `FILE:ID`, in that one.

        Raises CommentNotFound, and SeveralHold where a file was copied with its comments.
        """
        file, comment = split_file(comment)
        located = [each for each in self.overview.where("id = ?", comment) if file in ("", each.filePath)]
        if len(located) > 1:
            raise SeveralHold(comment, [each.filePath for each in located])
        if located:
            return located[0]
        if is_short(comment):
            return self._find_short(comment, file)
        if not is_comment_id(comment):
            raise InvalidArguments(
                "That is not the id of a comment", advice="See the ids with `postil comments list`", path="commentId"
            )
        raise CommentNotFound(file, comment, self.overview.damaged(file))

    def _find_short(self, short: str, file: str) -> Located:
        """Returns the one comment whose id begins or ends so. Raises InvalidArguments when there are several."""
        named = [each for each in self.overview.index.ids(short) if is_named(each, short)]
        if not named:
            raise CommentNotFound("", short, self.overview.damaged(file))
        if len(named) > 1:
            raise InvalidArguments(
                f"{len(named)} comments are named {short}",
                advice=f"Give more of it: {', '.join(sorted(named)[:5])}",
                path="commentId",
            )
        return self.find(f"{file}:{named[0]}" if file else named[0])

    def short_names(self) -> dict[str, str]:
        """Returns short names of all comments; none where there are so many that they would hardly be shorter."""
        overview = self.overview
        overview.refresh()
        many = overview.index.select("SELECT count(*) FROM (SELECT 1 FROM note LIMIT ?)", (MOST_NAMED + 1,))[0][0]
        return shorten_ids(overview.index.ids()) if many <= MOST_NAMED else {}

    def file_of(self, comment: str) -> RelativePath:
        """Returns the source whose sidecar holds the comment, for a change: two that hold it are made one before."""
        found = self.find(comment)
        return RelativePath(self.join_doubled(found.comment.id) or found.filePath)

    def join_doubled(self, comment: str) -> str:
        """Make one of a comment that two files held when they were last looked at. Returns its file; mostly nothing."""
        import sqlite3  # with the cache alone

        from postil.comments.index.joined import find_holders

        try:
            held = find_holders(self.overview.index, comment)
        except sqlite3.OperationalError:  # a full or failing disk: the cache is what can be done without
            return ""
        if len(held) < 2:
            return ""
        from postil.comments.storage.doubled import find_home, join_comment  # only after a merge

        is_one = find_home([self.store.read(RelativePath(each)) for each in held], comment)
        return join_comment(self.store, comment, held) if is_one else ""

    def in_its_file(self, comment: str, change: Callable[[RelativePath], T]) -> T:
        """Change a comment in the source whose sidecar holds it, as `change` does, and as `file_of` finds it.

        Where nothing but comments changed, not all of them are read again before.
        """
        known = self.overview.find_only_holder(comment)
        if known is not None:
            with suppress(CommentNotFound, SidecarDamaged, FileAccessDenied):  # it is not as it was: look for it
                return change(known)
        return change(self.file_of(comment))

    def find_unchanged(self, comment: str) -> Located:
        """Returns the same as `find`. Not all that changed is read again before, where the comment's file says enough.

        That is where every comment of it was made on the source as it is: none can be anywhere else.
        """
        path = self.overview.find_only_holder(comment)
        if path is not None and self.tree.size(path + SUFFIX) <= limits.COMMENTS_HERE:
            with suppress(SidecarDamaged, FileAccessDenied):
                sidecar, source = self.store.read(path), self.tree.source_or_none(path)
                found = sidecar.comment(comment)
                if found and source and sidecar.is_made_on(source.blob):
                    return Located(found, sidecar.marker_of(found), self.reader.place(sidecar, found, source), path)
        return self.find(comment)

    def existing(self, given: str) -> RelativePath:
        """Returns a path that a caller names, if there is such a source or sidecar. Raises SourceNotFound."""
        if self.tree.bare:
            raise self.tree.without_files()
        path = self.tree.path(given)
        if not self.store.has(path) and not self.tree.stat(path):
            raise self.tree.not_found(path)
        return path

    def refuse_missing(self, where: str) -> None:
        """Raise SourceNotFound where nothing is called so: a slip must not look like a file without comments."""
        from postil.comments.search.filters import is_glob  # only where nothing was found

        if not where or is_glob(where) or self.store.has(RelativePath(where)):
            return
        if not os.path.lexists(os.path.join(self.tree.root, where)):
            raise self.tree.not_found(where)

    def outside_of(self, path: RelativePath) -> str:
        """Returns what is to be said where a sparse checkout has a file without its comments; mostly nothing."""
        if self.store.has(path):
            return ""
        from postil.comments.git.outside import tell_outside  # only where a file has no comments

        return tell_outside(self.tree.root, self.tree.git_dir, lambda each: each == path, f"{path}.comments")

    def tell_left_out(self, where: str, shown: Iterable[Located]) -> str:
        """Returns what is to be said of comments that are not here, and of shown ones that only the past explains."""
        said = [self.overview.outside(where)]
        if any(each.place.state in ("orphaned", "review") for each in shown):
            from postil.comments.git.outside import tell_shallow  # only where code was lost

            said.append(tell_shallow(self.tree.common_dir))
        return ". ".join(filter(None, said))

    def explain(self, each: Located) -> CommentNow:
        """Returns a comment with the commit that moved, changed or deleted its code."""
        return self.explain_all([each])[0]

    def explain_all(self, some: Sequence[Located]) -> list[CommentNow]:
        """Returns comments with the commits that moved, changed or deleted their code."""
        commits: Sequence[Commit | None] = [None] * len(some)
        if any(each.place.state != "exact" for each in some):
            from postil.anchor.model import Span
            from postil.comments.anchoring.locate import current_anchor
            from postil.comments.git.culprits import Suspicion  # only for code that changed

            asked: list[Suspicion] = []
            for each in some:
                marker = each.marker
                anchor = current_anchor(marker) if marker else None
                span = Span(marker.line, marker.endLine) if marker else Span(1)
                there = each.place.path if each.place.path != each.filePath else ""
                asked.append(Suspicion(each.filePath, anchor.blob if anchor else "", span, each.place.state, there))
            commits = self._find_culprits(asked)
        return [self.name_anchor(comment_now(each, commit=commit)) for each, commit in zip(some, commits, strict=True)]

    def _find_culprits(self, asked: Sequence[Suspicion]) -> list[Commit | None]:
        """Returns for each the commit that did it, where one is known; of one history it is asked once."""
        from postil.comments.git.culprits import find_culprits, name_history
        from postil.comments.index.known_culprits import find_known, keep_known

        index, history = self.overview.index, name_history(self.tree)
        known = find_known(index, history, asked) if history else {}
        left = [each for number, each in enumerate(asked) if number not in known and each.state != "exact"]
        found = find_culprits(self.tree, self.versions, left)
        if history and left:
            keep_known(index, history, left, found)
        rest = iter(found.commits)
        return [
            known[number] if number in known else next(rest) if each.state != "exact" else None
            for number, each in enumerate(asked)
        ]

    def name_anchor(self, each: CommentNow) -> CommentNow:
        """Returns a comment whose code is in another file with what it is in there; its marker names what it was in."""
        there = each.movedTo if each.state != "orphaned" else ""
        source = self.tree.source_or_none(RelativePath(there)) if there else None
        if source is None:
            return each
        from postil.anchor.syntax.languages import language_of  # only where code went to another file
        from postil.anchor.syntax.symbols import innermost, symbols

        symbol = innermost(symbols(source.text, language_of(each.movedTo)), each.line)
        return replace(each, anchor=symbol.short if symbol else f"line {each.line}")

    def person(self) -> str:
        """Returns the name git knows the user by."""
        if not self.author:
            from postil.workspace.git import try_git  # only who writes in the shell
            from postil.workspace.hardening import read_author_name

            named = read_author_name().strip()
            if not named:  # outside of a repository it is the user's own
                named = try_git(self.tree.root, "config", "user.name").out.decode("utf-8", "replace").strip()
            self.author = named[:100] or "user"
        return self.author
