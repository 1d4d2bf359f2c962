"""The last edit, decision or reply to a comment that this computer wrote: found in the log, and taken back.

Each change notes what it replaced. What was taken back is not taken back again, so asking twice goes two changes back.
What another program or git made of the comment since is left alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import msgspec
from msgspec import Struct

from postil.comments.clock import now
from postil.comments.operations.validation import find_comment
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.noted import SAID, list_replies
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
    reply: str = ""
    """The reply that it added, which `became` is; such a change is nothing else."""


def find_last_edit(store: Store, comment: str, since: str = "", replies: Collection[str] = ()) -> LastEdit | None:
    """Returns the last change of a comment's words or status that was not taken back; None where none is known.

    So are some replies changes; others (it has them no longer, say) are passed over.
    Nothing is looked for that was written before a moment.
    """
    taken_back = 0
    for each in list_believed(store, msgspec.json.encode(comment)):
        if each.id != comment:
            continue
        if each.at <= since:
            return None
        if each.comment is None or (each.reply and each.reply not in replies):
            continue
        if not each.reply and (not each.was or not each.was.keys() <= {*SAID}):
            continue
        if each.undoes:
            taken_back += 1
        elif taken_back:
            taken_back -= 1
        else:
            was = {} if each.reply else each.was or {}
            became = {key: each.comment.get(key) for key in was}
            if each.reply:
                became = dict(list_replies(each.comment)).get(each.reply, {})
            return LastEdit(each.at, was, became, each.comment.get("updated"), each.reply)
    return None


def take_back(store: Store, path: RelativePath, comment: str, edit: LastEdit) -> str | None:
    """Make a comment what it was before an edit, if it is what the edit made of it; else return None.

    Returns what a reply said that is taken out of it.
    """

    def change(sidecar: Sidecar) -> str | None:
        raw = sidecar.raw_comment(find_comment(sidecar, comment).id)
        if edit.reply:
            return _take_reply(sidecar, comment, raw, edit)
        if any(raw.get(key) != value for key, value in edit.became.items()):
            return None
        values = {key: value for key, value in edit.was.items() if value is not None or key == "tag"}
        gone = tuple(key for key in edit.was if key not in values)
        sidecar.change(comment, {**values, "updated": now()}, gone, undoes=True)
        return ""

    return store.change(path, change)


def _take_reply(sidecar: Sidecar, comment: str, raw: JsonObject, edit: LastEdit) -> str | None:
    """Take out the reply that was written; not another of the same id, which somebody else may have given it."""
    left = [*cast("list[object]", held)] if isinstance(held := raw.get("replies"), list) else []
    if not edit.became or edit.became not in left:
        return None
    left.remove(edit.became)
    values: JsonObject = {"updated": now(), **({"replies": left} if left else {})}
    sidecar.change(comment, values, () if left else ("replies",), undoes=True, reply=edit.reply)
    return str(edit.became.get("text", ""))
