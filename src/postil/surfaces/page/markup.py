"""Building HTML out of values: whatever is not `Html` is escaped. No other module makes `Html` out of text.

`tag("p", "a < b", class_="note")` is `<p class="note">a &lt; b</p>`. Children may be text, numbers, `Html`, lists of
them, or None, which is nothing. An attribute that is None or False is left out, one that is True has no value.

What hides in text, or turns its direction around, is made visible here for all views: others wrote the titles, names
and words that are shown. What goes back in a form stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from postil.core.others.untrusted import split_hidden

_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\0": "\ufffd"})
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
_WITHOUT = frozenset({"script", "style", "iframe", "object", "embed", "base"})
"""Elements whose content is no text, or that bring a foreign page: the layout alone has a script, which has no text."""
_SAID = frozenset({"title", "alt", "placeholder", "aria-label"})
"""Attributes that are read to people; the others are for programs."""
_WORDS = frozenset({"title", "option"})
"""Elements that hold text and no elements."""
_TYPED = "textarea"
_ADDRESSES = frozenset({"href", "src", "action", "formaction"})
_names: dict[str, str] = {}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Child: TypeAlias = "str | int | float | Html | Iterable[Child] | None"
Value: TypeAlias = str | int | bool | None
NOTHING = Html("")


def tag(name: str, /, *children: Child, **attributes: Value) -> Html:
    """Returns an element. Attribute names are written with `_` for `-`, and a last one where Python needs it."""
    if name in _WITHOUT:
        raise ValueError(f"<{name}> is not built of values")
    opened = f"<{name}{_write_attributes(attributes)}>" if attributes else f"<{name}>"
    if name in _VOID:
        return Html(opened)
    write = _escape
    if name in _WORDS or name == _TYPED:
        write = _escape_typed if name == _TYPED else _spell
    if len(children) == 1 and type(children[0]) is str:
        return Html(f"{opened}{write(children[0])}</{name}>")
    pieces = [opened]
    _collect(children, pieces, write)
    pieces.append(f"</{name}>")
    return Html("".join(pieces))


def join(*children: Child) -> Html:
    """Returns several children as one."""
    pieces: list[str] = []
    _collect(children, pieces, _escape)
    return Html("".join(pieces))


def link_script(address: str) -> Html:
    """Returns the element of a script of our own."""
    return Html(f'<script src="{_check_address(address).translate(_ESCAPED)}" defer></script>')


def document(head: Html, body: Html, language: str = "en") -> bytes:
    """Returns a whole page."""
    return f'<!doctype html>\n<html lang="{language}"><head>{head}</head>{body}</html>\n'.encode(
        "utf-8", "backslashreplace"
    )


def _escape(text: str) -> str:
    """Returns text as HTML; each hiding character stands alone in an element that bears its number."""
    if text.isascii() and text.isprintable():
        return text.translate(_ESCAPED)
    return "".join(
        seen.translate(_ESCAPED)
        + "".join(f'<span class="odd" data-code="{ord(sign):04X}">{sign.translate(_ESCAPED)}</span>' for sign in hidden)
        for seen, hidden in split_hidden(text)
    )


def _escape_typed(text: str) -> str:
    """Returns text that a person may edit and send back: as it is."""
    return text.translate(_ESCAPED)


def _spell(text: str) -> str:
    """Returns text where no element can stand: the number stands in the place of a hiding character."""
    if text.isascii() and text.isprintable():
        return text.translate(_ESCAPED)
    spelled = (seen + "".join(f"[U+{ord(sign):04X}]" for sign in hidden) for seen, hidden in split_hidden(text))
    return "".join(spelled).translate(_ESCAPED)


def _collect(children: Iterable[Child], pieces: list[str], write: Callable[[str], str]) -> None:
    for child in children:
        if type(child) is Html:
            pieces.append(child)
        elif isinstance(child, str):
            pieces.append(write(child))
        elif child is None:
            continue
        elif isinstance(child, int | float):
            pieces.append(str(child))
        else:
            _collect(child, pieces, write)


def _write_attributes(attributes: dict[str, Value]) -> str:
    written: list[str] = []
    for given, value in attributes.items():
        if value is None or value is False:
            continue
        name = _names.get(given) or _name(given)
        if value is True:
            written.append(f" {name}")
            continue
        text = value if isinstance(value, str) else str(value)
        if name in _ADDRESSES:
            text = _check_address(text)
        written.append(f' {name}="{_spell(text) if name in _SAID else text.translate(_ESCAPED)}"')
    return "".join(written)


def _name(given: str) -> str:
    """Returns an attribute's name. What a browser would run, or what styles by itself, is no attribute of ours."""
    name = given.rstrip("_").replace("_", "-")
    if not _NAME.fullmatch(name) or name.startswith("on") or name in ("style", "srcdoc"):
        raise ValueError(f"{given} is no attribute that may be written")
    _names[given] = name
    return name


def _check_address(address: str) -> str:
    """Returns an address that leads to a page: of ours, or by HTTP to another place. Any other leads nowhere."""
    # Browsers drop white space and control characters inside of a scheme, so such an address is none.
    if any(ord(char) <= 32 for char in address):
        return "#"
    if address.startswith(("/", "#", "?")):
        return "#" if address.startswith(("//", "/\\")) else address
    return address if address.lower().startswith(("https://", "http://")) else "#"
