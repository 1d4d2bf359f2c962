"""The last edit or decision about a comment that this computer wrote: found in the log, and taken back.

Each change notes what it replaced. What was taken back is not taken back again, so asking twice goes two changes back.
What another program or git made of the comment since is left alone.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from postil.comments.clock import now
from postil.comments.operations.validation import find_comment
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.noted import SAID
from postil.comments.storage.erased import list_believed
from postil.comments.storage.store import Store
from postil.workspace.paths import RelativePath


class LastEdit(Struct, frozen=True):
    """What a change made of some keys of a comment, and what they were; null is a key that is not there."""

    at: str
    was: JsonObject
    became: JsonObject
    updated: object = None
    """When the comment says that it was changed so."""


def find_last_edit(store: Store, comment: str, since: str = "") -> LastEdit | None:
    """Returns the last change of a comment's words or status that was not taken back; None where none is known.

    Nothing is looked for that was written before a moment.
    """
    taken_back = 0
    for each in list_believed(store, msgspec.json.encode(comment)):
        if each.id != comment:
            continue
        if each.at <= since:
            return None
        if not each.was or each.comment is None or not each.was.keys() <= {*SAID}:
            continue
        if each.undoes:
            taken_back += 1
        elif taken_back:
            taken_back -= 1
        else:
            became = {key: each.comment.get(key) for key in each.was}
            return LastEdit(each.at, each.was, became, each.comment.get("updated"))
    return None


def take_back(store: Store, path: RelativePath, comment: str, edit: LastEdit) -> bool:
    """Make a comment what it was before an edit. Returns whether it was still what the edit made of it."""

    def change(sidecar: Sidecar) -> bool:
        raw = sidecar.raw_comment(find_comment(sidecar, comment).id)
        if any(raw.get(key) != value for key, value in edit.became.items()):
            return False
        values = {key: value for key, value in edit.was.items() if value is not None or key == "tag"}
        gone = tuple(key for key in edit.was if key not in values)
        sidecar.change(comment, {**values, "updated": now()}, gone, undoes=True)
        return True

    return store.change(path, change)
