"""What the inbox answers: structs for programs, each with the text that people and models read. Pure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from postil.core import call
from postil.core.answer import Answer
from postil.core.others.framing import CODE, MARGIN, Piece, describe_writer, join_pieces, make_piece
from postil.inbox import contract
from postil.inbox.anchoring import Anchor
from postil.inbox.model import ASSISTANT, PERSON, Kind, Message, Reply, Side, State

PAGE = 24_000
"""Bytes of messages that are given at once: what a model can read without losing its thread."""
ROOM = 1_000
"""Kept for the sentences around them."""
LONGEST_SHOWN = 20_000
LONGEST_LISTED = 600
LONGEST_ANSWER = 300
ANSWERS_LISTED = 3
ADVICE = (
    "Do what a fix asks for, answer a question with inbox_reply, take a note as it is. When one is done, call "
    "inbox_resolve with its number; outcome declined, with a reply, when it should not be done."
)
MIXED = "remarks of the local user, and words of others where they are marked"
LEAST = 600
"""Bytes that each message of a page has in any case."""
LONGEST_SUMMARY = 6_000


class Shown(Answer, frozen=True, omit_defaults=True):
    """A message as others see it."""

    id: int
    state: State
    file: str
    comment: str
    time: str
    kind: Kind = "fix"
    line: str = ""
    anchor: Anchor | None = None
    attempt: int = 0
    lease: str = ""
    """Name this to acknowledge or resolve: only the client that was given the message knows it."""
    side: Side = "new"
    commit: str = ""
    blob: str = ""
    code: str = ""
    hunk: str = ""
    same_hunk_as: int = 0
    """The number of the message before it on this page that came with the same hunk."""
    suggestion: str | None = None
    review: int = 0
    summary: str = ""
    broadcast: bool = False
    edited: bool = False
    replies: tuple[Reply, ...] = ()
    earlier_replies: int = 0
    """How many more were said before these; `postil inbox show` has all."""
    source: str = ""
    """The system that reported it; empty for a person's remark."""
    author: str = ""
    """Who wrote it, where that is not the person whose machine this is."""

    @property
    def has_others(self) -> bool:
        """Whether the caller's model reads the words of somebody else in it."""
        return is_anothers(self.author or self.source) or any(is_anothers(reply.author) for reply in self.replies)

    @property
    def whose(self) -> str:
        """Whose words are in it, where another user's are."""
        return describe_words([self])

    def for_model(self) -> str:
        """The message in full, for a model its code and the words of another user in frames of their own."""
        return self.tell()[0]

    def tell(self, start: int = 0, most: int | None = None) -> tuple[str, int, int]:
        """Returns the message from a character on, in at most so many bytes, where that ends, and what is left."""
        return join_pieces(self._list_pieces(), start, most)

    def _list_pieces(self) -> list[Piece]:
        blank = make_piece("")
        pieces = [make_piece(self.headline(), ""), _quote(self.comment, self.author or self.source)]
        if code := self.hunk or self.code:
            pieces += [blank, make_piece(code, MARGIN, "code", CODE)]
        if self.same_hunk_as:
            pieces.append(make_piece(f"(in the hunk of #{self.same_hunk_as})"))
        if self.suggestion is not None:
            by = "its author" if self.author else "the person"
            pieces += [blank, make_piece(f"Suggested by {by} (`postil inbox apply` makes this change):")]
            whose = describe_writer(self.author) if is_anothers(self.author) else CODE
            pieces.append(make_piece(self.patch(), MARGIN, "change", whose))
        if self.earlier_replies:
            pieces += [blank, make_piece(f"{self.earlier_replies} earlier replies")]
        for reply in self.replies:
            pieces += [blank, make_piece(f"{reply.author}, {call.current().tell_moment(reply.time)}:")]
            pieces.append(_quote(reply.text, reply.author))
        return pieces

    def cut(self, most: int) -> str:
        """Returns the message in at most so many bytes, with the call that gets the rest where it is cut."""
        text, _, _ = self.tell()
        if len(text.encode("utf-8", "surrogatepass")) <= most:
            return text
        text, end, _ = self.tell(0, min(most, LONGEST_SHOWN))
        return f"{text}\n… cut: call inbox_show with id={self.id}, start={end}"

    def patch(self) -> str:
        """The suggestion as a change of the lines it is about."""
        old = [f"-{line}" for line in self.code.split("\n")]
        new = [f"+{line}" for line in self.suggestion.split("\n")] if self.suggestion else []
        return "\n".join([*old, *new])

    def headline(self) -> str:
        """`#12 queued  src/main.go:42 (moved to 57)  question  deleted line  in commit 1a2b3c4d`."""
        where = self.file or self.source or (f"commit {self.commit[:12]}" if self.commit else "the repository")
        where += f":{self.line}" if self.line else ""
        if self.anchor is not None and self.anchor.state not in ("exact", "unknown"):
            where += f" ({self.anchor.describe()})"
        notes = [
            self.kind if self.kind != "fix" else "",
            "with a suggestion" if self.suggestion is not None else "",
            "deleted lines" if self.side == "old" and self.line else "",
            f"in commit {self.commit[:12]}" if self.commit and self.file else "",
            f"review {self.review}" if self.review else "",
            "edited" if self.edited else "",
            f"attempt {self.attempt}" if self.attempt > 1 else "",
            f"by {self.author}" if self.author else "",
            call.current().tell_moment(self.time, " ").strip(),  # at a terminal only: assistants need no time
        ]
        return "  ".join([f"#{self.id} {self.state}", where, *filter(None, notes)])


