"""The board for programs and pages: its columns with their first cards, and the move of a card to another column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from postil.core.answer import Answer
from postil.core.operation import reads, writes
from postil.tracker.board.lanes import IN_PROGRESS, By, Lane, read_lanes
from postil.tracker.board.moves import move_card
from postil.tracker.failures import InvalidParams
from postil.tracker.operations.arguments import Id

if TYPE_CHECKING:
    from postil.tracker.issues import Issues

MOST = 200
Ways = Annotated[By, Meta(description="what the columns are")]


class Card(Struct, frozen=True):
    """An issue on the board."""

    id: str
    short: str
    title: str
    facts: str


class Column(Struct, frozen=True):
    """A column: its key, its head, how many cards it has and the first of them."""

    key: str
    head: str
    total: int
    cards: list[Card]


class Columns(Answer, frozen=True):
    """The columns of the board."""

    by: str
    columns: list[Column]

    def for_model(self) -> str:
        """A column a paragraph, a card a line."""
        return self.for_person()

    def for_person(self) -> str:
        """A column a paragraph, a card a line."""
        lines: list[str] = []
        for column in self.columns:
            lines.append(f"{column.head} ({column.total})")
            lines += [f"  {card.short} {card.title}{'  · ' * bool(card.facts)}{card.facts}" for card in column.cards]
            if column.total > len(column.cards):
                lines.append(f"  … {column.total - len(column.cards)} more: --cards shows up to {MOST}")
        return "\n".join(lines)


class CardMoved(Answer, frozen=True):
    """Where a card stands now."""

    id: str
    column: str

    def for_person(self) -> str:
        """One sentence."""
        return f"Moved {self.id} to {self.column}"


class Cards:
    """`postil issue columns`, `postil issue move`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @reads("issue_columns", toolset="extra", shell="issue columns")
    def list_columns(
        self,
        by: Ways = "status",
        column: Annotated[tuple[str, ...], Meta(description="only these, in this order")] = (),
        filter: Annotated[str, Meta(description="as for list")] = "",
        cards: Annotated[int, Meta(ge=0, le=MOST, description="how many of each column")] = 20,
    ) -> Columns:
        """The board: issues in columns by status, label or milestone; open and claimed ones stand under in progress"""
        return Columns(by, [_make_column(lane) for lane in read_lanes(self._issues, by, column, filter, cards)])

    @writes("issue_move", toolset="extra", shell="issue move", positional=("id", "to"), thing="id")
    def move(
        self,
        id: Id,
        to: Annotated[str, Meta(description="the key of the column; empty for the one of the others", max_length=200)],
        by: Ways = "status",
        source: Annotated[str, Meta(description="the label whose column it leaves", max_length=200)] = "",
    ) -> CardMoved:
        """Move a card of the board: sets the status, claims or releases it, exchanges the label or the milestone"""
        self._issues.refresh()
        found = self._issues.find(id, "issue")
        lanes = {lane.key: lane for lane in read_lanes(self._issues, by, tuple(filter(None, (to, source))))}
        target = lanes.get(to)
        if target is None:
            known = ", ".join(lane.key for lane in read_lanes(self._issues, by) if lane.key)
            raise InvalidParams(f"There is no column `{to[:64]}`", advice=f"There are {known}")
        move_card(self._issues, by, found.id, self._find_source(found.id, by, source), target)
        return CardMoved(found.id, target.head)

    def _find_source(self, id_: str, by: By, named: str) -> Lane:
        """Returns the column that a card leaves."""
        if by == "status":
            held = read_lanes(self._issues, "status", (IN_PROGRESS,), f"id:{id_}")
            named = IN_PROGRESS if held[0].total else ""
        return Lane(named, named, (), 0)


def _make_column(lane: Lane) -> Column:
    first = [Card(card.id, card.short, card.title, card.facts) for card in lane.cards]
    return Column(lane.key, lane.head, lane.total, first)
