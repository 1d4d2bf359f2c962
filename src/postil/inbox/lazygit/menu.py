"""The menu of places in lazygit: the line under the cursor where the screen can be read, then every changed block."""

from __future__ import annotations

from postil.core.failure import Failure
from postil.inbox.capture import locate_file, read_diff, resolve_commit
from postil.inbox.diff import Hunk
from postil.inbox.model import Context
from postil.workspace.repository import Repository

MOST_PLACES = 200
LONGEST_LABEL = 120
WHOLE = ("file", "the whole file")


def list_places(
    repository: Repository, cwd: str, file: str, context: Context, commit: str, in_tmux: bool
) -> tuple[tuple[str, str], ...]:
    """Returns lines and labels to choose from. There is always the whole file, so that the menu is never empty."""
    try:
        named = resolve_commit(repository, commit) if commit else ""
        hunks = read_diff(repository, locate_file(repository, cwd, file), context, named)
    except Failure:
        return (WHOLE,)
    listed = [(line, _format_label(shown.sign + shown.text)) for hunk in hunks for line, shown in hunk.changed_blocks()]
    under_cursor = (
        _find_under_cursor(hunks) if in_tmux and context in ("staging", "stagingSecondary", "patchBuilding") else []
    )
    others = [place for place in listed[:MOST_PLACES] if place[0] not in {line for line, _ in under_cursor}]
    return (*under_cursor, *others, WHOLE)


def _find_under_cursor(hunks: list[Hunk]) -> list[tuple[str, str]]:
    from postil.inbox.lazygit.screen import capture_pane, find_selection  # only inside tmux

    found = find_selection(capture_pane(), hunks)
    return [] if found is None else [(found[0], _format_label(f"selected: {found[1]}"))]


def _format_label(text: str) -> str:
    """Returns one line for a menu; lazygit splits at the first bar, so later ones may stay."""
    flat = " ".join(text.split("\t")).rstrip()
    return (flat[: LONGEST_LABEL - 1] + "…" if len(flat) > LONGEST_LABEL else flat) or "(empty line)"
