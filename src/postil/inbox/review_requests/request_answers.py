"""What is answered about reviews that are asked for: to the assistant that asked, and to the person."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from postil.core.answer import Answer
from postil.core.others.framing import describe_writer, frame, name_writer
from postil.core.others.untrusted import clean
from postil.inbox.anchoring import Anchor
from postil.inbox.answers import ADVICE, MIXED, PAGE, Shown, describe_words, is_anothers
from postil.inbox.model import Side
from postil.inbox.review_requests.request import SAID, RequestState, ReviewRequest, Verdict

LONGEST_WORDS = 6_000
LONGEST_LISTED = 300


class Review(Answer, frozen=True, omit_defaults=True):
    """The review that was asked for: open, or how it ended, with the person's remarks."""

    id: int
    state: RequestState
    says: str = ""
    verdict: Verdict | Literal[""] = ""
    words: str = ""
    remarks: tuple[Shown, ...] = ()
    more: int = 0
    """Remarks that did not fit; they wait in the inbox."""
    by: str = ""
    """Who answered, as messages are signed."""

    @property
    def has_words(self) -> bool:
        """Whether the person said anything."""
        return self.state in ("answered", "dismissed")

    @property
    def whose(self) -> str:
        """Whose words are in it, where another user's are."""
        return MIXED if is_anothers(self.by) else describe_words(self.remarks)

    def meta(self) -> dict[str, Any]:
        """The leases, as `check_lazygit_messages` tells them."""
        held = [{"id": one.id, "lease": one.lease, "attempt": one.attempt} for one in self.remarks if one.lease]
        return {"postil/messages": held} if held else {}

    def for_model(self) -> str:
        """The verdict, what the person said of the whole, and every remark; or how to go on waiting."""
        if self.state == "open":
            return (
                f"Review {self.id} is asked for, and the person has not answered yet. To wait on: request_review with "
                f"id={self.id}. Or go on: the answer also comes with check_lazygit_messages and inbox_wait"
            )
        is_theirs = is_anothers(self.by)
        ended = f"dismissed by {name_writer(self.by) if is_theirs else 'the person'}"
        how = SAID.get(self.verdict, ended if self.state == "dismissed" else self.state)
        if is_theirs and self.state == "answered":
            how += f" by {name_writer(self.by)}"
        pieces = [f"Review {self.id} of {self.says}: {how}"]
        if self.words:
            cut = self.words[:LONGEST_WORDS]
            rest = f"\n… cut: call inbox_show with id={self.id}" if len(cut) < len(self.words) else ""
            pieces.append((frame(clean(cut), "words", describe_writer(self.by)) if is_theirs else cut) + rest)
        left = PAGE - 1_000 - len("\n\n".join(pieces).encode())
        for one in self.remarks:
            text = one.cut(left)  # the first of a page is shown in any case
            left -= len(text.encode()) + 2
            pieces.append(text)
        if self.more:
            pieces.append(f"{self.more} more remarks: call check_lazygit_messages")
        return "\n\n".join([*pieces, *([ADVICE] if self.remarks else [])])

    def for_person(self) -> str | None:
        """The same; how to go on waiting as a command."""
        if self.state != "open":
            return None
        return f"Review {self.id} is asked for and not answered yet; `postil inbox request --id {self.id}` waits on"


class ShownNote(Struct, frozen=True, omit_defaults=True):
    """What the assistant says about some lines."""

    file: str
    text: str
    line: str = ""
    side: Side = "new"
    commit: str = ""
    code: str = ""
    anchor: Anchor | None = None


class Asked(Struct, frozen=True, omit_defaults=True):
    """A review that is asked for, as the person sees it."""

    id: int
    state: RequestState
    scope: str
    says: str
    summary: str
    time: str
    by: str = ""
    """Who asks, where it is not the local user's own assistant."""
    notes: tuple[ShownNote, ...] = ()
    verdict: Verdict | Literal[""] = ""
    words: str = ""

    def headline(self) -> str:
        """`Review 12 asked for: branch since main, 2 notes`."""
        how = "asked for" if self.state == "open" else SAID.get(self.verdict, self.state)
        notes = f", {len(self.notes)} {'note' if len(self.notes) == 1 else 'notes'}" if self.notes else ""
        return f"Review {self.id} {how}: {self.says}{f' by {self.by}' if self.by else ''}{notes}"


class Requests(Answer, frozen=True):
    """Reviews that are asked for."""

    requests: tuple[Asked, ...]

    @property
    def has_words(self) -> bool:
        """Whether there are any."""
        return bool(self.requests)

    def for_model(self) -> str:
        """Each with its summary; one alone with its notes."""
        pieces = [_format(one, whole=len(self.requests) == 1) for one in self.requests]
        return "\n\n".join(pieces) or "No review is asked for"


def _format(one: Asked, *, whole: bool) -> str:
    said = one.summary if whole or len(one.summary) <= LONGEST_LISTED else one.summary[:LONGEST_LISTED] + " …"
    rows = [one.headline(), *_indent(said)]
    for note in one.notes if whole else ():
        rows += ["", f"    {note.file}{f':{note.line}' if note.line else ''}", *_indent(note.text, 8)]
    if one.words:
        rows += ["", *_indent(one.words)]
    return "\n".join(rows)


def _indent(text: str, by: int = 4) -> list[str]:
    return [f"{' ' * by}{line}".rstrip() for line in text.split("\n")]


class Reviewed(Answer, frozen=True):
    """What the person sees of a review that they have ended."""

    id: int
    state: RequestState
    says: str
    remarks: tuple[int, ...] = ()

    def for_model(self) -> str:
        """What happened, in one line."""
        count = len(self.remarks)
        remarks = f", with {count} {'remark' if count == 1 else 'remarks'}" if count else ""
        return f"Review {self.id} {self.says}{remarks}"


def show_request(request: ReviewRequest, anchors: tuple[Anchor | None, ...], local: str) -> Asked:
    """Returns a request as the person sees it."""
    notes = tuple(
        ShownNote(place.file, note.text, place.line, place.side, place.commit, place.code, anchor)
        for note, anchor in zip(request.notes, anchors, strict=True)
        for place in (note.place,)
    )
    return Asked(
        request.id,
        request.state,
        request.scope,
        request.says,
        request.summary,
        request.time,
        "" if request.principal == local else request.principal,
        notes,
        request.verdict,
        request.words,
    )
