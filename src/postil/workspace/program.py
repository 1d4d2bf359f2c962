"""The paths of programs: of the running `postil`, which others are told to start, and of those that we start."""

from __future__ import annotations

import os
import sys


def find_own_program() -> str:
    """Returns the absolute path of the `postil` that is running: graphical hosts have an almost empty PATH."""
    named = os.path.abspath(sys.argv[0])
    if os.path.basename(named) == "postil" and os.access(named, os.X_OK):
        return named
    return os.path.join(os.path.dirname(sys.executable), "postil")


def find_program(name: str) -> str:
    """Returns the absolute path of a program on PATH, or an empty text.

    Folders that PATH names relative to where we stand are left out: there a clone could put a program of its own.
    """
    if os.sep in name:
        return os.path.abspath(name)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""