def show(message: Message, anchor: Anchor | None, *, own: bool = False) -> Shown:
    """Returns what others see of a message: its lease only if it is their own, and never who holds it."""
    place = message.place
    return Shown(
        id=message.id,
        state=message.state,
        file=place.file,
        comment=message.comment,
        time=message.time,
        kind=message.kind,
        line=place.line,
        anchor=anchor,
        attempt=message.attempt,
        lease=message.lease.id if own and message.lease is not None else "",
        side=place.side,
        commit=place.commit,
        blob=place.blob,
        code=place.code,
        hunk=place.hunk,
        suggestion=message.suggestion,
        review=message.review,
        summary=message.summary,
        broadcast=message.broadcast,
        edited=message.edited,
        replies=message.replies,
        earlier_replies=max(0, message.said - len(message.replies)),
        source=message.source,
        author=message.author,
    )


class _Page(Answer, frozen=True, omit_defaults=True):
    """An answer with messages."""

    messages: tuple[Shown, ...]

    @property
    def has_words(self) -> bool:
        """Whether there are messages."""
        return bool(self.messages)

    @property
    def whose(self) -> str:
        """Whose words are in it, where another user's are."""
        return describe_words(self.messages)


class Checked(_Page, frozen=True, omit_defaults=True):
    """What `check_lazygit_messages` gives."""

    more: int = 0
    """How many wait behind these."""
    note: str = ""
    """Why nothing can come."""

    def for_model(self) -> str:
        """The messages with all that an assistant needs to act on them, and how to answer."""
        return _with_note(format_page(self.messages, self.more), self.note)

    def meta(self) -> dict[str, Any]:
        """What the text does not hold: the leases, which only the client that was given the messages knows."""
        held = [{"id": one.id, "lease": one.lease, "attempt": one.attempt} for one in self.messages]
        return {"postil/messages": held} if held else {}

    def for_contract(self) -> str:
        """The contract's text and nothing more."""
        return contract.format_view(self.messages)

    def contract_meta(self) -> dict[str, Any]:
        """Id, attempt, lease, anchor and hunk, beside the contract's text."""
        return {"postil/messages": self.messages, "postil/more": self.more} if self.messages else {}


class Listed(_Page, frozen=True, omit_defaults=True):
    """The messages of this repository."""

    sequence: int = 0
    more: int = 0
    """How many follow; `after` is the number of the last one here."""
    new_answers: int = 0
    note: str = ""
    asked: Literal["", "all", "drafts"] = ""
    """Which were asked for, where not the open ones: who asked knows it."""

    def plain(self) -> Listed:
        return msgspec.structs.replace(self, asked="")

    def for_model(self) -> str:
        """All of them, each with its words and the last answers."""
        if not self.messages:
            which = {"": "open messages", "all": "messages", "drafts": "drafts"}[self.asked]
            return _with_note(f"No {which}", self.note)
        pieces = _list_fitting(self.messages)
        if more := self.more + len(self.messages) - len(pieces):
            pieces.append(f"{more} more: list with after={self.messages[len(pieces) - 1].id}")
        return "\n\n".join(pieces)

    def for_person(self) -> str:
        """The same, and how many answers the person has not been told of: closed messages are not in the list."""
        if not self.new_answers or self.asked == "all":
            return self.for_model()
        answers = "1 new answer" if self.new_answers == 1 else f"{self.new_answers} new answers"
        return f"{self.for_model()}\n\n{answers}: `postil inbox list --all` shows closed messages too"


