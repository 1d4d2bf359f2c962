"""Arguments as models send them, read as they were plainly meant: `5.0` and `"5"` for 5, `null` for nothing.

Used after arguments did not fit as they are; what is not plain stays as it is and is refused. The servers of the old
contracts do without it: their errors are published.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

from msgspec import Struct, inspect

from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE

Kind: TypeAlias = inspect.Type
_LISTS = inspect.ListType | inspect.VarTupleType | inspect.SetType | inspect.FrozenSetType
_WHOLE = re.compile(r"-?[0-9]{1,18}(\.0+)?|#[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,3})?")
_WORDS = re.compile(r"[\w.:@#/+-]{1,255}(?:, ?[\w.:@#/+-]{1,255}){1,99}")
"""Words with commas between them: `bug,docs`. With blanks inside they could be one title."""
_IN_JSON = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "list": "array",
            "NoneType": "null"}  # fmt: skip
_PLAIN: dict[type[Kind], type] = {
    inspect.NoneType: type(None),
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.StrType: str,
}
_TRUTH = {"true": True, "false": False}
_NAMES = re.compile(r"\w+")
MOST_SHOWN = 30
LONGEST_JSON = 64 * 1024
"""Characters of a text that is read as a list or an object: what it holds was not counted with the rest of the call."""


@lru_cache(64)
def _type_info(kind: type[Struct]) -> Kind:
    """Returns what a struct consists of; finding it takes a millisecond."""
    return inspect.type_info(kind)


def read_as_meant(given: Mapping[str, object], kind: type[Struct], hidden: Collection[str] = ()) -> dict[str, object]:
    """Returns the arguments as the struct wants them, as far as that is plain; `hidden` names are never guessed."""
    fields = {field.encode_name: field.type for field in cast(inspect.StructType, _type_info(kind)).fields}
    known = {_bare(name): name for name in fields if name not in hidden}
    meant: dict[str, object] = {}
    for name, value in given.items():
        if name not in fields:
            near = known.get(_bare(name))
            name = near if near is not None and near not in given and near not in meant else name
        meant[name] = _as(value, fields[name]) if name in fields else value
    return meant


def say_in_json(sentence: str) -> str:
    """Returns a sentence of msgspec with the types that it names in words of JSON, and in plain words what is empty."""
    sentence = re.sub(r"of length >= 1\b", "that is not empty", sentence)
    return re.sub(r"`([a-zA-Z| ]+)`", lambda found: f"`{re.sub(_NAMES, _say_name, found[1])}`", sentence)


def _say_name(found: re.Match[str]) -> str:
    return _IN_JSON.get(found[0], found[0])


def values_at(kind: type[Struct], path: str) -> list[str]:
    """Returns the values that the argument at this path of msgspec's may have; nothing where it is no choice."""
    at: Kind | None = _type_info(kind)
    for step in re.findall(r"[^.\[\]]+|\[[^\]]*\]", path):
        at = _inside(at, step) if at is not None else None
    return [str(value) for value in _choices(at)][:MOST_SHOWN] if at is not None else []


def is_choice(kind: type[Struct], name: str) -> bool:
    """Returns whether this argument takes one of some values, and no other text."""
    at = _inside(_type_info(kind), name)
    return at is not None and bool(_choices(at)) and not _takes_text(at)


def _takes_text(kind: Kind) -> bool:
    if isinstance(kind, inspect.Metadata):
        return _takes_text(kind.type)
    if isinstance(kind, inspect.UnionType):
        return any(map(_takes_text, kind.types))
    return isinstance(kind, inspect.StrType | inspect.AnyType)


