"""How reviews that are asked for are kept: records beside the messages of their repository.

Every method is one read or one write; what it decides on cannot change under it.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from postil.core.others.unreadable import UNREADABLE
from postil.inbox.failures import NoSuchMessage
from postil.inbox.message_records import (
    CLOSED_KEPT_SECONDS,
    HOMES,
    OPEN,
    REQUESTS,
    REQUESTS_ENDED,
    MessageRecords,
    make_key,
    name_text,
    read_text,
)
from postil.inbox.model import CLOSED, Lease, Message, Place
from postil.inbox.review_requests.request import (
    MOST_OF_ALL,
    MOST_OPEN,
    SAID,
    NoSuchRequest,
    Note,
    NothingSaid,
    RequestEnded,
    RequestState,
    ReviewRequest,
    TooManyRequests,
    Verdict,
)

if TYPE_CHECKING:
    from postil.core.ports import Changes, Records, State
    from postil.inbox.capture import Captured
    from postil.workspace.repository import Repository

_decoder = msgspec.json.Decoder(ReviewRequest)


class RequestStore:
    """The reviews that are asked for in one repository."""

    def __init__(self, state: State, home: Repository, lease_seconds: float) -> None:
        self._state = state
        self._home = home
        self._prefix = f"inbox/{home.key}/"
        self._lease_seconds = lease_seconds

    @contextmanager
    def _writing(self) -> Generator[MessageRecords]:
        with self._state.writing() as changes:
            yield MessageRecords(changes, self._prefix, self._lease_seconds)

    def ask(
        self,
        scope: str,
        summary: str,
        principal: str,
        notes: Sequence[tuple[Captured, str]],
        make: Callable[[int], ReviewRequest],
    ) -> ReviewRequest:
        """Keep a request. While one of the same scope and summary is open, that one is returned, with the newer notes.

        Raises TooManyRequests.
        """
        kept = tuple(Note(structs.replace(caught.place, hunk=""), text) for caught, text in notes)
        with self._writing() as messages:
            changes = messages.records
            open_ones = list(self._decode(changes, REQUESTS))
            same = next(
                (one for one in open_ones if (one.scope, one.summary, one.principal) == (scope, summary, principal)),
                None,
            )
            own = sum(one.principal == principal for one in open_ones)
            if same is None and (own >= MOST_OPEN or (own and len(open_ones) >= MOST_OF_ALL)):
                raise TooManyRequests(own if own >= MOST_OPEN else len(open_ones))
            request = structs.replace(same or make(changes.next("inbox")), notes=kept or (same.notes if same else ()))
            expires = time.time() + CLOSED_KEPT_SECONDS
            for caught, _ in notes:
                if caught.text is not None and changes.get(self._prefix + "texts", name_text(caught.place)) is None:
                    changes.put(self._prefix + "texts", name_text(caught.place), zlib.compress(caught.text, 1), expires)
            if changes.get(HOMES, self._home.key) is None:
                from postil.inbox.homes import note_home  # only with the first record of a repository

                note_home(changes, self._home)
            changes.put(self._prefix + REQUESTS, make_key(request.id), msgspec.json.encode(request))
        return request

    def list_open(self) -> list[ReviewRequest]:
        """Returns those that wait for the person, oldest first."""
        with self._state.reading() as records:
            return list(self._decode(records, REQUESTS))

    def list_ended(self) -> list[ReviewRequest]:
        """Returns those of the last ninety days that are answered, dismissed or withdrawn, oldest first."""
        with self._state.reading() as records:
            return list(self._decode(records, REQUESTS_ENDED))

    def count_open(self) -> int:
        """Returns how many wait for the person."""
        with self._state.reading() as records:
            return records.count(self._prefix + REQUESTS)

    def get(self, number: int) -> ReviewRequest:
        """Returns one of any state. Raises NoSuchRequest."""
        with self._state.reading() as records:
            return self._find(records, number)

    def is_open(self, number: int) -> bool:
        """Returns whether it waits for the person."""
        with self._state.reading() as records:
            return records.get(self._prefix + REQUESTS, make_key(number)) is not None

    def text_of(self, place: Place) -> bytes | None:
        """Returns the text of the file that a note is about, as it was then."""
        with self._state.reading() as records:
            return read_text(records, self._prefix, place)

    # -- ending one -----------------------------------------------------------------------------------------------

    def answer(
        self, number: int, verdict: Verdict, words: str, when: str, author: str = ""
    ) -> tuple[ReviewRequest, list[Message]]:
        """End a request with the person's review: the verdict, and all their drafts that belong to it, queued together.

        Drafts that were written for another open request stay. Raises NoSuchRequest, RequestEnded, NothingSaid.
        """
        with self._writing() as messages:
            request = self._find_open(messages.records, number)
            drafts = [one for one in messages.shown("draft") if one.review in (0, number)]
            sent_before = any(one.review == number for space in OPEN for one in messages.decode_all(space))
            if verdict != "approve" and not words and not drafts and not sent_before:
                raise NothingSaid(verdict)
            request = structs.replace(request, state="answered", verdict=verdict, words=words, by=author)
            self._end(messages, request, when, author)
            return request, [messages.requeue(draft, review=number) for draft in drafts]

    def cancel(self, number: int, state: RequestState, words: str, when: str, author: str = "") -> ReviewRequest:
        """End a request without a review. Doing it twice is no fault. Raises NoSuchRequest, RequestEnded."""
        with self._writing() as messages:
            request = self._find(messages.records, number)
            if request.state == state:
                return request
            request = structs.replace(self._find_open(messages.records, number), state=state, words=words, by=author)
            self._end(messages, request, when, author)
            return request

    def _end(self, messages: MessageRecords, request: ReviewRequest, when: str, author: str) -> None:
        """Keep how it ended, and queue what the person said of the whole."""
        changes, key = messages.records, make_key(request.id)
        changes.delete(self._prefix + REQUESTS, key)
        expires = time.time() + CLOSED_KEPT_SECONDS
        changes.put(self._prefix + REQUESTS_ENDED, key, msgspec.json.encode(request), expires)
        if request.state != "withdrawn":
            sequence = changes.next("inbox/sequence")
            messages.put(
                Message(
                    request.id,
                    Place(""),
                    describe_end(request),
                    when,
                    "note",
                    sequence=sequence,
                    review=request.id,
                    author=author,
                )
            )

    # -- handing it over --------------------------------------------------------------------------------------------

    def take_review(self, number: int, client: str, holder: str) -> list[Message]:
        """Lease to a client what is queued of a review. Returns all its messages, those that were read before too."""
        now = time.time()
        with self._writing() as messages:
            messages.requeue_lapsed()
            found: list[Message] = []
            for space in (*OPEN, "closed"):
                of_it = (one for one in messages.decode_all(space) if one.review == number)
                found += [one for one in of_it if one.state != "dismissed"]  # those a person threw away or took back
            taken: list[Message] = []
            for message in sorted(found, key=lambda one: one.id):
                if message.state == "queued":
                    lease = Lease(os.urandom(8).hex(), client, holder, now, now + self._lease_seconds)
                    message = messages.lend(message, lease)
                taken.append(messages.join_replies(message, None))
        return taken

    def settle_verdict(self, number: int) -> None:
        """Close the message that says the verdict: whoever waited for it has it."""
        with self._writing() as messages, suppress(NoSuchMessage):
            message = messages.find(number)
            if message.state not in CLOSED:
                messages.move(message, "addressed")

    # -- inside one read or write -------------------------------------------------------------------------------------

    def _decode(self, records: Records | Changes, space: str) -> Generator[ReviewRequest]:
        for _, value in records.range(self._prefix + space):
            try:
                yield _decoder.decode(value)
            except UNREADABLE:
                continue  # left as it is, and not shown

    def _find(self, records: Records | Changes, number: int) -> ReviewRequest:
        for space in (REQUESTS, REQUESTS_ENDED):
            value = records.get(self._prefix + space, make_key(number))
            try:
                if value is not None:
                    return _decoder.decode(value)
            except UNREADABLE:
                continue
        raise NoSuchRequest(number)

    def _find_open(self, records: Changes, number: int) -> ReviewRequest:
        request = self._find(records, number)
        if request.state != "open":
            raise RequestEnded(number, request.state)
        return request


def describe_end(request: ReviewRequest) -> str:
    """Returns how a request ended, with what was said: `Review 12: approved. Well done`."""
    how = SAID.get(request.verdict, request.state)
    return f"Review {request.id}: {how}" + (f". {request.words}" if request.words else "")
