"""How a script is called, for whoever asks it."""

from __future__ import annotations

import sys


def wants_usage() -> bool:
    """Returns whether the command line asks how the script is called."""
    return not {"-h", "--help"}.isdisjoint(sys.argv[1:])


def show_usage(text: str | None) -> None:
    """Print what a script says of itself, and end, where that is asked for."""
    if wants_usage():
        print((text or "").strip())
        sys.exit(0)
