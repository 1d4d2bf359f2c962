"""What an operation answers: a struct for programs, which says by itself what a model and a person read of it.

The surface chooses: tools send `for_model()`, the shell prints `for_person()`, programs get `plain()`.
An operation may also answer plain text, or a generator of pieces that the shell prints as they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from postil.core.content import Block

LARGEST = 24_000
"""Bytes of content that a tool answers unless more was asked for: what a model can read without losing its thread."""
_NOTHING: Mapping[str, Any] = {}


class Answer(Struct, frozen=True):
    """A typed answer. Each method has a default, so that an answer overrides only what it says differently."""

    @property
    def exit_status(self) -> int:
        """The shell's exit status; an answer that found faults overrides it."""
        return 0

    @property
    def largest(self) -> int:
        """How many bytes a model gets at most; an answer that was asked to be larger overrides it."""
        return LARGEST

    @property
    def has_words(self) -> bool:
        """Whether a model reads in it what somebody wrote; an answer that found nothing says no, and is not framed."""
        return True

    @property
    def whose(self) -> str:
        """Whose words a model reads in it, where they are not those that its part names: for the mark of the frame."""
        return ""

    def rest(self) -> str:
        """Returns how the whole can be had where a model gets a part, if there is a better way than the same call."""
        return ""

    def for_model(self) -> str | Sequence[Block]:
        """Returns what a model reads: text, or blocks of content. By default the struct as JSON."""
        return msgspec.json.encode(self).decode("utf-8")

    def for_person(self) -> str | bytes | None:
        """Returns what the shell prints. None, the default, means the model's text, or else the fields line by line."""
        return None

    def plain(self) -> object:
        """Returns what programs get from a direct call and from `--json`. By default the struct itself."""
        return self

    def for_contract(self) -> str | Sequence[Block]:
        """Returns what a model reads on the face of an old contract. By default the same as anywhere."""
        return self.for_model()

    def contract_meta(self) -> Mapping[str, Any]:
        """Returns entries for the result's `_meta` on the face of an old contract. By default the same as anywhere."""
        return self.meta()

    def metadata(self) -> Mapping[str, Any]:
        """Returns facts that stand beside the content of a tool's result, as one contract publishes them."""
        return _NOTHING

    def meta(self) -> Mapping[str, Any]:
        """Returns entries for the result's `_meta`."""
        return _NOTHING

    @classmethod
    def says_itself(cls) -> bool:
        """Returns whether the answer has a text of its own for models."""
        return cls.for_model is not Answer.for_model
