"""The built-in part's context: what its groups ask the composition root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from postil.workspace.repository import Repository


class Workspace(NamedTuple):
    """The workspace as a whole."""

    find: Callable[[], Repository]
    """Returns the repository. Raises NoRepository."""
    parts: Callable[[], Sequence[str]]
    """Returns the names of the parts that are on."""
    glances: Callable[[], list[tuple[str, str]]]
    """Returns a line of each part that has one, with the part's name."""
    state_damage: Callable[[], tuple[str, list[str]]]
    """Returns where the state database is, and what is wrong with it."""
    git_settings: Callable[[], Mapping[str, str]] = dict
    """Returns the settings of git that `postil setup git` writes."""