def meaning_at(kind: type[Struct], path: str) -> str:
    """Returns what the argument that a path of msgspec's begins with is said to be: `notes: FILE:LINE: text`."""
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    at = _inside(_type_info(kind), name) if name else None
    about = cast("dict[str, object]", at.extra_json_schema or {}) if isinstance(at, inspect.Metadata) else {}  # pyright: ignore[reportUnknownMemberType]
    return f"{name}: {about['description']}" if "description" in about else ""


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _as(value: object, kind: Kind) -> object:
    """Returns the value as this type, where that is plain; else as it is."""
    if isinstance(kind, inspect.Metadata):
        return _as(value, kind.type)
    if isinstance(kind, inspect.UnionType):
        if any(_fits(value, option) for option in kind.types):
            return next((_as(value, option) for option in kind.types if _fits(value, option)), value)
        return next((read for option in kind.types if (read := _as(value, option)) is not value), value)
    if isinstance(kind, inspect.IntType):
        return _whole(value)
    if isinstance(kind, inspect.FloatType):
        return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value
    if isinstance(kind, inspect.BoolType):
        return _TRUTH.get(value.lower(), value) if isinstance(value, str) else value
    if isinstance(kind, inspect.LiteralType | inspect.EnumType):
        return _choose(value, _choices(kind))
    if isinstance(kind, _LISTS):
        return _items(value, kind.item_type)
    if isinstance(kind, inspect.StructType | inspect.DictType):
        return _object(value, kind)
    return value


def _fits(value: object, kind: Kind) -> bool:
    """Returns whether a value is of this JSON type."""
    if isinstance(kind, inspect.Metadata):
        return _fits(value, kind.type)
    if isinstance(kind, inspect.LiteralType | inspect.EnumType):
        return value in _choices(kind)
    if isinstance(kind, _LISTS):
        return isinstance(value, list)
    if isinstance(kind, inspect.StructType | inspect.DictType):
        return isinstance(value, dict)
    return type(value) is _PLAIN.get(type(kind), float)


def _whole(value: object) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value.partition(".")[0].removeprefix("#"))  # answers write numbers as #6
    return value


def _choose(value: object, choices: list[Any]) -> object:
    """Returns the one choice that this is but for upper and lower case."""
    if not isinstance(value, str) or value in choices:
        return value
    same = [choice for choice in choices if str(choice).lower() == value.lower()]
    return same[0] if len(same) == 1 else value


def _items(value: object, kind: Kind) -> object:
    if isinstance(value, str):
        read = _json(value)
        if isinstance(read, list):
            value = cast("list[object]", read)
        elif _WORDS.fullmatch(value) and not _is_object(kind):
            value = re.split(", ?", value)
        elif value.strip() and "," not in value and not _is_object(kind):  # several phrases in one text: not plain
            value = [value]
    return [_as(item, kind) for item in cast("list[object]", value)] if isinstance(value, list) else value


def _object(value: object, kind: inspect.StructType | inspect.DictType) -> object:
    read = _json(value) if isinstance(value, str) else value
    if not isinstance(read, dict):
        return value
    fields = cast("dict[str, object]", read)
    if isinstance(kind, inspect.DictType):
        return {name: _as(item, kind.value_type) for name, item in fields.items()}
    optional = {field.encode_name for field in kind.fields if not field.required}
    given = {name: item for name, item in fields.items() if item not in (None, "") or name not in optional}
    return read_as_meant(given, kind.cls)


def _json(text: str) -> object:
    if len(text) > LONGEST_JSON or not text.lstrip().startswith(("[", "{")):
        return None
    try:
        return decode_json(text)
    except UNREADABLE:
        return None


def _is_object(kind: Kind) -> bool:
    kind = kind.type if isinstance(kind, inspect.Metadata) else kind
    return isinstance(kind, inspect.StructType | inspect.DictType | _LISTS)


def _choices(kind: Kind) -> list[Any]:
    if isinstance(kind, inspect.Metadata):
        return _choices(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [choice for option in kind.types for choice in _choices(option)]
    if isinstance(kind, inspect.EnumType):
        return [member.value for member in kind.cls]
    return list(kind.values) if isinstance(kind, inspect.LiteralType) else []


def _inside(kind: Kind, step: str) -> Kind | None:
    """Returns the type one step further on a path: a field's, or an item's."""
    if isinstance(kind, inspect.Metadata):
        return _inside(kind.type, step)
    if isinstance(kind, inspect.UnionType):
        return next((found for option in kind.types if (found := _inside(option, step)) is not None), None)
    if step.startswith("["):
        if isinstance(kind, inspect.DictType):
            return kind.value_type
        return kind.item_type if isinstance(kind, _LISTS) else None
    if isinstance(kind, inspect.StructType):
        return next((field.type for field in kind.fields if field.encode_name == step), None)
    return None
