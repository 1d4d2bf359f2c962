"""How tests look at answers: as direct JSON-RPC gives them, and as a model reads them."""

from __future__ import annotations

from typing import Any, cast

import msgspec


def direct(answer: object) -> dict[str, Any]:
    """The answer of a direct method."""
    plain = getattr(answer, "direct", None)
    return cast(dict[str, Any], msgspec.to_builtins(plain() if plain else answer))


def structured(answer: object) -> dict[str, Any]:
    """The structured content of tools/call."""
    return cast(dict[str, Any], msgspec.to_builtins(answer))


def text(answer: object) -> str:
    """What a model reads."""
    return cast(str, getattr(answer, "text")())  # noqa: B009 - results are duck-typed on the wire too
