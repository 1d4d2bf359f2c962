"""What every operation on comments works with: the ground, the sidecars, the readings, and those who write.

The part's operations are spread over several classes, one a file; this is what they share.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from postil.comments.anchoring.locate import current_anchor
from postil.comments.anchoring.read import Reading
from postil.comments.failures import CommentNotFound
from postil.comments.model import Placed
from postil.comments.operations.add import Adding
from postil.comments.operations.answers import CommentNow, comment_now
from postil.comments.operations.edit import Editing
from postil.comments.operations.validation import check_author
from postil.comments.sidecar.format import is_comment_id
from postil.comments.source_tree import Ground
from postil.comments.storage.file_versions import OldTexts
from postil.comments.storage.move_journal import Moves
from postil.comments.storage.store import Store
from postil.core import call
from postil.core.failure import InvalidArguments
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview


class Desk:
    """One workspace's comments. `start` is any folder in it; `author` signs what people write in the shell."""

    def __init__(self, start: str = "", *, cache_home: str = "", author: str = "") -> None:
        self.ground = Ground(start or os.getcwd(), cache_home)
        self.store = Store(self.ground)
        self.texts = OldTexts(self.ground)
        self.reading = Reading(self.ground, self.store, self.texts)
        self.adding = Adding(self.reading, self.texts)
        self.editing = Editing(self.store)
        self.moves = Moves(self.reading, self.texts)
        self.author = author

    @cached_property
    def overview(self) -> Overview:
        """All comments of the workspace, through the cache."""
        from postil.comments.index.overview import (
            Overview,  # brings in SQLite, which one comment of one file does not need
        )

        return Overview(self.reading)

    def one(self, comment: str) -> Placed:
        """The comment of that id in its place, wherever it is."""
        placed = self.overview.where("id = ?", comment)
        if placed:
            return placed[0]
        if not is_comment_id(comment):
            raise InvalidArguments(
                "That is not the id of a comment", advice="See the ids with `postil comments list`", path="commentId"
            )
        raise CommentNotFound("", comment)

    def file_of(self, comment: str) -> RelativePath:
        """The source whose sidecar holds the comment."""
        return RelativePath(self.one(comment).filePath)

    def explained(self, each: Placed) -> CommentNow:
        """A comment with the commit that moved, changed or deleted its code."""
        commit = None
        anchor = current_anchor(each.marker) if each.marker else None
        if each.marker and anchor and each.place.state != "exact":
            from postil.comments.git.blame import culprit  # only for code that is not where or what it was

            commit = culprit(self.ground, self.texts, each.filePath, anchor.blob, each.marker.line, each.place)
        return comment_now(each, commit=commit)

    def signed(self, author: str) -> str:
        """Who writes: the name given, else the person at the shell, else an assistant."""
        author = author or (self.person() if call.current().caller.surface == "shell" else "ai")
        check_author(author)
        return author

    def person(self) -> str:
        """The name git knows the user by."""
        if not self.author:
            from postil.workspace.git import try_git  # only who writes in the shell

            named = try_git(self.ground.root, "config", "user.name").out if self.ground.git else b""
            self.author = named.decode("utf-8", "replace").strip()[:100] or "user"
        return self.author
