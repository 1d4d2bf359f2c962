"""What an operation answers: a struct for programs, which says by itself what a model and a person read of it.

The surface chooses: tools send `for_model()`, the shell prints `for_person()`, programs get `plain()`.
An operation may also answer plain text, or a generator of pieces that the shell prints as they come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from postil.core.content import Block

LARGEST = 24_000
"""Bytes of content that a tool answers unless more was asked for: what a model can read without losing its thread."""
_NOTHING: Mapping[str, Any] = {}
LINES = frozenset({
    "advice", "answers", "around", "blob", "body", "code", "codeNow", "comment", "content", "data", "description",
    "diff", "document", "done", "facts", "failure_reason", "hunk", "log_tail", "message", "missing", "newText", "note",
    "nothing", "oldAround", "oldText", "outside", "output", "places", "preview", "problem", "problems", "rounds",
    "said", "says", "shown", "suggestion", "summary", "text", "texts", "to_content", "undo", "unread", "value",
    "warning", "warnings", "without", "words", "yaml_errors",
})  # fmt: skip
"""Fields of answers that hold lines: words, code, and what we say. Every other text is a name of something."""
Value = TypeVar("Value")


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


def in_rows(answer: Value) -> Value:
    """Returns an answer whose names are on one line each: none of others makes a row of its own in what is shown."""
    waiting: list[Any] = [answer]
    while waiting:  # without a call for each value: nearly always there is nothing to do
        value = waiting.pop()
        kind = value.__class__
        if kind is str:
            if not value.isprintable():
                return cast("Value", _in_rows(answer))
        elif isinstance(value, Struct):
            for name in value.__struct_fields__:
                held = getattr(value, name)
                if held is not None and not (type(held) is str and (name in LINES or held.isprintable())):
                    waiting.append(held)
        elif kind is tuple or kind is list:
            waiting += value
        elif kind is dict:
            waiting += (*value, *value.values())
    return answer


def _in_rows(value: Any, holds_lines: bool = False) -> Any:
    kind = value.__class__
    if kind is str:
        if holds_lines or value.isprintable():
            return value
        from postil.core.others.one_line import on_one_line  # most names are plain

        return on_one_line(value)
    if isinstance(value, Struct):
        changed: dict[str, Any] = {}
        for name in value.__struct_fields__:
            held = getattr(value, name)
            if held is not None and (row := _in_rows(held, name in LINES)) is not held:
                changed[name] = row
        return structs.replace(value, **changed) if changed else value
    if kind is tuple or kind is list:
        rows: list[Any] = [_in_rows(each, holds_lines) for each in value]
        if all(row is each for row, each in zip(rows, value, strict=True)):
            return value
        return rows if kind is list else tuple(rows)
    if kind is dict and value:
        return {_in_rows(key): _in_rows(each, holds_lines) for key, each in value.items()}
    return value
