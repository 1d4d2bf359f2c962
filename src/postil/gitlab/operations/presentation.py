"""One answer, two readers: a program gets GitLab's text untouched in the contract's shape, a model gets it fit to read.

The struct itself is the model's: nothing invisible in it, long texts of lists shortened. `plain()` is the program's;
lists have both of the contract's forms there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from copy import copy
from operator import is_
from typing import Any, ClassVar, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr

from postil.core import call
from postil.core.answer import LARGEST, Answer
from postil.core.others.framing import frame
from postil.core.others.untrusted import clean, clean_prose, shorten
from postil.gitlab.fitting import count_fitting, cut, measure, next_page, room_for_text
from postil.gitlab.instance.connection import PLAIN_READ, Connection, ReadOptions
from postil.gitlab.instance.convert import read_rows
from postil.gitlab.instance.pages import Pagination
from postil.gitlab.instance.records import Record
from postil.gitlab.model import ChildPipeline, Job, Note, Person
from postil.gitlab.policy.guard import WITHHELD

A = TypeVar("A", bound="UntrustedAnswer")
D = TypeVar("D", bound="Details")
L = TypeVar("L", bound="Listing")
SHORT = 60
"""Characters of a description in a list that a model reads; `get_issue` and the like give all of it."""
_LONG = 16_384
"""Characters, of texts that are not plain, that are cleaned at once: twenty thousand may take 0.1 s."""
_PROSE = ("description", "body", "message")


class UntrustedAnswer(Answer, frozen=True, dict=True):
    """An answer with text by others in it. `dict=True` holds the untouched original beside the fields."""

    @property
    def largest(self) -> int:
        return cast(int, self.__dict__.get("asked_bytes", LARGEST))

    def for_model(self) -> str:
        return frame(self.write(), ", ".join(["GitLab", *sorted(call.current().labels)]))

    def for_person(self) -> str:
        return self.write()

    def plain(self) -> object:
        """Returns GitLab's own text, in the contract's shape."""
        original = cast("UntrustedAnswer", self.__dict__.get("original", self))
        body = cast(dict[str, object], msgspec.to_builtins(original))
        del body["untrusted"]
        return original.shape(body)

    def shape(self, body: dict[str, object]) -> dict[str, object]:
        """Returns the body in the contract's shape."""
        return body

    def write(self) -> str:
        """Returns the answer in words: one line a field, the longest text last."""
        lines: list[str] = []
        last: list[str] = []
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if value is None or value == [] or value is UNSET or name == "untrusted":
                continue
            if name in _PROSE:
                last = [f"{name}:\n{value}"]
            else:
                said = _write_value(value)
                lines.append(f"{name}: {call.current().tell_moment(said) if name.endswith('_at') else said}")
        return "\n".join(lines + last)


class Details(UntrustedAnswer, frozen=True, dict=True, kw_only=True):
    """One thing in full."""

    left_out: str | UnsetType = UNSET
    """What a model was not given, and the call that gets it."""
    untrusted: bool = True

    def shape(self, body: dict[str, object]) -> dict[str, object]:
        body.pop("left_out", None)
        return body


class Listing(UntrustedAnswer, frozen=True, dict=True, kw_only=True):
    """A page of things: the first field, under a name of its own."""

    longest: ClassVar[int | None] = None
    """Characters that a model reads of a description in the list."""
    pagination: Pagination
    left_out: str | UnsetType = UNSET
    untrusted: bool = True

    def shape(self, body: dict[str, object]) -> dict[str, object]:
        key = self.__struct_fields__[0]
        pagination = cast(dict[str, object], body["pagination"])
        return {key: body[key], "total_count": pagination["total"], "data": body[key], "pagination": pagination}

    def write(self) -> str:
        items: Sequence[Any] = getattr(self, self.__struct_fields__[0])
        rest = [f"({self.left_out})"] if self.left_out else []
        return "\n".join([*(item.line() for item in items), f"({self.pagination.line()})", *rest])


async def list_page(
    gitlab: Connection,
    kind: type[L],
    path: str,
    query: dict[str, str | int | bool | None],
    options: ReadOptions = PLAIN_READ,
    keeps: Callable[[Record], bool] | None = None,
    plain: type[Listing] | None = None,
    max_bytes: int | None = None,
) -> L:
    """Read a page of a list as a listing of this kind, fit for models; `plain` is the kind that programs get."""
    rows, pagination = await gitlab.get_page(path, query, options, keeps)
    fit = await fit_beside_others(read_rows(kind, rows, pagination=pagination), kind.longest)
    if plain is not None:
        force_setattr(fit, "original", read_rows(plain, rows, pagination=pagination))
    return limit_rows(fit, max_bytes)


def remember(fit: A, whole: UntrustedAnswer, max_bytes: int | None = None) -> A:
    """Return an answer that was made shorter, with what programs get of the whole one, and the size asked for."""
    force_setattr(fit, "original", cast(object, whole.__dict__.get("original", whole)))
    if max_bytes is not None:
        force_setattr(fit, "asked_bytes", max_bytes)
    return fit


def limit_rows(listing: L, max_bytes: int | None) -> L:
    """Return the listing with as many of its rows as a model has room for, and the call that gets the others."""
    room = room_for_text(max_bytes)
    name = listing.__struct_fields__[0]
    items: list[Any] = getattr(listing, name)
    if 2 * len(msgspec.json.encode(items)) <= room:  # a line says what a row holds, and little more
        return remember(listing, listing, max_bytes)
    sizes = [measure(item.line()) + 2 for item in items]
    if sum(sizes) <= room:
        return remember(listing, listing, max_bytes)
    kept = max(1, count_sizes(sizes, room))
    page = listing.pagination
    if kept < len(items):
        kept, number, size = next_page(page.page, page.per_page, kept)
        said = f"{len(items) - kept} more of this page are left out: page={number} per_page={size} goes on there"
    else:
        said = "long texts are cut: max_bytes gets more of them"
    share = room // kept
    shown = [_cut_prose(item, share) if size > share else item for item, size in zip(items, sizes, strict=True)]
    return remember(msgspec.structs.replace(listing, **{name: shown[:kept], "left_out": said}), listing, max_bytes)


