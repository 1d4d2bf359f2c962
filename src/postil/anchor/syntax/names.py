"""What a named thing of a text is called in words, for who has no text to read: no grammar is loaded for it."""

from __future__ import annotations

FUNCTIONS = frozenset({"function", "method", "constructor"})


def say_name(name: str, kind: str) -> str:
    """Returns `validatePassword()`, `AuthService class`."""
    return f"{name}()" if kind in FUNCTIONS else f"{name} {kind}"
