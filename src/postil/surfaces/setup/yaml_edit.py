"""An entry in a YAML file, put in and taken out by lines: everything else, comments too, stays as it is.

Only what Goose writes is understood: block style, our entry under one top-level key. Anything else is refused.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from postil.settings.decoding import decode_yaml


def get(text: str, keys: tuple[str, ...]) -> object:
    """Returns what stands under these keys; None when it is not there. Raises ValueError for what is no YAML."""
    found: Any = decode_yaml(text)
    if found is not None and not isinstance(found, dict):
        raise ValueError("it is no mapping")
    for key in keys:
        found = cast("dict[str, object]", found).get(key) if isinstance(found, dict) else None
    return cast(object, found)


def put(text: str, keys: tuple[str, str], entry: dict[str, Any]) -> str:
    """Returns the text with our entry in it, in the place of an older one."""
    if get(text, keys) == entry:
        return text
    text = remove(text, keys) if get(text, keys) is not None else text
    lines = text.splitlines()
    top, name = keys
    at = next((number for number, line in enumerate(lines) if re.fullmatch(rf"{top}:\s*(#.*)?(\{{\}})?\s*", line)), -1)
    held = decode_yaml(text)
    if held == {} and text.strip() == "{}":
        lines, held = [], None
    if at < 0 and isinstance(held, dict) and top in held:
        raise ValueError(f"{top} is not written as a block")
    if get(text, (top,)) is not None and not isinstance(get(text, (top,)), dict):
        raise ValueError(f"{top} is no mapping")
    if at < 0:
        at = next((number for number, line in enumerate(lines) if re.fullmatch(r"\.\.\.\s*(#.*)?", line)), len(lines))
        lines.insert(at, f"{top}:")
    lines[at] = lines[at].replace("{}", "").rstrip()
    indent = _indent_below(lines, at)
    block = [f"{indent}{name}:"]
    block += [f"{indent * 2}{key}: {msgspec.json.encode(value).decode()}" for key, value in entry.items()]
    lines[at + 1 : at + 1] = block
    return "\n".join(lines) + "\n"


def remove(text: str, keys: tuple[str, str]) -> str:
    """Returns the text without our entry; a key that becomes empty goes too."""
    lines = text.splitlines()
    top = next(number for number, line in enumerate(lines) if line.startswith(f"{keys[0]}:"))
    first = next(n for n in range(top + 1, len(lines)) if re.fullmatch(rf"\s+['\"]?{keys[1]}['\"]?:\s*", lines[n]))
    indent = len(lines[first]) - len(lines[first].lstrip())
    end = first + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
        end += 1
    while end > first + 1 and not lines[end - 1].strip():
        end -= 1
    del lines[first:end]
    if not any(line[:1] in (" ", "\t") for line in lines[top + 1 : top + 2]):
        del lines[top]
    left = "\n".join(lines) + "\n" if lines else ""
    if get(left, keys) is not None:
        raise ValueError(f"{'.'.join(keys)} cannot be taken out")
    return left


def _indent_below(lines: list[str], at: int) -> str:
    for line in lines[at + 1 :]:
        if line.strip() and not line.lstrip().startswith("#"):
            return line[: len(line) - len(line.lstrip())] or "  "
    return "  "
