"""Prompts: ready-made requests a person can pick, with arguments that complete as they type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from postil.core.content import Message, said
from postil.core.failure import InvalidArguments
from postil.core.operation import F, attach, is_async, signature_types


class PromptMark(Struct, frozen=True):
    """What is declared on a method that writes a prompt. `complete` maps an argument to its values, or to the name of
    a method `(value) -> list[str]`."""

    name: str
    title: str = ""
    complete: Mapping[str, tuple[str, ...] | str] = {}


class PromptArgument(Struct, frozen=True, omit_defaults=True):
    """One argument of a prompt, as it is listed."""

    name: str
    description: str = ""
    required: bool | None = None
    default: object = None
    enum: list[str] | None = None


def prompt(
    name: str, *, title: str = "", complete: Mapping[str, tuple[str, ...] | str] | None = None
) -> Callable[[F], F]:
    """Mark a method as the writer of a prompt; it answers a text or a list of messages."""
    return attach(PromptMark(name, title, complete or {}))


class Prompt:
    """A marked method bound to its part."""

    __slots__ = ("arguments", "is_async", "mark", "run")

    def __init__(self, run: Callable[..., Any]) -> None:
        self.mark: PromptMark = run.__postil__  # type: ignore[attr-defined]
        self.run = run
        self.is_async = is_async(run)
        self.arguments, _ = signature_types(run)

    def decode(self, arguments: object) -> Mapping[str, Any]:
        """Check arguments; on the wire all of them are strings, so numbers and booleans are read from text."""
        try:
            decoded = msgspec.convert(arguments, self.arguments, strict=False)
        except msgspec.ValidationError as fault:
            raise InvalidArguments(f"Invalid prompt arguments: {fault}") from None
        return {field: getattr(decoded, field) for field in decoded.__struct_fields__}


def as_messages(written: object) -> Sequence[Message]:
    """Returns what a prompt's method answered, as messages."""
    return [said(written)] if isinstance(written, str) else written  # type: ignore[return-value]
