"""One answer, two readers: a program gets GitLab's text untouched in the contract's shape, a model gets it fit to read.

The struct itself is the model's: nothing invisible in it, long texts of lists shorten. `direct()` is the program's;
lists have both of the contract's forms there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from postil.core import call
from postil.gitlab.instance.pages import Pagination
from postil.gitlab.model import Job, Note, Person
from postil.gitlab.policy.untrusted import clean, frame, clean_prose, shorten

A = TypeVar("A", bound="Answer")
SHORT = 120
"""Characters of a description in a list that a model reads; `get_issue` and the like give all of it."""
_PROSE = ("description", "body", "message")


class Answer(Struct, frozen=True, dict=True):
    """An answer with text by others in it. `dict=True` holds the untouched original beside the fields."""

    def direct(self) -> object:
        """The plain JSON for direct methods: GitLab's own text, in the contract's shape."""
        plain = cast("Answer", self.__dict__.get("plain", self))
        body = cast(dict[str, object], msgspec.to_builtins(plain))
        body.pop("untrusted", None)
        return plain.both_shapes(body)

    def both_shapes(self, body: dict[str, object]) -> dict[str, object]:
        """The contract's second form of a list, added to the first."""
        return body

    def text(self) -> str:
        """The answer for people and models; for a model, inside a boundary."""
        written = self.written()
        if call.current().caller.surface == "shell":
            return written
        return frame(written, ", ".join(["GitLab", *sorted(call.current().labels)]))

    def written(self) -> str:
        """The answer in words."""
        return written_fields(self)


class Listing(Answer, frozen=True, dict=True):
    """A page of things under their own name."""

    def items(self) -> Sequence[Any]:
        """The things on the page."""
        return getattr(self, self.__struct_fields__[0])

    def both_shapes(self, body: dict[str, object]) -> dict[str, object]:
        key = self.__struct_fields__[0]
        pagination = cast(dict[str, object], body["pagination"])
        items = body[key]
        return {key: items, "total_count": pagination["total"], "data": items, "pagination": pagination}

    def written(self) -> str:
        pagination: Pagination = getattr(self, "pagination")  # noqa: B009 - every listing has one
        return "\n".join([*(item.line() for item in self.items()), f"({pagination.text()})"])


def for_models(plain: A, *, longest: int | None = None) -> A:
    """The answer as a model may read it, with the original kept for `direct()`."""
    fit = cast(A, _fit(plain, longest))
    msgspec.structs.force_setattr(fit, "plain", plain)
    return fit


def _fit(value: object, longest: int | None) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_fit(item, longest) for item in cast(list[object], value)]
    if not isinstance(value, Struct):
        return value
    fields: list[object] = []
    for name in value.__struct_fields__:
        item: object = getattr(value, name)
        if isinstance(item, str) and name in _PROSE:
            item = clean_prose(item)
            fields.append(shorten(item, longest) if longest else item)
        else:
            fields.append(item if item is None or isinstance(item, (int, float)) else _fit(item, longest))
    return type(value)(*fields)


def written_fields(answer: Struct) -> str:
    """One line a field; the longest text last."""
    lines: list[str] = []
    last = ""
    for name in answer.__struct_fields__:
        value: object = getattr(answer, name)
        if value is None or value == [] or name == "untrusted":
            continue
        if name in _PROSE:
            last = f"{name}:\n{value}"
        else:
            lines.append(f"{name}: {_shown(value)}")
    return "\n".join([*lines, last] if last else lines)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in cast(list[object], value))
    if isinstance(value, (Person, Job, Note)):
        return value.line()
    if isinstance(value, Struct):
        pairs = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return " ".join(f"{name}={item}" for name, item in pairs if item is not None)
    return str(value).lower() if isinstance(value, bool) else str(value)
