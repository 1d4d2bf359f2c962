"""What a route accepts: declared names and kinds, coerced and refused in the words of GitLab's Grape.

GitLab itself ignores unknown names; here they are refused, so that a misspelt parameter cannot hide in a test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

Row = dict[str, Any]
Kinds = dict[str, "str | tuple[str, ...]"]


class Refusal(Exception):
    """An answer other than success: the status, the JSON body and further headers."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, body)
        self.status, self.body, self.headers = status, body, dict(headers or {})


def invalid(text: str) -> Refusal:
    """The form in which Grape refuses parameters."""
    return Refusal(400, {"error": text})


PAGING: Kinds = {"page": "int", "per_page": "int", "pagination": ("offset", "keyset", "legacy")}
TRUE = ["1", "on", "t", "true", "y", "yes"]
FALSE = ["0", "off", "f", "false", "n", "no"]


def given(query: str, body: bytes, content_type: str) -> Row:
    """Every parameter of the request, from the query and from a JSON or form body."""
    found: Row = {}
    pairs = parse_qsl(query, keep_blank_values=True)
    if body and "json" in content_type:
        try:
            parsed = json.loads(body)
        except ValueError as error:
            raise invalid("Problem while parsing request body") from error
        if not isinstance(parsed, dict):
            raise invalid("The request body must be an object")
        found.update(parsed)  # pyright: ignore[reportUnknownArgumentType]
    elif "multipart/form-data" in content_type:
        pairs += _parts(body, content_type)
    elif body:
        pairs += parse_qsl(body.decode(), keep_blank_values=True)
    for name, value in pairs:
        if name.endswith("[]"):
            found.setdefault(name[:-2], []).append(value)
        elif name.endswith("]") and not name.startswith("range["):
            outer, _, inner = name[:-1].partition("[")
            found.setdefault(outer, {})[inner] = value
        else:
            found[name] = value
    return found


def _parts(body: bytes, content_type: str) -> list[tuple[str, str]]:
    """The fields of a form as browsers and gitbeaker send it."""
    from email import message_from_bytes

    form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    found: list[tuple[str, str]] = []
    for part in form.walk():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str):
            value = part.get_payload(decode=True)
            found.append((name, value.decode() if isinstance(value, bytes) else ""))
    return found


def accept(raw: Row, kinds: Kinds, required: tuple[str, ...] = ()) -> Row:
    """The declared parameters, coerced; refuses missing, unknown and ill-typed ones."""
    absent = [name for name in required if raw.get(name) in (None, "")]
    if absent:
        raise invalid(", ".join(f"{name} is missing" for name in absent))
    unknown = sorted(set(raw) - set(kinds))
    if unknown:
        raise invalid(f"{', '.join(unknown)}: not a parameter of this route")
    return {name: _coerced(name, value, kinds[name]) for name, value in raw.items() if value is not None}


def _coerced(name: str, value: Any, kind: str | tuple[str, ...]) -> Any:
    if isinstance(kind, tuple):
        if value not in kind:
            raise invalid(f"{name} does not have a valid value")
        return value
    if kind == "int":
        return _integer(name, value)
    if kind == "int_or_word":
        return value if value in ("None", "Any") else _integer(name, value)
    if kind == "bool":
        if str(value).lower() in TRUE or str(value).lower() in FALSE:
            return str(value).lower() in TRUE
        raise invalid(f"{name} is invalid")
    if kind == "csv":
        items = value.split(",") if isinstance(value, str) else value
        return [str(item) for item in _sequence(name, items) if item != ""]
    if kind == "ints":
        items = value.split(",") if isinstance(value, str) else value
        return [_integer(name, item) for item in _sequence(name, items)]
    if kind == "list":
        return _sequence(name, value)
    if kind == "object":
        if not isinstance(value, dict):
            raise invalid(f"{name} is invalid")
        return value  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, (dict, list)):
        raise invalid(f"{name} is invalid")
    return str(value)


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool):
        raise invalid(f"{name} is invalid")
    if isinstance(value, int):
        return value
    text = str(value)
    if not (text.lstrip("-").isdigit() and text.isascii()):
        raise invalid(f"{name} is invalid")
    return int(text)


def _sequence(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise invalid(f"{name} is invalid")
    return value  # pyright: ignore[reportUnknownVariableType]
