"""What is answered to whoever adds, edits or deletes a comment, or takes such a change back."""

from __future__ import annotations

from postil.core.answer import Answer


class Added(Answer, frozen=True, omit_defaults=True):
    """A new comment."""

    commentId: str
    ghostMarkerId: str
    filePath: str
    line: int
    tag: str | None
    anchoredTo: str
    endLine: int = 0
    warning: str = ""

    def for_model(self) -> str:
        tag = f"\nTag: {self.tag}" if self.tag else ""
        warning = f"\n\n⚠️ {self.warning}" if self.warning else ""
        lines = f"{self.line}-{self.endLine}" if self.endLine else str(self.line)
        return (
            f"✅ Comment added successfully\n\nComment ID: {self.commentId}\nGhost Marker ID: {self.ghostMarkerId}\n"
            f"File: {self.filePath}:{lines}{tag}\n\n"
            f"The comment has been anchored to {self.anchoredTo} and will track code changes.{warning}"
        )


class Edited(Answer, frozen=True):
    """A comment with another text."""

    commentId: str
    filePath: str
    updated: str
    tag: str | None = None

    def for_model(self) -> str:
        return (
            f"✅ Comment edited successfully\n\nComment ID: {self.commentId}\nFile: {self.filePath}\n"
            f"Updated: {self.updated}"
        )


class Deleted(Answer, frozen=True, omit_defaults=True):
    """A comment that is gone."""

    commentId: str
    filePath: str
    undo: str = ""
    """The command that brings it back, where that is known."""

    def for_model(self) -> str:
        return self.for_contract() + (f"\n\nTo undo it: comments_undo {self.commentId}" if self.undo else "")

    def for_person(self) -> str:
        return self.for_contract() + (f"\n\nTo undo it: `{self.undo}`" if self.undo else "")

    def for_contract(self) -> str:
        return f"✅ Comment deleted\n\nComment ID: {self.commentId}\nFile: {self.filePath}"


class TakenBack(Answer, frozen=True):
    """A comment that says again what it said before its last edit, or has the status that it had."""

    commentId: str
    filePath: str
    text: str
    status: str

    def for_model(self) -> str:
        head = f"✅ Change undone\n\nComment ID: {self.commentId}\nFile: {self.filePath}"
        return f"{head}\nStatus: {self.status}\n\n{self.text}"
