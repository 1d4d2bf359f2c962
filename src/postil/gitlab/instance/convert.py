"""From GitLab's JSON to the things of `model.py` and `answers.py`. Pure; nothing GitLab may leave out is required.

A struct says by itself how it is read: a field is GitLab's field of the same name, by its type. `WAYS` holds the
fields that GitLab writes in more than one way, or elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache
from types import NoneType
from typing import TypeAlias, TypeVar, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields

from postil.gitlab.instance.records import Record
from postil.gitlab.instance.redaction import redacted
from postil.gitlab.model import Person, PipelineState

S = TypeVar("S", bound=Struct)
Way: TypeAlias = Callable[[Record, str], object]
"""Reads a field, whose name it is told."""

TAIL_LINES = 40
TAIL_CHARACTERS = 4000
OURS = ("untrusted",)
"""Fields that are said by us and not by GitLab."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]*\])?\r?")


def read(kind: type[S], raw: Record, **given: object) -> S:
    """A thing of this kind; what is given by name is not looked for."""
    ways = _ways(kind)
    if given:
        return kind(*[given[name] if name in given else way(raw, name) for name, way in ways])
    return kind(*[way(raw, name) for name, way in ways])


@cache
def _ways(kind: type[Struct]) -> list[tuple[str, Way]]:
    """How each field of a struct is read, in order."""
    return [
        (field.name, WAYS.get(field.name) or _by_type(field.type)) for field in fields(kind) if field.name not in OURS
    ]


def _by_type(kind: object) -> Way:
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        return Record.texts if item is str else lambda raw, name: [read(item, one) for one in raw.records(name)]
    if kind is bool:
        return lambda raw, name: bool(raw.flag(name))
    (present,) = (one for one in get_args(kind) if one is not NoneType)
    return _PLAIN.get(present) or (lambda raw, name: _nested(present, raw.record(name)))


_PLAIN: dict[object, Way] = {int: Record.number, str: Record.text, float: Record.seconds, bool: Record.flag}


def _nested(kind: type[S], raw: Record | None) -> S | None:
    return None if raw is None else read(kind, raw)


def _namespace(raw: Record, _: str) -> str | None:
    space = raw.record("namespace")
    return space.text("full_path") if space else raw.text("namespace")


def _assignee(raw: Record, _: str) -> Person | None:
    """`assignee` is deprecated: where it is gone, the first of `assignees` is it."""
    one = raw.record("assignee")
    return _nested(Person, one or next(iter(raw.records("assignees")), None))


def _labels(raw: Record, _: str) -> list[str]:
    """Names of labels, which some versions and options of GitLab give as objects."""
    return raw.texts("labels") or [name for one in raw.records("labels") if (name := one.text("name"))]


def _milestone(raw: Record, _: str) -> str | None:
    milestone = raw.record("milestone")
    return milestone.text("title") if milestone else None


def _draft(raw: Record, _: str) -> bool | None:
    draft = raw.flag("draft")
    return raw.flag("work_in_progress") if draft is None else draft


def _file(raw: Record, _: str) -> str | None:
    position = raw.record("position")
    return (position.text("new_path") or position.text("old_path")) if position else None


def _line_number(raw: Record, _: str) -> int | None:
    position = raw.record("position")
    return (position.number("new_line") or position.number("old_line")) if position else None


def _resolvable(raw: Record) -> list[Record]:
    return [one for one in raw.records("notes") if one.flag("resolvable")]


def _resolved(raw: Record, _: str) -> bool:
    """A discussion is resolved when all of its notes that can be are."""
    able = _resolvable(raw)
    return bool(able) and all(one.flag("resolved") for one in able)


WAYS: dict[str, Way] = {
    "namespace": _namespace,
    "assignee": _assignee,
    "labels": _labels,
    "milestone": _milestone,
    "draft": _draft,
    "detailed_merge_status": lambda raw, _: raw.text("detailed_merge_status") or raw.text("merge_status"),
    "pipeline": lambda raw, _: _nested(PipelineState, raw.record("head_pipeline") or raw.record("pipeline")),
    "too_large": lambda raw, _: bool(raw.flag("too_large") or raw.flag("collapsed")),
    "file": _file,
    "line_number": _line_number,
    "system": lambda raw, _: raw.flag("system") or None,  # worth a word only where it is so
    "allow_failure": lambda raw, _: raw.flag("allow_failure") or None,
    "resolvable": lambda raw, _: bool(_resolvable(raw)),
    "resolved": _resolved,
}


def log_tail(trace: bytes, token: str) -> str:
    """The end of a job's log: no colours, no secrets, the last lines."""
    text = _ANSI.sub("", trace[-16 * TAIL_CHARACTERS :].decode("utf-8", "replace"))
    text = redacted(text, token)  # before it is cut: half of a secret would not be known as one
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.rstrip().split("\n")]  # what \r overwrote is gone
    return "\n".join(lines[-TAIL_LINES:])[-TAIL_CHARACTERS:]


def decoded(content: str | None, encoding: str | None) -> str | None:
    """The text of a base64 file, or None when it is not text."""
    if content is None or encoding != "base64":
        return None
    try:
        return base64.b64decode(content).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
