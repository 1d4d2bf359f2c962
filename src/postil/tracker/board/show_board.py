"""`postil board`: the issues as cards in columns, moved by keys, live while others write. For a terminal alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from postil.core import call
from postil.core.operation import writes
from postil.tracker.board.lanes import By, read_lanes
from postil.tracker.failures import InvalidParams

if TYPE_CHECKING:
    from postil.tracker.board.visit import Visit
    from postil.tracker.issues import Issues

_LOOK_AGAIN = 60.0
"""Seconds after which a claim may have ended though nobody wrote."""


class BoardCommands:
    """`postil board`, `git mile board`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes("issue_board", tool=False, shell="board")
    def board(
        self,
        by: Annotated[By, Meta(description="what the columns are")] = "status",
        column: Annotated[tuple[str, ...], Meta(description="only these, in this order")] = (),
        filter: Annotated[str, Meta(description="as for list")] = "",
    ) -> str:
        """Show the issues as a board of columns on the terminal; keys move the cards (? lists them)"""
        now = call.current()
        if not (now.interactive and now.columns):
            raise InvalidParams(
                "The board needs a terminal for its keys and its screen",
                advice="`git mile columns` prints the same, and `git mile move ID COLUMN` moves a card",
            )
        lanes = read_lanes(self._issues, by, column, filter)  # a mistake in the filter is told before the screen is
        from postil.tracker.board.visit import Visit  # not where there is no terminal

        visit = Visit(self._issues, lanes, by, column, filter, now.colors)
        quiet = _BoardCall(now.caller, visit.tell)
        call.enter(quiet)
        try:
            _show(visit)
        finally:
            call.enter(now)
            for what in quiet.damages:
                now.tell_damage(what)
        return ""


class _BoardCall(call.Call):
    """What is to be said stands in the last line of the board; damage is told once more when it is over."""

    def __init__(self, caller: call.Caller, tell: Callable[[str], None]) -> None:
        super().__init__(caller)
        self.person = True
        self.damages: dict[str, None] = {}
        self._tell = tell

    def log(self, level: call.Level, data: object, logger: str = "") -> None:
        """Show it in the last line."""
        self._tell(f"{level}: {data}")

    def tell_damage(self, what: str) -> None:
        """Remember it for the end."""
        self.damages[what] = None
        super().tell_damage(what)


def _show(visit: Visit) -> None:
    """Draw and answer keys until the person is done."""
    from postil.tracker.board.full_screen import Ended, Terminal
    from postil.workspace.watch import Watch

    with suppress(Ended, KeyboardInterrupt), Terminal() as terminal, Watch(visit.list_folders()) as watch:

        def changed() -> None:
            watch.changed()
            for folder in visit.list_folders():
                watch.add(folder)
            visit.look()

        visit.look()  # whatever was written before the watch began
        while not visit.over:
            terminal.draw(visit.draw(*terminal.size()))
            keys = terminal.wait(watch.fileno(), _LOOK_AGAIN, changed)
            if not keys:
                visit.look()
            for key in keys:
                if key == "ctrl-z":
                    terminal.suspend()
                elif key == "ctrl-l":
                    terminal.redraw()
                else:
                    visit.press(key, terminal.size())
