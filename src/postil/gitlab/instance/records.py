"""Reading GitLab's JSON without trusting it: any field may be null, missing, unknown or of another type.

A field that does not fit reads as None; reading never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE

NOTHING: Mapping[str, object] = {}


class Record:
    """One JSON object, read field by field; false where there was no object."""

    __slots__ = ("fields",)

    def __init__(self, value: object) -> None:
        self.fields = cast(Mapping[str, object], value) if isinstance(value, dict) else NOTHING

    def __bool__(self) -> bool:
        return self.fields is not NOTHING

    def text(self, name: str) -> str | None:
        value = self.fields.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        value = self.fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else None

    def seconds(self, name: str) -> float | None:
        value = self.fields.get(name)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool | None:
        value = self.fields.get(name)
        return value if isinstance(value, bool) else None

    def record(self, name: str) -> Record:
        """Return the object of that name; where there is none, a record that is false and has no fields."""
        return Record(self.fields.get(name))

    def records(self, name: str) -> list[Record]:
        return list_records(self.fields.get(name))

    def texts(self, name: str) -> list[str]:
        value = self.fields.get(name)
        return [item for item in cast(list[object], value) if isinstance(item, str)] if isinstance(value, list) else []


def list_records(value: object) -> list[Record]:
    """Return the objects of a JSON array; everything else in it is passed over."""
    items = cast(list[object], value) if isinstance(value, list) else ()
    return [Record(cast(object, item)) for item in items if isinstance(item, dict)]


def parse(body: bytes, otherwise: object = None) -> object:
    """Return the JSON of a body; `otherwise` when it is not JSON."""
    try:
        return decode_json(body)
    except UNREADABLE:
        return otherwise
