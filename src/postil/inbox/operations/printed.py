"""What is printed for a program that goes on with it."""

from __future__ import annotations

from postil.core.answer import Verbatim
from postil.inbox.answers import Printed


class PrintedDocument(Printed, frozen=True):
    """A text that goes on as it stands: an export, or what a hook's caller reads."""

    def for_person(self) -> str:
        return Verbatim(self.output)
