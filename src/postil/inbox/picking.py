"""The menu of places in lazygit: the line under the cursor where the screen can be read, then every changed block."""

from __future__ import annotations

from postil.core.failure import Failure
from postil.inbox.capture import diff_of, inside_of
from postil.inbox.diff import Hunk
from postil.inbox.model import Context
from postil.workspace.repository import Repository

MOST_PLACES = 200
LONGEST_LABEL = 120
WHOLE = ("file", "the whole file")


def places(
    repository: Repository, cwd: str, file: str, context: Context, commit: str, in_tmux: bool
) -> tuple[tuple[str, str], ...]:
    """Lines and labels to choose from. There is always the whole file, so that the menu is never empty."""
    try:
        hunks = diff_of(repository, inside_of(repository, cwd, file), context, commit)
    except Failure:
        return (WHOLE,)
    listed = [(line, _label(shown.sign + shown.text)) for hunk in hunks for line, shown in hunk.changed_blocks()]
    under_cursor = (
        _under_cursor(hunks) if in_tmux and context in ("staging", "stagingSecondary", "patchBuilding") else []
    )
    others = [place for place in listed[:MOST_PLACES] if place[0] not in {line for line, _ in under_cursor}]
    return (*under_cursor, *others, WHOLE)


def _under_cursor(hunks: list[Hunk]) -> list[tuple[str, str]]:
    from postil.inbox.screen import capture_pane, selected_line  # only inside tmux

    found = selected_line(capture_pane(), hunks)
    return [] if found is None else [(found[0], _label(f"selected: {found[1]}"))]


def _label(text: str) -> str:
    """One line for a menu; lazygit splits at the first bar, so later ones may stay."""
    flat = " ".join(text.split("\t")).rstrip()
    return (flat[: LONGEST_LABEL - 1] + "…" if len(flat) > LONGEST_LABEL else flat) or "(empty line)"
