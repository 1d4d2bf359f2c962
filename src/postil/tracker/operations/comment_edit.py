"""Editing and withdrawing one's own comments. What they said before stays in the history."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postil.core.failure import NotAllowed
from postil.core.operation import Spelling, writes
from postil.tracker.events import CommentDeleted, CommentEdited
from postil.tracker.failures import InvalidParams, ServerError
from postil.tracker.issues import Issues
from postil.tracker.model import Comment, Entity
from postil.tracker.operations.arguments import Id
from postil.tracker.operations.write_answers import Changed, report_change
from postil.tracker.shell.input import edit_text
from postil.tracker.text import strip_address
from postil.tracker.validation import check_comment, check_text
from postil.workspace.editing.editor import keep_typed


class CommentEdit:
    """`git mile edit-comment` and `delete-comment`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes(
        "git_mile_edit_comment",
        crash=ServerError,
        shell="issue edit-comment",
        positional=("id", "comment", "body"),
        spellings=(
            Spelling(
                "issue delete-comment", {"delete": True, "body": None}, "Withdraw a comment of yours", ("id", "comment")
            ),
        ),
        shell_only=("author", "email"),
    )
    def edit_comment(
        self,
        id: Id,
        comment: Annotated[str, Meta(description="its id or the beginning of it")],
        body: Annotated[str, Meta(description="the new text")] | None = None,
        delete: bool = False,
        author: str | None = None,
        email: str | None = None,
    ) -> Changed:
        """Change or delete a comment of one's own; the history keeps what it said"""
        typed = body is None and not delete
        if typed:
            self._issues.refresh()
            present = _find_comment(self._issues.find(id), comment)
            body = edit_text(self._issues.store.repository, self._issues.editor, "Your comment", present.body)
        with (
            keep_typed(self._issues.store.repository, body if typed else None),
            self._issues.transaction(author, email) as tx,
        ):
            entity = self._issues.find(id)
            found = _find_comment(entity, comment)
            if strip_address(found.author) != tx.author.name:
                raise NotAllowed(
                    f"The comment {found.id} is by {strip_address(found.author)}, not by {tx.author.name}",
                    advice="Answer it with a comment of your own",
                )
            if delete:
                tx.write(CommentDeleted, entity.id, c=found.id)
                changed = ["comment deleted"]
            else:
                text = check_comment(check_text("comment", body or ""))
                changed = ["comment edited"] if text != found.body else []
                if changed:
                    tx.write(CommentEdited, entity.id, c=found.id, body=text)
        return report_change(self._issues.store.entity(entity.id), changed)


def _find_comment(entity: Entity, given: str) -> Comment:
    found = [one for one in entity.comments if given and one.id.startswith(given)]
    if len(found) == 1 or (found and found[0].id == given):
        return found[0]
    said = "No comment has" if not found else f"{len(found)} comments have"
    raise InvalidParams(f"{said} an id that begins with `{given[:64]}`", advice="`show` lists the ids of comments")
