"""What the person at the terminal is told while something is measured."""

from __future__ import annotations

import sys


def say(what: str) -> None:
    """Say what is measured now."""
    print(f"bench: {what}", file=sys.stderr, flush=True)