class Found(_Page, frozen=True, omit_defaults=True):
    """A page of messages, the newest first."""

    more: int = 0
    """How many are older; `before` is the number of the last one here."""
    drafts: int = 0
    """How many remarks are not sent yet, of all."""
    note: str = ""

    def for_model(self) -> str:
        """Each with its words and the last answers."""
        pieces = _list_fitting(self.messages)
        if more := self.more + len(self.messages) - len(pieces):
            pieces.append(f"{more} older: before={self.messages[len(pieces) - 1].id}")
        return "\n\n".join(pieces) or _with_note("No such messages", self.note)


def _list_fitting(messages: Sequence[Shown]) -> list[str]:
    """Returns each message with its words and the last answers: for a model as many as fit, at least one."""
    said: list[str] = []
    left = PAGE - ROOM
    for one in messages:
        text = _format_listed(one)
        left -= len(text.encode("utf-8", "surrogatepass")) + 2
        if said and left < 0 and not call.current().person:
            break
        said.append(text)
    return said


def _format_listed(one: Shown) -> str:
    pieces = [make_piece(one.headline(), ""), _quote(_cut(one.comment, LONGEST_LISTED), one.author or one.source)]
    for reply in one.replies[-ANSWERS_LISTED:]:
        pieces.append(make_piece(f"{reply.author}, {call.current().tell_moment(reply.time)}:"))
        pieces.append(_quote(_cut(reply.text, LONGEST_ANSWER), reply.author, MARGIN * 2))
    return join_pieces(pieces)[0]


class Waited(_Page, frozen=True, omit_defaults=True):
    """What a wait ended with; `sequence` is where the next one begins."""

    sequence: int
    note: str = ""

    def for_model(self) -> str:
        """The messages, and how to go on."""
        return f"{_with_note(format_page(self.messages), self.note)}\n\nTo wait for the next one: after={self.sequence}"


def _with_note(text: str, note: str) -> str:
    return f"{text}. {note}" if note else text


def format_page(messages: Sequence[Shown], more: int = 0) -> str:
    """Returns messages as an assistant reads them: whole, or cut with the call that gets the rest."""
    if not messages:
        return contract.NOTHING
    pieces: list[str] = []
    left = PAGE - ROOM
    for number, message in enumerate(messages, 1):
        if message.summary:
            pieces.append(_format_summary(message))
            left -= len(pieces[-1].encode("utf-8", "surrogatepass")) + 2
        pieces.append(message.cut(left - LEAST * (len(messages) - number)))
        left -= len(pieces[-1].encode("utf-8", "surrogatepass")) + 2
    if more:
        pieces.append(f"{more} more wait: call check_lazygit_messages again")
    pieces.append(ADVICE)
    return "\n\n".join(pieces)


def _format_summary(message: Shown) -> str:
    """Returns what was said of a review, cut before it is framed."""
    words, title = message.summary[:LONGEST_SUMMARY], f"Review {message.review}:"
    rest = f"\n… cut: `postil inbox show {message.id} --json` has all of it" if words != message.summary else ""
    if not is_anothers(message.author):
        return f"{title} {words}{rest}"
    theirs = _quote(words, message.author)
    return f"{title}\n{theirs.say(theirs.text)}{rest}"


class Receipt(Answer, frozen=True, omit_defaults=True):
    """What the sender sees."""

    id: int
    file: str
    line: str = ""
    waiting: int = 0
    last_read: float = 0.0
    note: str = ""
    quiet: bool = False
    drafts: int = 0
    """How many drafts there are, when this is one."""
    answers: tuple[str, ...] = ()
    """What assistants said since the last receipt."""
    requests: int = 0
    """Reviews that assistants ask for."""

    def for_model(self) -> str:
        """`#12 queued, 3 waiting, read 2 min ago`; quiet is the sentence of the old contract."""
        if self.quiet:
            return f"Message sent successfully for {self.file}"
        said = f"#{self.id} queued, {self.waiting} waiting, {describe_age(self.last_read, time.time())}"
        if self.drafts:
            said = f"#{self.id} is a draft, {self.drafts} in all; `postil inbox submit` sends them"
        asked = f"{self.requests} {'review' if self.requests == 1 else 'reviews'} asked for: `postil inbox requests`"
        return "\n".join(filter(None, [said, self.note, *self.answers, asked if self.requests else ""]))

    def plain(self) -> object:
        """The receipt; of the old contract's, what it always had."""
        return {"file": self.file, "id": self.id} if self.quiet else self


