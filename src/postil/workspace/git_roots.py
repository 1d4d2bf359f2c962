"""The one search for `.git`. Imports nothing but os, because commands that must start fast use it too."""

from __future__ import annotations

import os
from collections.abc import Iterator


def find_git_roots(folder: str) -> Iterator[str]:
    """Yield the folder and those above it that hold an entry `.git`, the nearest first. `folder` is a real path."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
