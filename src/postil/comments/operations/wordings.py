"""Whose words a comment has: putting others in their place, and telling of two that a merge kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from postil.comments.clock import now
from postil.comments.model import EDITED_BY, REVISIONS, Comment, Revision
from postil.comments.operations.answers import CommentNow, indent
from postil.comments.operations.validation import ASSISTANT, sign
from postil.comments.operations.written import Edited
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.format import detect_tag
from postil.comments.sidecar.json_edit import JsonObject
from postil.core import call
from postil.core.arguments.typed import type_words
from postil.core.failure import InvalidArguments


def reword(
    sidecar: Sidecar, found: Comment, text: str, tag: str | None, wording: int | None, person: Callable[[], str]
) -> Edited:
    """Give a comment another text or tag, or settle which of its wordings it has. Raises InvalidArguments."""
    by = ""
    if wording is not None:
        text, by = _choose(found, wording, text)
    new_tag, updated = tag or detect_tag(text) or found.tag, now()
    values: JsonObject = {"text": text or found.text, "updated": updated}
    if new_tag != found.tag:
        values["tag"] = new_tag
    is_reworded = values["text"] != found.text
    by = by or (sign("", person) if is_reworded else "")
    if is_reworded and by != found.author and not _is_own(found, by):
        values[EDITED_BY] = by
    dropped = () if not is_reworded or EDITED_BY in values else (EDITED_BY,)
    # Who says it anew, or chooses, has settled it.
    sidecar.change(found.id, values, (*dropped, REVISIONS) if is_reworded or wording is not None else ())
    return Edited(found.id, sidecar.path, updated, new_tag)


def _is_own(found: Comment, by: str) -> bool:
    """Whether a comment is the caller's. An assistant of this machine has no name: what one said is its own."""
    is_assistants = by == ASSISTANT and found.aiMeta is not None and not found.editedBy
    return is_assistants or call.current().caller.signed(found.author)


def _choose(found: Comment, wording: int, text: str) -> tuple[str, str]:
    """Returns one of the wordings of a comment, and whose words they are."""
    if text:
        raise InvalidArguments("A text, or one of the wordings: not both", advice="Give one of them", path="wording")
    if not found.revisions:
        raise InvalidArguments(f"Comment {found.id} has no other wording", advice="Give a text", path="wording")
    if wording > len(found.revisions):
        numbers = "0 or 1" if len(found.revisions) == 1 else f"0 to {len(found.revisions)}"
        raise InvalidArguments(
            f"The wordings of comment {found.id} are {numbers}",
            advice="`postil comments show` tells them",
            path="wording",
        )
    chosen = found.revisions[wording - 1] if wording else Revision(found.text, found.editedBy or found.author)
    return chosen.text, chosen.author


def tell_wordings(each: CommentNow) -> list[str]:
    """Returns the other wordings of a comment, and how it is settled which one it has."""
    told, edit = call.current().tell_moment, f"postil comments edit {type_words(each.id)} --wording"
    lines: list[str] = []
    for number, other in enumerate(each.revisions, 1):
        take = f"; `{edit} {number}` takes this" if call.current().person else ""
        lines += [
            "",
            f"a merge kept, as {other.author} said it {told(other.at)}{take}:",
            f"    {indent(other.text, 4)}",
        ]
    if lines:
        settle = (
            f"`{edit} 0` drops the others"
            if call.current().person
            else "edit_comment with the words that stay settles it"
        )
        lines.append(f"  ({settle})")
    return lines


def tell_merged(path: str, reworded: Sequence[Comment]) -> str:
    """Returns what a merge of a comment file says of comments whose words both sides had changed."""
    return "\n".join(
        f"{path}: {_tell_who(each)} changed the words of {each.id}: the later ones are shown, and the others kept; see"
        f" `postil comments show {type_words(each.id)}`"
        for each in reworded
    )


def _tell_who(each: Comment) -> str:
    names = sorted({each.editedBy or each.author, *(one.author for one in each.revisions)})
    return f"{' and '.join(names)} both" if len(names) == 2 else f"{', '.join(names)} on both sides"
