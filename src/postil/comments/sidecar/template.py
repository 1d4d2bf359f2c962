"""Parameters of a text: `${name}` stands for a value the sidecar keeps, or for the name of the code as it is now. Pure.

The extension fills them in when it shows a comment; so do we. What is stored keeps the `${name}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from postil.comments.model import NewParam, Param, Place

FUNCTION, CLASS = "function.name", "class.name"
_NAMED = {"functionName": FUNCTION, "className": CLASS}
_IN_TEXT = re.compile(r"\$\{(\w{1,100})\}")
_TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "module", "type", "object"})


def new_params(text: str, path: tuple[str, ...], kind: str) -> dict[str, NewParam]:
    """Returns the parameters of a new text that speaks of `${functionName}` or `${className}`."""
    found: dict[str, NewParam] = {}
    for name in _IN_TEXT.findall(text):
        value = _name_now(_NAMED.get(name, ""), path, kind)
        if value:
            found[name] = NewParam(value, "dynamic", _NAMED[name])
    return found


def fill_template(text: str, params: Mapping[str, Param], place: Place) -> str:
    """Returns the text with its parameters filled in; a name of code is the one it has now."""
    if not params or "${" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        param = params.get(match[1])
        if param is None:
            return match[0]
        return _name_now(param.source, place.symbolPath, place.symbolKind) or param.value

    return _IN_TEXT.sub(value, text)


def _name_now(source: str, path: tuple[str, ...], kind: str) -> str:
    if not path or source not in (FUNCTION, CLASS):
        return ""
    is_type = kind.lower() in _TYPES
    if source == CLASS:
        return path[-1] if is_type else path[-2] if len(path) > 1 else ""
    return "" if is_type else path[-1]
