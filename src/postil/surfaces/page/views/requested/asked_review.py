"""A review that an assistant asks for: its summary and notes, the person's verdict, the list of them, and the cue."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from postil.core.failure import Failure, NotFound
from postil.surfaces.page.layout import when
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.views.conversation import Anchor, Message
from postil.surfaces.page.visit import Visit

VERDICTS = (("approve", "Approve"), ("comment", "Comment"), ("request_changes", "Request changes"))
SAID = {"approve": "approved", "comment": "commented", "request_changes": "changes requested"}


class Note(Struct, frozen=True):
    """What the assistant says about some lines, as `inbox_requests` answers it."""

    file: str
    text: str
    line: str = ""
    side: str = "new"
    commit: str = ""
    code: str = ""
    anchor: Anchor | None = None


class Asked(Struct, frozen=True):
    """A review that is asked for."""

    id: int
    state: str
    scope: str
    says: str
    summary: str
    time: str
    by: str = ""
    notes: tuple[Note, ...] = ()
    verdict: str = ""
    words: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the assistant waits for it."""
        return self.state == "open"

    @property
    def address(self) -> str:
        """Where it is reviewed."""
        return f"/changes?request={self.id}"


class Requests(Struct, frozen=True):
    """What `inbox_requests` answers."""

    requests: tuple[Asked, ...]


async def read_requests(visit: Visit, *, all: bool = False) -> tuple[Asked, ...]:
    """Returns the reviews that are asked for, the oldest first; none where this person may not see them."""
    if not visit.offers("inbox_requests"):
        return ()
    return (await visit.call("inbox_requests", Requests, all=all)).requests


async def read_request(visit: Visit, number: int) -> Asked:
    """Returns one of them, with where its notes stand now. Raises NotFound."""
    if not visit.offers("inbox_requests"):
        raise NotFound(f"No review {number} was asked for", advice="Look in the inbox")
    return (await visit.call("inbox_requests", Requests, id=number)).requests[0]


async def show_cue(visit: Visit) -> Html | None:
    """Returns what stands in the head of every page while a review is asked for; it follows what happens."""
    if not visit.offers("inbox_requests"):
        return None
    try:
        found = await read_requests(visit)
    except Failure:  # what went wrong is told where it matters
        return None
    count = len(found)
    words = f"{count} {'review' if count == 1 else 'reviews'} asked for"
    link = tag("a", words, href=found[0].address if count == 1 else "/inbox", class_="button cue") if found else None
    return tag("div", link, id="asked", data_live="inbox", data_src="/inbox/asked", role="status")


def show_requests(requests: Sequence[Asked]) -> Html | None:
    """Returns the list of reviews, the newest first."""
    if not requests:
        return None
    return tag("section", tag("h2", "Reviews"), [_row(one) for one in reversed(requests)], id="requests")


def _row(asked: Asked) -> Html:
    return tag(
        "article",
        _head(asked),
        tag("p", asked.summary, class_="said"),
        tag("p", asked.words, class_="said summary") if asked.words else None,
        tag("p", tag("a", "Review it", href=asked.address, class_="button", data_key="r")) if asked.is_open else None,
        class_=f"thread {'open' if asked.is_open else 'closed'}",
        id=f"review{asked.id}",
        data_stop="thread",
        tabindex="-1",
    )


def _head(asked: Asked) -> Html:
    notes = f"{len(asked.notes)} {'note' if len(asked.notes) == 1 else 'notes'}"
    state = "asked for" if asked.is_open else SAID.get(asked.verdict, asked.state)
    return tag(
        "header",
        tag("a", f"Review {asked.id}", href=asked.address, class_="number"),
        tag("span", state, class_=f"state {asked.state}"),
        tag("span", asked.says, class_="place"),
        tag("span", f"by {asked.by}", class_="quiet") if asked.by else None,
        tag("span", notes, class_="quiet") if asked.notes else None,
        when(asked.time),
    )


def show_asked(asked: Asked) -> Html:
    """Returns what stands above the changes: who asks, and what was done."""
    return tag(
        "section",
        _head(asked),
        tag("p", asked.summary, class_="said"),
        tag("p", asked.words, class_="said summary") if asked.words else None,
        class_=f"thread {'open' if asked.is_open else 'closed'}",
        id="asked-review",
    )


def show_note(note: Note) -> Html:
    """Returns a note of the assistant, which stands under its lines."""
    gone = note.anchor is not None and note.anchor.state == "gone"
    return tag(
        "article",
        tag("header", tag("b", "assistant"), tag("span", "note", class_="kind"),
            tag("span", "the lines are gone", class_="anchor gone") if gone else None),
        tag("p", note.text, class_="said"),
        tag("pre", note.code, class_="code", tabindex="0", aria_label="The code it is about") if gone else None,
        class_="thread note",
    )  # fmt: skip


def show_elsewhere(asked: Asked, files: set[str]) -> list[Html]:
    """Returns the notes on files that are not in the changes, each with its place."""
    return [
        tag("div", tag("p", f"{note.file}{f':{note.line}' if note.line else ''}", class_="place"), show_note(note))
        for note in asked.notes
        if note.file not in files
    ]


def show_verdict(visit: Visit, asked: Asked, messages: Sequence[Message]) -> Html:
    """Returns the form that ends the review: what is said of the whole, the verdict, and all drafts with it."""
    if not asked.is_open or not visit.offers("inbox_review"):
        return tag("div", id="send")
    count = sum(one.state == "draft" and one.review in (0, asked.id) for one in messages)
    number = tag("input", type="hidden", name="id", value=str(asked.id))
    buttons = [
        tag("button", words, name="verdict", value=verdict, class_="primary" if verdict == "approve" else None)
        for verdict, words in VERDICTS
    ]
    form = tag(
        "form",
        visit.form_token(),
        number,
        tag("label", tag("span", f"Review {asked.id}, with {count} {'draft' if count == 1 else 'drafts'}"),
            tag("textarea", name="summary", rows=1, placeholder="What you say of the whole")),
        buttons,
        method="post",
        action="/changes/review",
        id="review-form",
    )  # fmt: skip
    dismiss = tag(
        "form", visit.form_token(), number, tag("button", "Dismiss"), method="post", action="/changes/dismiss"
    )
    return tag("div", form, dismiss if visit.offers("inbox_dismiss") else None, id="send", class_="send review")
