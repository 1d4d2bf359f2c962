"""In which other files the code of comments is now, or was before they were taken along: where it may have been then.

Who asks about the past knows by it where to look. Nothing is read before somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from postil.comments.model import Located
from postil.comments.search.filters import file_matches, is_glob
from postil.comments.storage.move_journal import list_moves

if TYPE_CHECKING:
    from postil.comments.index.overview import Overview

MOST = 5
"""Files that are looked at for one comment, those that it left last."""


class KnownFiles:
    """The other files of the comments of a workspace."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview

    @cached_property
    def _now(self) -> Mapping[tuple[str, str], str]:
        self._overview.refresh()
        rows = self._overview.index.select("SELECT path, id, now_path FROM note WHERE now_path != path")
        return {(path, comment): there for path, comment, there in rows}

    def list_of(self, each: Located) -> list[str]:
        """Returns the other files that a comment's code is known to be in, or to have been in."""
        left = [event.path for event in reversed(list_moves(each.comment, each.marker)) if event.path]
        found = dict.fromkeys((self._now.get((each.filePath, each.comment.id), ""), *left))
        return [path for path in found if path and path != each.filePath][:MOST]

    def list_keepers(self, file: str) -> set[str]:
        """Returns the files beside which comments are kept that may have been in such files."""
        keepers = {path for (path, _), there in self._now.items() if file_matches(file, there)}
        if not is_glob(file):
            asked = "SELECT DISTINCT path FROM note JOIN body USING (seq) WHERE instr(body, ?)"
            keepers |= {path for (path,) in self._overview.index.select(asked, (file.removeprefix("./").encode(),))}
        return keepers
