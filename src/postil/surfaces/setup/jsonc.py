"""JSON with comments and trailing commas, edited in place: what is not ours stays byte for byte.

Pure functions over text. Only objects are walked; a value that is replaced is replaced whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from postil.core.others.unreadable import UNREADABLE

DEEPEST = 64
# Nothing is given back: a text of megabytes would be remembered character by character.
_SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+"')
_HALF = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<lone>\\u[dD][89a-fA-F]\w\w)|\\.")
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\n]*?\*/[ \t]*)?")
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")


class NotJson(ValueError):
    """The text cannot be read; says where."""


class Node(Struct, frozen=True):
    """One value with its place in the text; `members` only of objects, in order."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, int, Node], ...] | None = None

    def member(self, name: str) -> Node | None:
        """Returns the value under this key; the last one where it is written twice."""
        found = [node for key, _, node in self.members or () if key == name]
        return found[-1] if found else None


def read(text: str) -> Any:
    """Returns the value of the text; an empty text is an empty object."""
    return _parsed(text).value


def get(text: str, path: Sequence[str]) -> Any:
    """Returns the value at a path of keys, or None."""
    node: Node | None = _parsed(text)
    for name in path:
        node = node.member(name) if node is not None else None
    return None if node is None else node.value


def put(text: str, path: Sequence[str], value: object) -> str:
    """Returns the text with this value at the path; objects on the way are made where they are missing."""
    if not text.strip("\ufeff \t\r\n"):
        return _pretty(_nested(path, value), "") + "\n"
    root = _parsed(text)
    unit = _unit(text, root)
    node, depth = root, 0
    while depth < len(path):
        if node.members is None:
            raise NotJson(f"`{'.'.join(path[:depth]) or 'the file'}` is not an object")
        below = node.member(path[depth])
        if below is None:
            return _inserted(text, node, path[depth], _nested(path[depth + 1 :], value), unit)
        node, depth = below, depth + 1
    shown = _pretty(value, _indent_at(text, node.start), unit)
    if "\r\n" in text:
        shown = shown.replace("\n", "\r\n")
    return text[: node.start] + shown + text[node.end :]


def remove(text: str, path: Sequence[str]) -> str:
    """Returns the text without the member at the path; unchanged when there is none."""
    node: Node | None = _parsed(text)
    for name in path[:-1]:
        node = node.member(name) if node is not None else None
    if node is None or not node.members:
        return text
    keys = [key for key, _, _ in node.members]
    if path[-1] not in keys:
        return text
    place = len(keys) - 1 - keys[::-1].index(path[-1])
    _, start, gone = node.members[place]
    end = gone.end
    after = _skipped(text, end)
    if after < len(text) and text[after] == ",":
        end = after + 1
    elif place > 0:  # the last one: the comma before it goes with it
        start = node.members[place - 1][2].end
        return text[:start] + text[end:]
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():  # alone on its line: the line goes too
        rest = re.compile(r"[ \t]*\r?\n").match(text, end)
        return text[:line] + text[rest.end() :] if rest else text[:start] + text[end:]
    return text[:start] + text[end:].lstrip(" ")


def _inserted(text: str, node: Node, name: str, value: object, unit: str) -> str:
    outer = _indent_at(text, node.start)
    newline = "\r\n" if "\r\n" in text else "\n"
    if not node.members:
        kept = text[node.start + 1 : node.end - 1].rstrip()  # a comment, perhaps
        body = f"\n{outer}{unit}{_member(name, value, outer + unit, unit)}\n{outer}".replace("\n", newline)
        return text[: node.start + 1] + kept + body + text[node.end - 1 :]
    last = node.members[-1][2]
    if "\n" not in text[node.start : node.end]:
        return text[: last.end] + f", {_member(name, value, outer, unit)}".replace("\n", newline) + text[last.end :]
    indent = _indent_at(text, node.members[0][1])
    after = _skipped(text, last.end)
    has_comma = text[after : after + 1] == ","
    # A comment behind the last value stays on its line, and so does a comma that is already there.
    comma_end = after + 1 if has_comma else last.end
    rest = _REST_OF_LINE.match(text, comma_end)
    line_end = rest.end() if rest else comma_end
    member = f"\n{indent}{_member(name, value, indent, unit)}{',' * has_comma}".replace("\n", newline)
    return text[: last.end] + "," * (not has_comma) + text[last.end : line_end] + member + text[line_end:]