def count_sizes(sizes: Sequence[int], room: int) -> int:
    """Return how many things of these sizes, from the first, have room."""
    used = 0
    for number, size in enumerate(sizes):
        used += size
        if used > room:
            return number
    return len(sizes)


def limit_prose(answer: D, max_bytes: int | None) -> D:
    """Return details with their long lists and text cut to what a model has room for, and the call that gets more."""
    room = room_for_text(max_bytes)
    if len(msgspec.json.encode(answer)) <= room:
        return remember(answer, answer, max_bytes)
    short, said = _cut_lists(answer, room)
    name = next((name for name in _PROSE if isinstance(getattr(answer, name, None), str)), "")
    others = len(msgspec.json.encode(short))
    if name and others > room:
        text: str = getattr(answer, name)
        others -= measure(text)
        shown = cut(text, max(200, room - others))
        short = msgspec.structs.replace(short, **{name: shown})
        more = f"max_bytes={measure(text) + others + 2000} gets all"
        said.append(f"{name}: {len(shown)} of {len(text)} characters are shown; {more}")
    elif said:
        said.append("max_bytes gets more")
    return remember(msgspec.structs.replace(short, left_out="; ".join(said)), answer, max_bytes)


def _cut_lists(answer: D, room: int) -> tuple[D, list[str]]:
    """Return details whose lists take no more than an eighth of the room each, and what is missing of them."""
    changes: dict[str, object] = {}
    said: list[str] = []
    for name in answer.__struct_fields__:
        item: object = getattr(answer, name)
        if isinstance(item, list):
            rows = cast(list[object], item)
            kept = count_sizes([len(msgspec.json.encode(row)) + 1 for row in rows], room // 8)
            if kept < len(rows):
                changes[name] = rows[:kept]
                said.append(f"{len(rows) - kept} of {len(rows)} {name} are left out")
    return (msgspec.structs.replace(answer, **changes) if changes else answer), said


def _cut_prose(value: Any, room: int) -> Any:
    """Return a row with its long texts cut, and those of the notes inside it."""
    changes: dict[str, object] = {}
    for name in value.__struct_fields__:
        item: object = getattr(value, name)
        if isinstance(item, str) and measure(item) > room // 2:
            short = cut(item, max(200, room // 2))
            changes[name] = f"{short} […{len(item) - len(short)} more characters]"
        elif isinstance(item, list) and item and isinstance(item[0], Struct):
            inner = cast(list[Struct], item)
            kept = max(1, count_fitting([msgspec.json.encode(one).decode() for one in inner], room // 2))
            changes[name] = [_cut_prose(one, room // 2 // kept) for one in inner[:kept]]
    return msgspec.structs.replace(value, **changes) if changes else value


async def fit_beside_others(original: A, longest: int | None = None) -> A:
    """Return the same; what is long, as anybody may have written it, is cleaned in a thread: all wait for the loop."""
    if _count_left(original, _LONG) > 0:
        return fit_for_models(original, longest)
    return await asyncio.to_thread(fit_for_models, original, longest)


def _count_left(value: object, left: int) -> int:
    """Return what is left of so many characters behind the texts of an answer that are not plain; 0 if it has more."""
    if isinstance(value, str):
        return left if value.isascii() and "&" not in value else max(0, left - len(value))
    if isinstance(value, list):
        items = cast(list[object], value)
    elif isinstance(value, Struct):
        items = [getattr(value, name) for name in value.__struct_fields__]
    else:
        return left
    for item in items:
        if not left:
            break
        if isinstance(item, (str, list, Struct)):
            left = _count_left(cast(object, item), left)
    return left


def fit_for_models(original: A, longest: int | None = None, *, read_as: A | None = None) -> A:
    """Return the answer as a model may read it (from `read_as`, if given), with the original kept for `plain()`."""
    given = original if read_as is None else read_as
    fit = cast(A, _fit(given, longest))
    if fit is given:
        fit = copy(fit)
    force_setattr(fit, "original", original)
    return fit


def _fit(value: object, longest: int | None) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        items = cast(list[object], value)
        fitted = [_fit(item, longest) for item in items]
        return items if all(map(is_, fitted, items)) else fitted
    if not isinstance(value, Struct):
        return value
    changed: dict[str, object] = {}
    for name in value.__struct_fields__:
        item: object = getattr(value, name)
        if isinstance(item, str):
            fit = clean_prose(item) if name in _PROSE else clean(item)
            fit = shorten(fit, longest) if longest and name in _PROSE and fit != WITHHELD else fit
        elif isinstance(item, (list, Struct)):
            fit = _fit(cast(object, item), longest)
        else:
            continue
        if fit is not item:
            changed[name] = fit
    return msgspec.structs.replace(value, **changed) if changed else value


def _write_value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_write_value(item) for item in cast(list[object], value))
    if isinstance(value, (Person, Job, Note, ChildPipeline)):
        return value.line()
    if isinstance(value, Struct):
        pairs = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return " ".join(f"{name}={item}" for name, item in pairs if item is not None)
    return str(value).lower() if isinstance(value, bool) else str(value)
