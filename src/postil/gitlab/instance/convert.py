"""From GitLab's JSON to the things of `model.py` and `answers.py`. Pure; nothing GitLab may leave out is required.

A struct says by itself how it is read: a field is GitLab's field of the same name, by its type. `WAYS` holds the
fields that GitLab writes in more than one way, or elsewhere.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from functools import cache
from types import NoneType
from typing import TypeAlias, TypeVar, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields

from postil.gitlab.instance.records import Record
from postil.gitlab.model import Person, PipelineState

S = TypeVar("S", bound=Struct)
Way: TypeAlias = Callable[[Record, str], object]
"""Reads a field, whose name it is told."""

OURS = ("untrusted", "left_out")
"""Fields that are said by us and not by GitLab."""


def read(kind: type[S], raw: Record, **given: object) -> S:
    """Return a thing of this kind; what is given by name is not looked for."""
    get = raw.fields.get
    if not given:
        return kind(
            *[
                value if type(value := get(name)) in expected else way(raw, name)
                for name, expected, way in _list_ways(kind)
            ]
        )
    values: list[object] = []
    for name, expected, way in _list_ways(kind):
        value = given[name] if name in given else get(name)
        values.append(value if name in given or type(value) in expected else way(raw, name))
    return kind(*values)


@cache
def _list_ways(kind: type[Struct]) -> list[tuple[str, tuple[type, ...], Way]]:
    """Return how each field is read, in order: a value of an expected type as it is, any other in this way."""
    theirs = (field for field in fields(kind) if field.name not in OURS)
    return [(field.name, *_choose_way(field.name, field.type)) for field in theirs]


def read_rows(kind: type[S], rows: Iterable[Record], **rest: object) -> S:
    """Return a struct whose first field is a list of things, one from each row; `rest` are its other fields."""
    item = _find_item(kind)
    return kind([read(item, row) for row in rows], **rest)


@cache
def _find_item(kind: type[Struct]) -> type[Struct]:
    return get_args(fields(kind)[0].type)[0]


def _choose_way(name: str, kind: object) -> tuple[tuple[type, ...], Way]:
    if name in WAYS:
        return (), WAYS[name]
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        return (), Record.texts if item is str else lambda raw, name: [read(item, one) for one in raw.records(name)]
    if kind is int or kind is str:  # said by us, and always given
        return (kind,), _PLAIN[kind]
    if kind is bool:
        return (bool,), lambda raw, name: bool(raw.flag(name))
    (present,) = (one for one in get_args(kind) if one is not NoneType)
    if present in _PLAIN:
        return (present, NoneType), _PLAIN[present]
    return (NoneType,), lambda raw, name: _read_nested(present, raw.record(name))


_PLAIN: dict[object, Way] = {int: Record.number, str: Record.text, float: Record.seconds, bool: Record.flag}


def _read_nested(kind: type[S], raw: Record) -> S | None:
    return read(kind, raw) if raw else None


def _read_assignee(raw: Record, _: str) -> Person | None:
    """Read `assignee`, which is deprecated: where it is gone, the first of `assignees` is it."""
    return _read_nested(Person, raw.record("assignee") or next(iter(raw.records("assignees")), Record(None)))


def _read_labels(raw: Record, _: str) -> list[str]:
    """Read the names of labels, which some versions and options of GitLab give as objects."""
    return raw.texts("labels") or [name for one in raw.records("labels") if (name := one.text("name"))]


def _read_draft(raw: Record, _: str) -> bool | None:
    draft = raw.flag("draft")
    return raw.flag("work_in_progress") if draft is None else draft


def _read_file(raw: Record, _: str) -> str | None:
    position = raw.record("position")
    return position.text("new_path") or position.text("old_path")


def _read_line_number(raw: Record, _: str) -> int | None:
    position = raw.record("position")
    return position.number("new_line") or position.number("old_line")


def _read_side(raw: Record, _: str) -> str | None:
    """Read on which side a note stands: an unchanged line is on both, and then it is said to be of the new file."""
    position = raw.record("position")
    if position.number("new_line") is not None:
        return "new"
    return "old" if position.number("old_line") is not None else None


def _read_first_line(raw: Record, _: str) -> int | None:
    """Read where a range begins; a note on one line has a range of that line, which is worth no word."""
    first, last = _read_range(raw)
    return None if first.fields == last.fields else first.number("new_line") or first.number("old_line")


def _read_first_side(raw: Record, _: str) -> str | None:
    first, last = _read_range(raw)
    if first.fields == last.fields or not first:
        return None
    return "new" if first.number("new_line") is not None else "old"


def _read_range(raw: Record) -> tuple[Record, Record]:
    spanned = raw.record("position").record("line_range")
    return spanned.record("start"), spanned.record("end")


def _list_resolvable(raw: Record) -> list[Record]:
    return [one for one in raw.records("notes") if one.flag("resolvable")]


def _read_resolved(raw: Record, _: str) -> bool:
    """Whether a discussion is resolved: all of its notes that can be are."""
    resolvable = _list_resolvable(raw)
    return bool(resolvable) and all(one.flag("resolved") for one in resolvable)


def _name_person(raw: Record) -> str | None:
    username = raw.text("username")
    return f"@{username}" if username else raw.text("name")


WAYS: dict[str, Way] = {
    "written_by": lambda raw, _: _name_person(raw.record("author")),
    "assigned_to": lambda raw, _: _name_person(
        raw.record("assignee") or next(iter(raw.records("assignees")), Record(None))
    ),
    "asked_reviewers": lambda raw, _: [name for one in raw.records("reviewers") if (name := _name_person(one))],
    "commit_id": lambda raw, _: raw.record("commit").text("id") or raw.text("commit_id"),
    "commit_title": lambda raw, _: raw.record("commit").text("title"),
    "commit_date": lambda raw, _: (
        raw.record("commit").text("committed_date") or raw.record("commit").text("created_at")
    ),
    "is_default": lambda raw, _: bool(raw.flag("default")),
    "is_protected": lambda raw, _: bool(raw.flag("protected")),
    "is_merged": lambda raw, _: bool(raw.flag("merged")),
    "about": lambda raw, _: raw.text("description"),
    "namespace": lambda raw, _: raw.record("namespace").text("full_path") or raw.text("namespace"),
    "assignee": _read_assignee,
    "labels": _read_labels,
    "milestone": lambda raw, _: raw.record("milestone").text("title"),
    "draft": _read_draft,
    "detailed_merge_status": lambda raw, _: raw.text("detailed_merge_status") or raw.text("merge_status"),
    "pipeline": lambda raw, _: _read_nested(PipelineState, raw.record("head_pipeline") or raw.record("pipeline")),
    "side": _read_side,
    "first_line": _read_first_line,
    "first_side": _read_first_side,
    "file": _read_file,
    "line_number": _read_line_number,
    "system": lambda raw, _: raw.flag("system") or None,  # worth a word only where it is so
    "allow_failure": lambda raw, _: raw.flag("allow_failure") or None,
    "resolvable": lambda raw, _: bool(_list_resolvable(raw)),
    "resolved": _read_resolved,
}


def decode_text(content: str | None, encoding: str | None) -> str | None:
    """Return the text of a base64 file, or None when it is not text."""
    if content is None or encoding != "base64":
        return None
    try:
        return base64.b64decode(content).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
