"""An assistant asks for a review: asking and waiting, the person's answer, and ending it without one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from postil.core import call
from postil.core.call import LOCAL
from postil.core.failure import Failure, InvalidArguments
from postil.core.operation import reads, writes
from postil.inbox.answers import ROOM, cut_page
from postil.inbox.model import check_comment
from postil.inbox.operations.for_assistants import LONGEST_WAIT, LOOK_AGAIN, call_soon
from postil.inbox.part import Inbox, client, timestamp
from postil.inbox.review_requests.request import (
    LONGEST_NOTE,
    LONGEST_SUMMARY,
    MOST_NOTES,
    SAID,
    NoSuchRequest,
    NothingToReview,
    ReviewRequest,
    Verdict,
    parse_note,
)
from postil.inbox.review_requests.request_answers import (
    LONGEST_WORDS,
    Asked,
    Requests,
    Review,
    Reviewed,
    show_request,
)
from postil.storage.holder import this_process

if TYPE_CHECKING:
    from postil.inbox.capture import Captured

RequestNumber = Annotated[int, Meta(ge=1, description="the number of the review")]


class RequestTools:
    """Operations on reviews that assistants ask for."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @writes("request_review", shell="inbox request", waits=True, task="optional")
    async def request_review(
        self,
        summary: Annotated[str, Meta(max_length=LONGEST_SUMMARY, description="what you did; what to look at")] = "",
        scope: Annotated[
            str,
            Meta(
                max_length=1_000,
                description="staged, unstaged, a commit, A..B, branch; else all that is not committed",
            ),
        ] = "",
        notes: Annotated[tuple[str, ...], Meta(max_length=MOST_NOTES, description="FILE:LINE: text")] = (),
        id: Annotated[int, Meta(ge=0, description="wait on for this one")] = 0,
        seconds: Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="to wait; 0: only the number")] = 60,
        withdraw: Annotated[bool, Meta(description="take id back")] = False,
    ) -> Review:
        """Ask the person to review your changes: a verdict and remarks. Asked twice, it is one."""
        import asyncio  # only what waits needs a loop

        if withdraw and not id:
            raise InvalidArguments("Withdraw the review of an id", advice="Give its id alone", path="id")
        if bool(id) == bool(summary.strip() or notes or scope):
            raise InvalidArguments(
                "Give a summary to ask for a review, or the id of one to wait for",
                advice="For example summary='Renamed the parser; see the tests', scope='branch'",
                path="summary",
            )
        if withdraw:
            return await asyncio.to_thread(self._withdraw, id)
        if not id:
            id = (await asyncio.to_thread(self._ask, summary, scope, notes)).id
        loop, news = asyncio.get_running_loop(), asyncio.Event()
        begun = loop.time()
        stop = await asyncio.to_thread(self._inbox.on_news, lambda: call_soon(loop, news.set))
        try:
            while True:
                news.clear()
                request = await asyncio.to_thread(self._find_own, id)
                waited = loop.time() - begun
                if request.state != "open" or waited >= seconds:
                    break
                call.current().progress(waited, seconds, f"Review {id}: waiting for the person")
                # Not wait_for: before Python 3.12 it swallows a cancellation that comes together with news.
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(seconds - waited, LOOK_AGAIN)):
                        await news.wait()
        finally:
            await asyncio.to_thread(stop)
        call.current().check()
        return await asyncio.to_thread(self._hand_over, request)

    def _ask(self, summary: str, scope: str, notes: tuple[str, ...]) -> ReviewRequest:
        from postil.inbox.capture import capture
        from postil.inbox.target import Target
        from postil.workspace.changes.changed_files import list_changed
        from postil.workspace.changes.compared import read_compared

        if not summary.strip():
            raise InvalidArguments(
                "The summary is empty", advice="Say what you did and what to look at", path="summary"
            )
        repository, word = self._inbox.repository(), scope.strip()
        compared = read_compared(repository, word)
        if not list_changed(repository, compared):
            raise NothingToReview(compared.says)
        target = Target("any", version=compared.version)
        folder = self._inbox.cwd if call.current().person else repository.root
        caught: list[tuple[Captured, str]] = []
        for number, given in enumerate(notes):
            try:
                note = parse_note(given)
                where = note.line, note.side, target.context, target.commit, target.base
                caught.append((capture(repository, folder, note.file, *where), note.text))
            except Failure as failure:
                said = f"Note {number + 1}, {given[:80]!r}: {failure.message}"
                raise InvalidArguments(said, advice=failure.advice, path=f"notes[{number}]") from failure
        principal = call.current().caller.principal

        def make(number: int) -> ReviewRequest:
            return ReviewRequest(number, word, compared.says, summary, timestamp(), principal)

        return self._inbox.requests.ask(word, summary, principal, caught, make)

    def _find_own(self, number: int) -> ReviewRequest:
        """Returns a request of this caller; the person may see all of them. Raises NoSuchRequest."""
        request, now = self._inbox.requests.get(number), call.current()
        if not now.person and request.principal != now.caller.principal:
            raise NoSuchRequest(number)
        return request

    def _hand_over(self, request: ReviewRequest) -> Review:
        """Returns the review, its remarks leased to the caller. The call's end makes them seen or queued."""
        review = Review(request.id, request.state, request.says, request.verdict, request.words, by=request.by)
        if request.state not in ("answered", "dismissed"):
            return review
        store, requests = self._inbox.messages, self._inbox.requests
        messages = requests.take_review(request.id, client(), this_process())
        leases = {message.id: message.lease.id for message in messages if message.lease is not None}
        try:
            remarks = [self._inbox.show(one, own=True) for one in messages if one.id != request.id]
            shown = cut_page(remarks, ROOM + len(request.words[:LONGEST_WORDS].encode()))
            store.lose([(one.id, leases.pop(one.id)) for one in remarks[len(shown) :] if one.id in leases])
        except BaseException:
            store.lose([*leases.items()])  # the answer will be this error
            raise
        told = [*leases.items()]

        def confirm() -> None:
            store.confirm(told)
            requests.settle_verdict(request.id)

        call.current().when_delivered(confirm, lambda: store.lose(told))
        return Review(
            request.id,
            request.state,
            request.says,
            request.verdict,
            request.words,
            shown,
            len(remarks) - len(shown),
            request.by,
        )

    def _withdraw(self, number: int) -> Review:
        self._find_own(number)
        request = self._inbox.requests.cancel(number, "withdrawn", "", timestamp())
        return Review(request.id, request.state, request.says)

    # -- what the person does -------------------------------------------------------------------------------------

    @reads("inbox_requests", shell="inbox requests", positional=("id",), toolset="extra")
    def list_requests(
        self,
        id: Annotated[int, Meta(ge=0, description="only this one, with where its notes stand now")] = 0,
        all: Annotated[bool, Meta(description="also those that are answered, dismissed or withdrawn")] = False,
    ) -> Requests:
        """List the reviews that assistants ask for."""
        requests = self._inbox.requests
        if id:
            return Requests((self._show(self._find_own(id), anchored=True),))
        found = [*requests.list_open(), *(requests.list_ended() if all else ())]
        now = call.current()
        own = [one for one in found if now.person or one.principal == now.caller.principal]
        return Requests(tuple(self._show(one, anchored=False) for one in sorted(own, key=lambda one: one.id)))

    def _show(self, request: ReviewRequest, *, anchored: bool) -> Asked:
        if not anchored:
            return show_request(request, (None,) * len(request.notes), LOCAL)
        from postil.inbox.anchoring import anchor_place

        repository, store = self._inbox.repository_or_folder(), self._inbox.requests
        anchors = [anchor_place(repository, note.place, store.text_of(note.place)) for note in request.notes]
        return show_request(request, tuple(anchors), LOCAL)

    @writes("inbox_dismiss", thing="id", shell="inbox dismiss", positional=("id",), tool=False)
    def dismiss(
        self,
        id: RequestNumber,
        reason: Annotated[str, Meta(max_length=LONGEST_NOTE, description="why")] = "",
    ) -> Reviewed:
        """End a review that an assistant asks for without one."""
        request = self._inbox.requests.cancel(id, "dismissed", reason.strip(), timestamp(), call.current().sign(""))
        return Reviewed(request.id, request.state, request.state)

    @writes("inbox_review", thing="id", shell="inbox review", positional=("id", "verdict"), tool=False)
    def finish_review(
        self,
        id: RequestNumber,
        verdict: Annotated[Verdict, Meta(description="your verdict")],
        summary: Annotated[str, Meta(description="what you say of the whole; - reads standard input")] = "",
    ) -> Reviewed:
        """Answer a review that an assistant asks for: your verdict, with all drafts that belong to it."""
        words = check_comment(summary) if summary.strip() else ""
        request, sent = self._inbox.requests.answer(id, verdict, words, timestamp(), call.current().sign(""))
        return Reviewed(request.id, request.state, SAID[verdict], tuple(one.id for one in sent))
