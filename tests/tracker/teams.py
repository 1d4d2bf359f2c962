"""Clones that share a remote."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.tracker.groups import Tracker
from tests.tracker.programs import answered

ANN = ("--display-name", "Ann", "--email", "ann@example.org")


def author_of_a_new_issue(where: Path, *words: str) -> str:
    id_ = answered(where, *words, "create", "issue", "T")["id"]
    return answered(where, "log", id_)["events"][0]["author"]


def list_titles(where: Path) -> list[str]:
    return sorted(item.title for item in Tracker(where).list("issue", includeClosed=True).items)


MILE = [sys.executable, "-c", "import sys; from postil.surfaces.shell.main import git_mile as run; sys.exit(run())"]


def present(where: Path) -> set[str]:
    return {item.id for item in Tracker(where).list("issue", limit=1000).items}
