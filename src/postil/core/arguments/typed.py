"""Words of others in a command that a person may copy: one word each, and none of them an option."""

from __future__ import annotations


def type_words(*words: str) -> str:
    """Returns words as they are typed behind a command's own."""
    from shlex import quote  # few answers tell a command

    before = "-- " if any(word.startswith("-") for word in words) else ""
    return before + " ".join(map(quote, words))
