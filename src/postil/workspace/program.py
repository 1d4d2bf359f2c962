"""The path of the running `postil`: what other programs are told to start."""

from __future__ import annotations

import os
import sys


def find_own_program() -> str:
    """Returns the absolute path of the `postil` that is running: graphical hosts have an almost empty PATH."""
    named = os.path.abspath(sys.argv[0])
    if os.path.basename(named) == "postil" and os.access(named, os.X_OK):
        return named
    return os.path.join(os.path.dirname(sys.executable), "postil")
