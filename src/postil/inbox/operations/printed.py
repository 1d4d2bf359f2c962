"""What is printed for a program that goes on with it."""

from __future__ import annotations

from postil.core.answer import Answer, Verbatim
from postil.core.failure import NotFound
from postil.inbox.answers import MIXED


class Printed(Answer, frozen=True):
    """What a hook or a set-up prints: nothing at all when there is nothing to say."""

    output: str = ""

    def for_model(self) -> str:
        """As the program that reads it wants it."""
        return self.output


class NotSetUp(Printed, frozen=True):
    """What is said to who asks whether something is set up, and it is not."""

    @property
    def exit_status(self) -> int:
        """As for everything that is not there."""
        return NotFound.exit_status


class PrintedPart(Printed, frozen=True):
    """A part of a message in which another user wrote: where their words begin and end is not in it."""

    @property
    def whose(self) -> str:
        """Whose words are in it."""
        return MIXED


class PrintedDocument(Printed, frozen=True):
    """A text that goes on as it stands: an export, or what a hook's caller reads."""

    def for_person(self) -> str:
        return Verbatim(self.output)
