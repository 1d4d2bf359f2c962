"""Which comments are about what changed since a revision: those on new lines, and those whose code the change lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.json import encode

from postil.comments.git.revision import list_lost_at
from postil.comments.model import Located
from postil.comments.show.changed_lines import Changed, find_base, list_changed_lines, touches_changed

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext

_LISTED = "IN (SELECT value FROM json_each(?))"


class OnChanged(Struct, frozen=True):
    """What a change is to comments."""

    commit: str
    """The one that the change was made on."""
    where: str
    values: Sequence[object]
    """The comments among which those are that it is about."""
    changed: Mapping[str, Changed]
    lost_before: Collection[tuple[str, str]]
    """Files and ids; of files that are gone now only the ids."""

    def holds(self, each: Located) -> bool:
        """Whether the change is about the code of a comment; of code that was lost or in doubt before it is not."""
        if not touches_changed(self.changed, each):
            return False
        before = any((path, each.comment.id) in self.lost_before for path in (each.filePath, ""))
        return not (before and is_lost(each))


def find_changed_since(context: CommentsContext, revision: str, where: str, values: Sequence[object]) -> OnChanged:
    """Returns what changed since a revision to those comments for which a condition holds. Raises NotFound."""
    commit = find_base(context.tree, revision)
    changed = list_changed_lines(context.tree, commit)
    context.overview.refresh()
    names = encode(list(changed)).decode()
    where = f"{where} AND (now_path {_LISTED} OR path {_LISTED} OR state = 'review')"
    values = [*values, names, names]
    lost = context.overview.index.stream(f"{where} AND state IN ('orphaned', 'review')", values)
    paths = {each.filePath for each in lost if touches_changed(changed, each)}
    return OnChanged(commit, where, values, changed, list_lost_at(context.reader, commit, paths, changed))


def is_lost(each: Located) -> bool:
    """Whether the code of a comment is gone or in doubt."""
    return each.place.state in ("orphaned", "review")
