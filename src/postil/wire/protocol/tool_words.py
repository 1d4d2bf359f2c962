"""Advice in the words of whoever reads it: a model is told the name of a tool where a person is told a command.

Parts write advice once, as people type it (`` `postil status` ``). What no tool can do stays a command: it is for
the person.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_COMMAND = re.compile(r"`(?:postil|git(?= mile )) ([a-z][a-z -]*?)((?: [A-Z][A-Z_.-]*)*)`")


def say_tools(text: str, tool_for: Callable[[str], str]) -> str:
    """Returns a text in which commands that are tools here are called by the tools' names."""

    def replace(found: re.Match[str]) -> str:
        name = tool_for(found[1])
        return f"`{name}`" if name else found[0]

    return _COMMAND.sub(replace, text) if "`" in text else text
