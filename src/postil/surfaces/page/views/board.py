"""The board: issues as cards in columns by status, label or milestone; moved by dragging, by keys or by a form."""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec import Struct

from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.issue_facts import issue_link, places
from postil.surfaces.page.visit import Moved, Shown, Visit

CARDS = 25
WAYS = ("status", "label", "milestone")


class Card(Struct, frozen=True):
    """An issue on the board."""

    id: str
    short: str
    title: str
    facts: str


class Column(Struct, frozen=True):
    """A column with its first cards."""

    key: str
    head: str
    total: int
    cards: tuple[Card, ...]


class Columns(Struct, frozen=True):
    """What `issue_columns` answers."""

    by: str
    columns: tuple[Column, ...]


async def show_board(visit: Visit) -> Shown:
    """Show the columns."""
    by = visit.query.get("by", "status")
    words = visit.query.get("q", "")
    found = await visit.call("issue_columns", Columns, by=by, filter=words, cards=CARDS, **_only(visit.every("column")))
    moves = visit.offers("issue_move")
    body = tag(
        "section",
        tag("h1", "Board"),
        places("/board"),
        _choose(by, words),
        tag("div", [_column(visit, found, column, moves=moves) for column in found.columns], class_="board"),
        id="board",
        data_live="issues",
    )
    return Shown("Board", body, "issues")


def _only(names: list[str]) -> dict[str, list[str]]:
    return {"column": names} if names else {}


def _choose(by: str, words: str) -> Html:
    links = [
        tag(
            "a",
            way,
            href="/board?" + urlencode({"by": way, **({"q": words} if words else {})}),
            aria_current="true" if way == by else None,
        )
        for way in WAYS
    ]
    form = tag(
        "form",
        tag("input", type="hidden", name="by", value=by),
        tag("label", tag("span", "Filter"), tag("input", name="q", value=words, type="search")),
        tag("button", "Show"),
        method="get",
        action="/board",
        class_="filter",
        role="search",
    )
    return tag("div", tag("p", "Columns by ", links, class_="filters"), form, class_="bar")


def _column(visit: Visit, board: Columns, column: Column, *, moves: bool) -> Html:
    left = column.total - len(column.cards)
    return tag(
        "section",
        tag("h2", column.head, " ", tag("span", column.total, class_="quiet")),
        [_card(visit, board, column, card, moves=moves) for card in column.cards],
        tag("p", f"{left} more: filter to see them", class_="quiet") if left > 0 else None,
        tag("p", "Nothing here", class_="quiet") if not column.cards else None,
        class_="column",
        id=f"column-{column.key or 'others'}",
        data_column=column.key,
        aria_label=column.head,
    )


def _card(visit: Visit, board: Columns, column: Column, card: Card, *, moves: bool) -> Html:
    return tag(
        "article",
        issue_link(card.id, card.title),
        tag("p", card.short, " \u00b7 " if card.facts else "", card.facts, class_="quiet"),
        _move_form(visit, board, column, card) if moves else None,
        class_="card",
        id=f"card-{card.id}-{column.key}" if board.by == "label" else f"card-{card.id}",
        data_stop="card",
        draggable="true" if moves else None,
        tabindex="-1",
    )


def _move_form(visit: Visit, board: Columns, column: Column, card: Card) -> Html:
    options = [tag("option", each.head, value=each.key, selected=each.key == column.key) for each in board.columns]
    return tag(
        "form",
        visit.form_token(),
        tag("input", type="hidden", name="id", value=card.id),
        tag("input", type="hidden", name="by", value=board.by),
        tag("input", type="hidden", name="source", value=column.key),
        tag("select", options, name="to", aria_label=f"Column of {card.title}"),
        tag("button", "Move", class_="quiet"),
        method="post",
        action="/board/move",
        class_="move",
    )


async def move(visit: Visit) -> Moved:
    """Move a card to another column."""
    form = visit.form
    by, to, source = form.get("by", "status"), form.get("to", ""), form.get("source", "")
    more = {"source": source} if by == "label" else {}
    await visit.act("issue_move", id=form.get("id", ""), to=to, by=by, **more)
    return Moved(f"/board?by={by}", f"Moved to {to or 'the others'}")


ROUTES = (
    Route("GET", "/board", show_board),
    Route("POST", "/board/move", move),
)
