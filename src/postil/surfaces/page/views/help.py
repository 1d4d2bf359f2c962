"""Help: the keys, and what each view is for."""

from __future__ import annotations

from postil.surfaces.page.layout import PLACES
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.router import Route, has_path
from postil.surfaces.page.visit import Shown, Visit

KEYS = (
    ("?", "this help"),
    ("j and k, or the arrow keys", "next and previous line, message or row"),
    ("n and p", "next and previous file"),
    ("c", "write a remark about the line; with Shift and j or k before it, about several lines"),
    ("Ctrl Enter", "keep what you write as a draft, or send an answer"),
    ("Escape", "leave a form; what you typed stays"),
    ("o", "fold or unfold the file"),
    ("x", "mark the file as reviewed"),
    ("u", "side by side, or one below the other"),
    ("s", "send all drafts"),
    ("r, e, w", "in the inbox: reply, resolve or reopen, withdraw"),
    ("a, r, i, e", "comments: a new one about the line, reply, edit, resolve or reopen"),
    ("z", "undo what was just done to a comment"),
    ("a, i, e, w", "issues: a new one, edit, close or reopen, claim or release"),
    ("< and >", "on the board: move the card to the column on that side"),
    ("1 to 9, y, m, w", "comments in doubt: it belongs there, is right where it is, belongs elsewhere, delete it"),
    ("t", "dark or light"),
)


async def show(visit: Visit) -> Shown:
    """Show the keys."""
    rows = [
        *KEYS,
        *((f"g {one.key}", one.title) for one in PLACES if has_path(one.address) and visit.offers(one.needs)),
    ]
    body = tag("section", tag("h1", "Keys"), tag("table", [_row(*row) for row in rows], class_="keys"), id="keys")
    return Shown("Help", body)


def _row(keys: str, what: str) -> Html:
    return tag("tr", tag("th", tag("kbd", keys), scope="row"), tag("td", what))


ROUTES = (Route("GET", "/help", show),)
