"""Refusing arguments that cannot be: tags, authors, texts, ids, and callers of commands that only the shell has."""

from __future__ import annotations

import msgspec

from postil.comments.failures import CommentNotFound
from postil.comments.model import ALL_TAGS, LONGEST_AUTHOR, LONGEST_TEXT, TAGS, AiMeta, Comment
from postil.comments.operations.arguments import KnownAiMeta
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.format import is_comment_id
from postil.core import call
from postil.core.failure import InvalidArguments, NotAllowed


def wanted(sidecar: Sidecar, comment: str) -> Comment:
    """The comment a caller names; CommentNotFound, or InvalidArguments when that cannot be an id."""
    found = sidecar.comment(comment)
    if found:
        return found
    if not is_comment_id(comment):
        raise InvalidArguments(
            "Invalid arguments: commentId is not the id of a comment",
            advice="Use get_file_comments to list valid comment IDs",
            path="commentId",
        )
    raise CommentNotFound(sidecar.path, comment)


def check_tag(tag: str | None, *, every: bool = False) -> None:
    """Refuse a tag that there is none of."""
    known = ALL_TAGS if every else TAGS
    if tag is not None and tag not in known:
        raise InvalidArguments(
            f"Invalid arguments: unknown tag {tag[:50]!r}", advice=f"Use one of {', '.join(known)}", path="tag"
        )


def check_author(author: str) -> None:
    """Refuse a name that is empty or too long."""
    if not 1 <= len(author) <= LONGEST_AUTHOR or not author.isprintable():
        raise InvalidArguments(
            f"Invalid arguments: author is a name of 1 to {LONGEST_AUTHOR} characters on one line", path="author"
        )


def check_text(text: str) -> None:
    """Refuse a text that is empty or too long."""
    if not 1 <= len(text) <= LONGEST_TEXT:
        raise InvalidArguments(f"Invalid arguments: text has 1 to {LONGEST_TEXT} characters", path="text")


def check_ai(given: AiMeta) -> None:
    """Refuse metadata whose known keys are not what they should be."""
    try:
        msgspec.convert(given, KnownAiMeta)
    except msgspec.ValidationError as fault:
        reason, _, where = str(fault).partition(" - at `$")
        path = f"aiMeta{where.rstrip('`')}"
        raise InvalidArguments(f"Invalid arguments: {reason} at {path}", path=path) from None


def only_in_the_shell() -> None:
    """Refuse a caller from elsewhere: these commands read and write files that the person at the shell names."""
    if call.current().caller.surface not in ("shell", "library"):
        raise NotAllowed("This is a command of the shell", advice="Run it with `postil comments` in the workspace")
