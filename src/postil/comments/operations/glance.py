"""The comments of a workspace in one line, for `postil status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postil.comments.git.outside import tell_shallow
from postil.comments.operations.restore import tell_vanished
from postil.core import call
from postil.core.group import glance

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext

QUICKLY_READ = 500
"""Files with comments that are read for a glance, though they were not read before."""


class Glance:
    """The comments of a workspace at a glance: a group of its own, since it needs little of what the others load."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @glance
    def glance(self) -> str:
        """How many comments there are, and what is wrong with them, in one line."""
        context = self._context
        if context.tree.bare:
            return "no comments"
        paths, overview = {*context.store.paths()}, context.overview
        if not paths:
            return overview.outside() or f"no comments{tell_vanished(context, paths)}"
        if len(paths) > len(overview.index.paths()) + QUICKLY_READ:
            return f"{len(paths)} files have comments"  # never read before: too much for a glance
        overview.refresh()
        count = overview.index.counts()
        lost = [
            f"{count[state]} {says}"
            for state, says in (("orphaned", "without their code"), ("review", "to decide where they belong"))
            if count[state]
        ]
        how = "postil comments orphans" if call.current().person else "comments_orphans"
        said = ", ".join([f"{count['open']} open", *lost]) + (f" ({how})" if lost else "")
        if damaged := len(overview.index.problems()):
            check = "postil comments check" if call.current().person else "comments_check"
            said += f". {damaged} comment {'file' if damaged == 1 else 'files'} cannot be read ({check})"
        said += tell_vanished(context, paths)
        left_out = [overview.outside(), tell_shallow(context.tree.common_dir) if lost else ""]
        return ". ".join(filter(None, [said, *left_out]))
