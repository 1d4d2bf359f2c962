"""One person at the board: what is chosen, and what each key does. Reads and writes issues, but no terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from postil.core.failure import Failure
from postil.core.others.visible import harmless
from postil.tracker.board.drawing import HELP, View, draw_board, draw_text, wrap
from postil.tracker.board.lanes import By, Lane, read_lanes
from postil.tracker.board.moves import move_card
from postil.tracker.shell.tables import ShownInFull

if TYPE_CHECKING:
    from postil.tracker.issues import Issues

_WAYS: tuple[By, ...] = ("status", "label", "milestone")


class Visit:
    """One person at the board: what is chosen, and what each key does."""

    def __init__(
        self, issues: Issues, lanes: list[Lane], by: By, names: tuple[str, ...], filter_: str, colors: bool
    ) -> None:
        self._issues, self._lanes, self._colors = issues, lanes, colors
        self._by: By = by
        self._names, self._filter = names, filter_
        self._lane = next((at for at, lane in enumerate(lanes) if lane.cards), 0)
        self._card = 0
        self._said = ""
        self._moves: list[tuple[By, str, str, str]] = []
        """What can be undone: by what, which card, from where, to where."""
        self._typing: str | None = None
        self._text: str | None = None
        self._top = 0
        self.over = False

    # Drawing

    def draw(self, width: int, height: int) -> list[str]:
        """Returns the lines of the screen."""
        if self._text is not None:
            return draw_text(self._text, self._top, width, height, "↑↓ scroll   q back")
        foot = f"/{self._typing}█" if self._typing is not None else self._said or "? help   q quit"
        shown = f"  {self._filter}" if self._filter else ""
        view = View(self._lanes, self._lane, self._card, f"Issues by {self._by}{shown}", harmless(foot), self._colors)
        return draw_board(view, width, height)

    def tell(self, text: str) -> None:
        """Say something in the last line."""
        self._said = " ".join(text.split())

    # Keys

    def press(self, key: str, size: tuple[int, int]) -> None:
        """Do what a key means."""
        if self._typing is not None:
            self._type(key)
        elif self._text is not None:
            self._scroll(key, size)
        else:
            self._said = ""
            act = _KEYS.get(key)
            if act is not None:
                act(self)
            else:
                self._said = f"No key {harmless(key)}: ? lists them"

    def _type(self, key: str) -> None:
        assert self._typing is not None
        if key == "enter":
            before, self._filter, self._typing = self._filter, self._typing.strip(), None
            if not self.look():
                self._filter = before
        elif key in ("escape", "ctrl-c"):
            self._typing = None
        elif key == "backspace":
            self._typing = self._typing[:-1]
        elif key == "ctrl-u":
            self._typing = ""
        elif len(key) == 1 and len(self._typing) < 1000:
            self._typing += key

    def _scroll(self, key: str, size: tuple[int, int]) -> None:

        assert self._text is not None
        page = max(1, size[1] - 2)
        last = max(0, len(wrap(self._text, size[0])) - page)
        steps = {"down": 1, "j": 1, "enter": 1, "up": -1, "k": -1, " ": page, "page-down": page, "page-up": -page}
        if key in steps:
            self._top = min(last, max(0, self._top + steps[key]))
        elif key in ("home", "g", "end", "G"):
            self._top = 0 if key in ("home", "g") else last
        elif key in ("q", "escape", "ctrl-c", "?", "left", "h"):
            self._text = None

    def choose(self, lanes: int = 0, cards: int = 0) -> None:
        """Choose another column or card, as far as there are any."""
        self._lane = min(max(0, self._lane + lanes), max(0, len(self._lanes) - 1))
        count = len(self._lanes[self._lane].cards) if self._lanes else 0
        self._card = min(max(0, self._card + cards), max(0, count - 1))

    def move(self, step: int) -> None:
        """Move the chosen card to the column on one side."""
        target = self._lane + step
        id_ = self._chosen()
        if id_ is None or not 0 <= target < len(self._lanes):
            self._said = "There is no card to move" if id_ is None else "There is no column on that side"
            return
        source, to = self._lanes[self._lane], self._lanes[target]
        if self._write(id_, source, to):
            self._moves.append((self._by, id_, source.key, to.key))
            self._follow(id_)
            self._said = f"Moved to {to.head}; u undoes it"

    def undo(self) -> None:
        """Take back the last move of this visit."""
        by, id_, source, target = self._moves.pop() if self._moves else ("status", "", "", "")
        lanes = {lane.key: lane for lane in self._lanes}
        if not id_ or by != self._by or source not in lanes or target not in lanes:
            self._said = "There is nothing to undo here"
        elif self._write(id_, lanes[target], lanes[source]):
            self._follow(id_)
            self._said = f"Back in {lanes[source].head}"

    def _write(self, id_: str, source: Lane, target: Lane) -> bool:

        try:
            move_card(self._issues, self._by, id_, source, target)
        except Failure as failure:
            self.look()
            self.tell(f"{failure.message}. {failure.advice}")
            return False
        return self.look()

    def _follow(self, id_: str) -> None:
        """Choose a card wherever it is now."""
        for at, lane in enumerate(self._lanes):
            for number, card in enumerate(lane.cards):
                if card.id == id_:
                    self._lane, self._card = at, number

    def read(self) -> None:
        """Show the chosen issue in full."""
        id_ = self._chosen()
        if id_ is None:
            return

        try:
            entity = self._issues.find(id_)
        except Failure as failure:
            self._said = failure.message
            return
        store = self._issues.store
        milestone = store.entity(entity.milestone) if entity.milestone else None
        shown = self._issues.show(entity, 100)
        text = ShownInFull(shown, milestone.title if milestone else "", store.now()).for_person()
        self._text, self._top = harmless(text), 0

    def help(self) -> None:
        """Show what the keys do."""
        self._text, self._top = "\n".join(HELP), 0

    def change_way(self) -> None:
        """Make the columns of something else."""
        self._by, self._names = _WAYS[(_WAYS.index(self._by) + 1) % len(_WAYS)], ()
        self._lane = self._card = 0
        self.look()
        self._lane = next((at for at, lane in enumerate(self._lanes) if lane.cards), 0)

    def ask_filter(self) -> None:
        """Let the person type a filter."""
        self._typing = self._filter

    def quit(self) -> None:
        """End the visit."""
        self.over = True

    # What there is

    def _chosen(self) -> str | None:
        cards = self._lanes[self._lane].cards if self._lanes else ()
        return cards[self._card].id if self._card < len(cards) else None

    def look(self) -> bool:
        """Read the columns again; the chosen card stays chosen. Returns whether that was possible."""
        id_ = self._chosen()
        try:
            self._lanes = read_lanes(self._issues, self._by, self._names, self._filter)
        except Failure as failure:
            self.tell(f"{failure.message}. {failure.advice}")
            return False
        self.choose()
        if id_ is not None and self._chosen() != id_:
            self._follow(id_)
        return True

    def list_folders(self) -> list[str]:
        """Returns where git changes something when anybody writes an issue or fetches some."""
        top = self._issues.store.repository.common_dir
        found = [top, os.path.join(top, "refs")]
        for start in ("refs/postil", "refs/heads/postil", "refs/remotes"):
            found += [where for where, _, _ in os.walk(os.path.join(top, start))]
        return [folder for folder in found if os.path.isdir(folder)]


_KEYS: dict[str, Callable[[Visit], object]] = {
    **dict.fromkeys(("left", "h"), lambda visit: visit.choose(lanes=-1)),
    **dict.fromkeys(("right", "l", "tab"), lambda visit: visit.choose(lanes=1)),
    **dict.fromkeys(("up", "k"), lambda visit: visit.choose(cards=-1)),
    **dict.fromkeys(("down", "j"), lambda visit: visit.choose(cards=1)),
    "page-up": lambda visit: visit.choose(cards=-10),
    "page-down": lambda visit: visit.choose(cards=10),
    **dict.fromkeys(("home", "g"), lambda visit: visit.choose(cards=-1000)),
    **dict.fromkeys(("end", "G"), lambda visit: visit.choose(cards=1000)),
    **dict.fromkeys(("<", "H", "shift-left"), lambda visit: visit.move(-1)),
    **dict.fromkeys((">", "L", "shift-right"), lambda visit: visit.move(1)),
    "enter": Visit.read,
    "/": Visit.ask_filter,
    "b": Visit.change_way,
    "u": Visit.undo,
    "r": Visit.look,
    "?": Visit.help,
    **dict.fromkeys(("q", "escape", "ctrl-c", "ctrl-d"), Visit.quit),
}