def _member(name: str, value: object, indent: str, unit: str) -> str:
    return f"{msgspec.json.encode(name).decode()}: {_pretty(value, indent, unit)}"


def _nested(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _pretty(value: object, indent: str, unit: str = "  ") -> str:
    """JSON in the file's own indentation; short lists stay on one line."""
    if isinstance(value, dict) and value:
        inner = indent + unit
        table = cast("dict[str, object]", value)
        members = [f"{inner}{_member(key, item, inner, unit)}" for key, item in table.items()]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list):
        return "[" + ", ".join(_pretty(item, indent, unit) for item in cast("list[object]", value)) + "]"
    return msgspec.json.encode(value).decode()


def _unit(text: str, root: Node) -> str:
    if root.members:
        indent = _indent_at(text, root.members[0][1])
        if indent:
            return indent
    return "  "


def _indent_at(text: str, place: int) -> str:
    """Returns the white space at the beginning of the line that holds this place."""
    line = text.rfind("\n", 0, place) + 1
    return text[line : line + len(text[line:place]) - len(text[line:place].lstrip(" \t"))]


def _parsed(text: str) -> Node:
    start = _skipped(text, 1 if text.startswith("\ufeff") else 0)
    if start == len(text):
        return Node(start, start, {}, ())
    node = _value(text, start, 0)
    if _skipped(text, node.end) != len(text):
        raise _fault(text, node.end, "something follows the value")
    return node


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise _fault(text, at, "it is nested too deeply")
    if text[at : at + 1] == "{":
        return _object(text, at, depth)
    if text[at : at + 1] == "[":
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _fault(text, at, "a value is missing")
    return Node(at, found.end(), _decoded(text, at, found.group()))


def _decoded(text: str, at: int, word: str) -> Any:
    try:
        return msgspec.json.decode(word)
    except UNREADABLE as error:
        for half in _HALF.finditer(word):
            if half["lone"]:
                raise _fault(text, at + half.start(), f"{half['lone']} is a lone half of a surrogate pair") from None
        raise _fault(text, at, str(error)) from None


def _object(text: str, at: int, depth: int) -> Node:
    members: list[tuple[str, int, Node]] = []
    place = _skipped(text, at + 1)
    while text[place : place + 1] != "}":
        name = _STRING.match(text, place)
        if name is None:
            raise _fault(text, place, "a key is missing")
        colon = _skipped(text, name.end())
        if text[colon : colon + 1] != ":":
            raise _fault(text, colon, "a colon is missing")
        node = _value(text, _skipped(text, colon + 1), depth + 1)
        members.append((_decoded(text, place, name.group()), place, node))
        place = _separated(text, node.end, "}")
    return Node(at, place + 1, {key: node.value for key, _, node in members}, tuple(members))


def _array(text: str, at: int, depth: int) -> Node:
    values: list[Any] = []
    place = _skipped(text, at + 1)
    while text[place : place + 1] != "]":
        node = _value(text, place, depth + 1)
        values.append(node.value)
        place = _separated(text, node.end, "]")
    return Node(at, place + 1, values)


def _separated(text: str, at: int, closing: str) -> int:
    place = _skipped(text, at)
    if text[place : place + 1] == ",":
        return _skipped(text, place + 1)
    if text[place : place + 1] != closing:
        raise _fault(text, place, f"a comma or {closing} is missing")
    return place


def _skipped(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _fault(text: str, at: int, what: str) -> NotJson:
    line = text.count("\n", 0, at) + 1
    return NotJson(f"{what} (line {line}, column {at - text.rfind(chr(10), 0, at)})")
