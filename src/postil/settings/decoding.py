"""TOML and YAML that somebody else may have written: what would cost a parser much is refused before it does.

A clone brings its own file, and every command reads it. Raises ValueError for whatever is not understood, in one line.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

DEEPEST = 32
"""Tables and lists inside one another; parts of a dotted key."""
LONGEST_WORD = 4096
"""Characters of a YAML value without quotes: reading one as a number takes quadratic time."""
LONGEST_REASON = 200
_PART = r"\.[ \t]*+(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+"
_DOTTED = re.compile(f"(?:{_PART}){{{DEEPEST}}}")


def decode_toml(text: str) -> object:
    """Returns what a TOML text says."""
    import tomllib

    try:
        if _DOTTED.search(text):
            raise ValueError(f"it has a key of more than {DEEPEST} parts")
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(_shorten(error)) from error


def decode_yaml(text: str) -> object:
    """Returns what a YAML text says; without anchors and aliases, which make much of little."""
    import yaml  # only those who write YAML pay for it

    try:
        return yaml.load(text, _bounded_loader())  # noqa: S506 - it is a safe loader
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(_shorten(error)) from error


def _shorten(error: Exception) -> str:
    said = " ".join(str(error).split())
    return said if len(said) <= LONGEST_REASON else f"{said[:LONGEST_REASON]}…"


@cache
def _bounded_loader() -> Any:
    import yaml

    class Bounded(yaml.SafeLoader):
        """A safe loader that follows nothing twice and goes no deeper than a settings file does."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = cast(Any, self).peek_event()
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise ValueError("it has anchors or aliases (& and *); write the value out, or put it into quotes")
            if isinstance(event, yaml.ScalarEvent) and event.style is None and len(event.value) > LONGEST_WORD:
                raise ValueError(f"it has a value of more than {LONGEST_WORD} characters without quotes")
            self.depth += 1
            if self.depth > DEEPEST:
                raise ValueError("it is nested too deeply")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    return Bounded
