"""The echo tool as a part of Postil."""

from __future__ import annotations

from postil.core.answer import Answer
from postil.core.operation import reads


class Echoed(Answer, frozen=True):
    """What was said."""

    said: str

    def for_model(self) -> str:
        return self.said


class Echo:
    """One operation."""

    @reads("echo")
    async def echo(self, text: str) -> Echoed:
        """Say it again"""
        return Echoed(text)
