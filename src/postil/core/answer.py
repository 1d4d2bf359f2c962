"""What an operation answers: a struct for programs, which says by itself what a model and a person read of it.

The surface chooses: tools send `for_model()`, the shell prints `for_person()`, programs get `plain()`.
An operation may also answer plain text, or a generator of pieces that the shell prints as they come.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from postil.core.content import Block

LARGEST = 24_000
"""Bytes of content that a tool answers unless more was asked for: what a model can read without losing its thread."""
_NOTHING: Mapping[str, Any] = {}
LINES = frozenset({
    "advice", "answers", "around", "body", "code", "comment", "content", "data", "description", "diff", "document",
    "done", "facts", "failure_reason", "hunk", "log_tail", "message", "newText", "note", "nothing", "oldAround",
    "oldText", "outside", "output", "preview", "rounds", "said", "shown", "suggestion", "summary", "text", "texts",
    "to_content", "value", "words", "yaml_errors",
})  # fmt: skip
"""Fields of answers that hold lines: words, code, and what we say. Every other text is a name of something."""
Value = TypeVar("Value")


class Verbatim(str):
    """A document for programs (an export, a report, JSON): a pipe gets it to the letter, whatever hides in it."""

    __slots__ = ()


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
    try:
        while waiting:  # without a call for each value: nearly always there is nothing to do
            value = waiting.pop()
            kind = value.__class__
            if kind is tuple or kind is list:
                waiting += value
            elif kind is str:
                if not value.isprintable():
                    break
            elif kind is dict:
                waiting += (*value, *value.values())
            elif (known := _FIELDS.get(kind)) or isinstance(value, Struct):
                get_names, get_others, get_lines = known or _sort_fields(kind)
                if get_names and not "".join(get_names(value)).isprintable():
                    break
                if get_others:
                    waiting += filter(None, get_others(value))
                if get_lines:
                    waiting += [held for held in get_lines(value) if held and held.__class__ is not str]
        else:
            return answer
    except TypeError:  # a field does not hold what its type says
        pass
    return cast("Value", _in_rows(answer))


_Getter: TypeAlias = Callable[[Any], "tuple[Any, ...]"]
_Getters: TypeAlias = "tuple[_Getter | None, _Getter | None, _Getter | None]"
_FIELDS: dict[type[Struct], _Getters] = {}
"""Of each kind of struct that was seen, what `_sort_fields` says."""
_NO_TEXT = frozenset({"int", "float", "bool", "None", "UnsetType"})
_NO_NAMES = _NO_TEXT | {"str", "tuple[str, ...]", "list[str]"}
"""Types of fields that hold lines, and nothing but these."""
_OUR_WORDS = type(Literal[""])


def _sort_fields(kind: type[Struct]) -> _Getters:
    """Returns what gets the names of a struct, all else in which there may be names, and of that what may be lines."""
    names: list[str] = []
    others: list[str] = []
    lines: list[str] = []
    types: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        known = vars(sys.modules[each.__module__])
        for name, said in getattr(each, "__annotations__", _NOTHING).items():
            types[name] = "str" if known.get(said).__class__ is _OUR_WORDS else str(said)
    for name in kind.__struct_fields__:
        kinds = types[name].split(" | ")
        if name in LINES:
            lines += [name] * (not _NO_NAMES.issuperset(kinds))
        elif kinds == ["str"]:
            names.append(name)
        elif not _NO_TEXT.issuperset(kinds):
            others.append(name)
    get_names, get_others = _get_all(names) if names else None, _get_all(others) if others else None
    return _FIELDS.setdefault(kind, (get_names, get_others, _get_all(lines) if lines else None))


def _get_all(names: Sequence[str]) -> _Getter:
    if len(names) == 1:
        get = attrgetter(names[0])
        return lambda value: (get(value),)
    return attrgetter(*names)


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
