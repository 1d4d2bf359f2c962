"""The inbox: every conversation with its state, its receipts and its answers; reply, resolve, reopen, withdraw."""

from __future__ import annotations

from msgspec import Struct

from postil.core.failure import NotFound
from postil.surfaces.page.layout import empty
from postil.surfaces.page.markup import Html, join, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.conversation import Message, Messages, show_thread
from postil.surfaces.page.views.requested.asked_review import read_requests, show_cue, show_requests
from postil.surfaces.page.visit import Moved, Shown, Visit

PAGE = 20


class Round(Struct, frozen=True, array_like=True):
    """A message, and what changed in its lines since it was sent."""

    message: Message
    change: str


class Rounds(Struct, frozen=True):
    """What `inbox_rounds` answers."""

    rounds: tuple[Round, ...]


async def list_messages(visit: Visit) -> Shown:
    """Show the conversations, the newest first."""
    shows_closed = visit.query.get("closed") == "1"
    found = await visit.call("inbox_find", Messages, all=shows_closed, before=visit.number("before"), limit=PAGE)
    page, left = found.messages, found.more
    body = tag(
        "section",
        tag("h1", "Inbox"),
        _filters(shows_closed=shows_closed, drafts=found.drafts),
        show_requests(await read_requests(visit, all=shows_closed)),
        [show_thread(visit, one, full=True) for one in page],
        _empty(shows_closed=shows_closed, note=found.note) if not page else None,
        tag("p", tag("a", f"{left} older", href=f"/inbox?before={page[-1].id}{'&closed=1' if shows_closed else ''}"))
        if left > 0
        else None,
        id="inbox",
        data_live="inbox",
    )
    return Shown("Inbox", body, "inbox")


def _filters(*, shows_closed: bool, drafts: int) -> Html:
    return tag(
        "p",
        tag("a", "Open", href="/inbox", aria_current=None if shows_closed else "true"),
        tag("a", "All", href="/inbox?closed=1", aria_current="true" if shows_closed else None),
        tag("a", f"{drafts} {'draft' if drafts == 1 else 'drafts'} to send", href="/changes#send") if drafts else None,
        class_="filters",
    )


def _empty(*, shows_closed: bool, note: str) -> Html:
    return empty(
        "No messages yet" if shows_closed else "Nothing is open",
        tag("p", note) if note else None,
        tag(
            "p",
            "Write a remark about a line in ",
            tag("a", "Changes", href="/changes"),
            ", or press the key in lazygit.",
        ),
    )


async def show_message(visit: Visit, number: str) -> Shown:
    """Show one conversation, whole."""
    found = await visit.call("inbox_show", Message, id=_number(number))
    body = tag(
        "section", tag("h1", f"Message {found.id}"), show_thread(visit, found, full=True), id="inbox", data_live="inbox"
    )
    return Shown(f"#{found.id}", body, "inbox")


async def show_since(visit: Visit, number: str) -> Shown:
    """Show what changed in the lines of a message since it was sent."""
    found = await visit.call("inbox_rounds", Rounds, id=_number(number))
    change = next((one.change for one in found.rounds), None)
    if change is None:
        body = tag("p", "It is not sent yet, or no longer kept.")
    elif not change:
        body = tag("p", "Nothing changed in these lines.")
    else:
        body = tag("pre", [_change_row(row) for row in change.split("\n")], class_="code", tabindex="0")
    return Shown(f"Since message {number}", tag("div", body, id=f"since{number}"), "inbox", is_part=visit.is_part)


def _change_row(row: str) -> Html:
    name = {"+": "ins", "-": "del"}.get(row[:1], "span")
    return join(tag(name, row + "\n"))


async def reply(visit: Visit, number: str) -> Moved:
    """Answer: the message is queued again with it."""
    await visit.act("inbox_reply", id=_number(number), text=visit.form.get("text", ""))
    return _back(number, f"#{number} queued again with your answer")


async def edit(visit: Visit, number: str) -> Moved:
    """Change the words of a draft, or of a message that nobody has read."""
    await visit.act("inbox_edit", id=_number(number), comment=visit.form.get("comment", ""))
    return _back(number, f"#{number} changed")


async def resolve(visit: Visit, number: str) -> Moved:
    """Close a conversation."""
    await visit.act("inbox_resolve", id=_number(number), outcome=visit.form.get("outcome", "addressed"))
    return _back(number, f"#{number} {visit.form.get('outcome', 'addressed')}")


async def reopen(visit: Visit, number: str) -> Moved:
    """Queue it again."""
    await visit.act("inbox_reopen", id=_number(number))
    return _back(number, f"#{number} queued again")


async def withdraw(visit: Visit, number: str) -> Moved:
    """Take a message back that nobody has read."""
    await visit.act("inbox_withdraw", id=_number(number))
    return Moved("/inbox", f"#{number} withdrawn")


def _back(number: str, says: str) -> Moved:
    return Moved(f"/inbox/{_number(number)}", says)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise NotFound(f"There is no message {text[:40]!r}", advice="Messages have numbers: look in the inbox")
    return int(text)


async def show_asked_cue(visit: Visit) -> Shown:
    """Show whether a review is asked for: a piece of every page, which follows what happens."""
    return Shown("Reviews", await show_cue(visit) or tag("div", id="asked"), "inbox", is_part=True)


ROUTES = (
    Route("GET", "/inbox", list_messages),
    Route("GET", "/inbox/asked", show_asked_cue),
    Route("GET", "/inbox/{number}", show_message),
    Route("GET", "/inbox/{number}/since", show_since),
    Route("POST", "/inbox/{number}/reply", reply),
    Route("POST", "/inbox/{number}/edit", edit),
    Route("POST", "/inbox/{number}/resolve", resolve),
    Route("POST", "/inbox/{number}/reopen", reopen),
    Route("POST", "/inbox/{number}/withdraw", withdraw),
)