class Submitted(Answer, frozen=True):
    """A review that was sent."""

    review: int
    messages: tuple[int, ...]
    waiting: int

    def for_model(self) -> str:
        """How many remarks it has."""
        count = len(self.messages)
        return f"Review {self.review}: {count} {'remark' if count == 1 else 'remarks'} queued, {self.waiting} waiting"


class Rounds(Answer, frozen=True):
    """Messages, each with what changed in its lines since."""

    rounds: tuple[tuple[Shown, str], ...]

    @property
    def whose(self) -> str:
        """Whose words are in it, where another user's are."""
        return describe_words([one for one, _ in self.rounds])

    def for_model(self) -> str:
        """Each message with its change, the words cut to a line."""
        pieces: list[str] = []
        for one, change in self.rounds:
            words = _quote(_cut(one.comment, 200), one.author)
            code = make_piece(change, MARGIN, "code", CODE) if change else make_piece("unchanged")
            pieces.append(join_pieces([make_piece(one.headline(), ""), words, make_piece(""), code])[0])
        return "\n\n".join(pieces) or "No open messages"


class Changed(Answer, frozen=True):
    """A message after a change."""

    message: Shown
    said: str

    def for_model(self) -> str:
        """What happened, in one line."""
        return self.said


class Picked(Answer, frozen=True):
    """The places of a file to choose from, for lazygit's menu."""

    places: tuple[tuple[str, str], ...]

    def for_model(self) -> str:
        """One a line: `12-15|the text there`."""
        return "\n".join(f"{line}|{label}" for line, label in self.places)


def is_anothers(author: str) -> bool:
    """Returns whether an author is neither the person whose machine this is, nor their assistant, nor the caller."""
    return author not in ("", PERSON, ASSISTANT) and not call.current().caller.signed(author)


def describe_words(messages: Sequence[Shown]) -> str:
    """Returns whose words a model reads in messages, where another user's are among them; else nothing."""
    return MIXED if any(one.has_others for one in messages) else ""


def describe_overflow(waiting: int) -> str:
    """Returns the sentence for more messages than the view holds."""
    return f"{waiting} messages wait: the assistant gets {contract.MOST_SHOWN} at a time, none is dropped"


def describe_age(then: float, now: float) -> str:
    """Returns when an assistant last looked, in words."""
    if not then:
        return "no assistant has read yet"
    seconds = max(0, int(now - then))
    if seconds < 60:
        return "read just now" if seconds < 5 else f"read {seconds} s ago"
    if seconds < 3600:
        return f"read {seconds // 60} min ago"
    return f"read {seconds // 3600} h ago" if seconds < 48 * 3600 else f"read {seconds // 86400} days ago"


def describe_answers(told: Sequence[tuple[int, str, Reply]], more: int) -> tuple[str, ...]:
    """Returns a line for each answer that the person has not been told of, and one for the rest."""
    lines = [
        f"#{number} {how}{': ' * bool(reply.text)}{_cut(' '.join(reply.text.split()), 160)}"
        for number, how, reply in told
    ]
    return (*lines, f"{more} more answers: postil inbox list") if more else tuple(lines)


def cut_page(messages: Sequence[Shown], room: int = ROOM) -> tuple[Shown, ...]:
    """Returns as many messages as a page holds, at least one; a hunk that came before is not sent again.

    `room` is kept free on it.
    """
    page: list[Shown] = []
    hunks: dict[tuple[str, str], int] = {}
    size = 0
    for message in messages:
        which = message.file, message.hunk.partition("\n")[0]
        first = hunks.setdefault(which, message.id) if message.hunk else message.id
        if first != message.id:
            message = msgspec.structs.replace(message, hunk="", same_hunk_as=first)
        size += len(msgspec.json.encode(message))
        if page and size > PAGE - room:
            break
        page.append(message)
    return tuple(page)


def _cut(text: str, most: int) -> str:
    room = call.room_in_list(most)
    return text if len(text) <= room else text[:room] + " …"


def _quote(text: str, author: str, margin: str = MARGIN) -> Piece:
    """Returns somebody's words: another user's are marked as theirs."""
    if not is_anothers(author):
        return make_piece(text, margin)
    return make_piece(text, margin, "words", describe_writer(author))
