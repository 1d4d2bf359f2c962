"""What is answered to whoever adds, edits or deletes a comment, or takes such a change back."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from postil.core.answer import Answer

NOT_NOTED = (
    "This cannot be undone here: the log of what was written could not keep it, because it is too long or the log "
    "cannot be written"
)


def warn(said: str | UnsetType) -> str:
    """Returns a warning to stand behind an answer; empty where there is none."""
    return f"\n\n⚠️ {said}" if said else ""


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
        warning = warn(self.warning) if self.warning else ""
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
    warning: str | UnsetType = UNSET

    def for_model(self) -> str:
        return self.for_contract() + warn(self.warning)

    def for_contract(self) -> str:
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
        return self._tell(f"comments_undo {self.commentId}")

    def for_person(self) -> str:
        return self._tell(f"`{self.undo}`")

    def _tell(self, how: str) -> str:
        return self.for_contract() + (f"\n\nTo undo it: {how}" if self.undo else warn(NOT_NOTED))

    def for_contract(self) -> str:
        return f"✅ Comment deleted\n\nComment ID: {self.commentId}\nFile: {self.filePath}"


class TakenBack(Answer, frozen=True, omit_defaults=True):
    """A comment that says again what it said before its last edit, has the status that it had, or a reply less."""

    commentId: str
    filePath: str
    text: str
    status: str
    reply: str = ""
    """What the reply said that is taken out."""
    warning: str = ""

    def for_model(self) -> str:
        if self.reply:
            said = f"✅ Reply taken back\n\nComment ID: {self.commentId}\nFile: {self.filePath}\n\n{self.reply}"
            return said + warn(self.warning)
        head = f"✅ Change undone\n\nComment ID: {self.commentId}\nFile: {self.filePath}"
        return f"{head}\nStatus: {self.status}\n\n{self.text}" + warn(self.warning)
