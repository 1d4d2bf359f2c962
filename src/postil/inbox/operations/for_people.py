"""What people do with their messages: send, list, show, edit, withdraw, reopen."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postil.core import call
from postil.core.failure import Failure
from postil.core.operation import Spelling, destroys, reads, writes
from postil.inbox import contract
from postil.inbox.answers import (
    LONGEST_SHOWN,
    Changed,
    Listed,
    Receipt,
    Shown,
    cut_page,
    describe_answers,
    describe_overflow,
)
from postil.inbox.capture import capture
from postil.inbox.failures import KeptAsDraft
from postil.inbox.model import Context, Kind, Message, Number, Place, Side, check_comment, format_span
from postil.inbox.operations.printed import Printed, PrintedPart
from postil.inbox.part import Inbox, timestamp
from postil.inbox.store import find_last
from postil.workspace.digest import sha256

ANSWERS_TOLD = 5


class PeopleTools:
    """Operations on messages by those who send them."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @writes(
        "inbox_send",
        shell="inbox send",
        flags={"comment": "c"},
        spellings=(
            Spelling(
                "bridge send",
                {
                    "quiet": True,
                    "kind": "fix",
                    "context": "",
                    "commit": "",
                    "side": "new",
                    "broadcast": False,
                    "at": "",
                    "draft": False,
                    "now": True,
                    "suggest": None,
                    "request": 0,
                },
                "Send a comment about a file, as lazygit-mcp-bridge does.",
                requires=("file", "comment"),
                name="bridge_send",
            ),
        ),
        shell_only=("quiet",),
        clears=("suggest",),  # nothing in place of the lines deletes them
        tool=False,  # a message is what a person wrote: other assistants act on it
    )
    def send(
        self,
        comment: Annotated[
            str, Meta(description="the remark; - reads standard input; without it your editor opens")
        ] = "",
        file: Annotated[str, Meta(description="the file it is about")] = "",
        line: Annotated[str | int, Meta(description="a line (42) or a range (42-45)")] = "",
        kind: Annotated[Kind, Meta(description="what is wanted: a fix, an answer, or nothing")] = "fix",
        context: Annotated[Context, Meta(description="where in lazygit the person stands")] = "",
        commit: Annotated[str, Meta(description="the commit that is looked at, instead of the work tree")] = "",
        side: Annotated[Side, Meta(description="which side of the diff the line counts on")] = "new",
        broadcast: Annotated[bool, Meta(description="every assistant gets it, not just one")] = False,
        at: Annotated[
            str, Meta(description="what lazygit's menu chose: FILE:LINE, FILE:-LINE, FILE:file, @COMMIT")
        ] = "",
        draft: Annotated[bool, Meta(description="keep it until `inbox submit` sends all drafts")] = False,
        now: Annotated[bool, Meta(description="send it at once, although a setting makes remarks drafts")] = False,
        suggest: Annotated[str | None, Meta(description="the text to put in place of the lines")] = None,
        quiet: Annotated[bool, Meta(description="say only that it was sent")] = False,
        request: Annotated[int, Meta(ge=0, description="the review that was asked for, which it belongs to")] = 0,
    ) -> Receipt:
        """Send a remark about a file, a line or a commit to the assistant."""
        given = kind, context, commit, side, broadcast, at, draft, now, suggest, quiet, request
        if comment or not call.current().interactive:
            return self._send(comment, file, str(line), *given)
        from postil.workspace.editing.editor import keep_typed  # only those who type pay for it

        about = at or (f"{file}:{line}" if line else file) or f"commit {commit}"
        typed = self._inbox.type_text("", f"Remark on {about}")
        with keep_typed(self._inbox.repository_or_none(), typed):
            return self._send(typed, file, str(line), *given)

    def _send(
        self,
        comment: str,
        file: str,
        line: str,
        kind: Kind,
        context: Context,
        commit: str,
        side: Side,
        broadcast: bool,
        at: str,
        draft: bool,
        now: bool,
        suggest: str | None,
        quiet: bool,
        request: int,
    ) -> Receipt:
        text = check_comment(comment)
        inbox = self._inbox
        base = ""
        if at:
            from postil.inbox.target import parse_target, split_kind, split_typed_line, take_other_line

            target = parse_target(at)
            file, side, context, commit, base = target.file, target.side, target.context, target.commit, target.base
            line = format_span(target.span)
            kind, text = split_kind(text, kind)  # before or after the line: `? 7: why`, `7: ? why`
            if target.typed:
                line, side, text = split_typed_line(text)
                kind, text = split_kind(text, kind)
            elif target.span is not None and (other := take_other_line(text)) is not None:
                line, side, kind, text = other
        try:
            caught = capture(inbox.repository(), inbox.cwd, file, line, side, context, commit, base)
        except Failure as failure:
            if not at:
                raise
            raise KeptAsDraft(failure.message, self._keep(text, file, line, kind)) from failure
        is_draft = draft or (inbox.drafts_first and not now)
        sent, author = timestamp(), call.current().sign("")
        review = request if request and inbox.requests.is_open(request) else 0  # its end must not refuse the words

        def make(number: int) -> Message:
            state = "draft" if is_draft else "queued"
            return Message(
                number,
                caught.place,
                text,
                sent,
                kind,
                state,
                broadcast=broadcast,
                suggestion=suggest,
                author=author,
                review=review,
            )

        place = caught.place
        same = (inbox.name(), place.file, place.line, place.side, place.commit, kind, text, sent, suggest or "", author)
        digest = sha256("\0".join(same).encode("utf-8", "surrogatepass"))
        message, counts = inbox.messages.add(make, caught.text, digest)
        note = describe_overflow(counts.waiting) if counts.waiting > contract.MOST_SHOWN else ""
        if quiet:
            if note:
                call.current().log("warning", note)  # beside the contract's sentence, not in it
            return Receipt(message.id, file, quiet=True)
        about = contract.file_row(place.file, place.commit)
        answers = describe_answers(*inbox.messages.hear_answers(ANSWERS_TOLD))
        drafts = counts.drafts if is_draft else 0
        return Receipt(
            message.id,
            about,
            place.line,
            counts.waiting,
            counts.last_read,
            note,
            drafts=drafts,
            answers=answers,
            requests=counts.requests,
        )

    def _keep(self, text: str, file: str, line: str, kind: Kind) -> int:
        """Keep as a draft what a person typed and what cannot be sent. Returns its number."""
        words = f"{text}\n\n(meant for {file}{':' if line else ''}{line})" if file else text

        def make(number: int) -> Message:
            return Message(number, Place(""), words, timestamp(), kind, "draft", author=call.current().sign(""))

        return self._inbox.messages.add(make)[0].id

    @reads("inbox_list", shell="inbox list")
    def list_messages(
        self,
        all: Annotated[bool, Meta(description="also those addressed, declined or dismissed")] = False,
        drafts: Annotated[bool, Meta(description="only what is not sent yet")] = False,
        after: Annotated[int, Meta(ge=0, description="only those with a higher number")] = 0,
    ) -> Listed:
        """List the messages people sent about this repository that are still open, with where their code is now."""
        self._inbox.take_legacy()
        store, person = self._inbox.messages, call.current().person
        look = store.look(*(["draft"] if drafts or person else []), *(["closed"] if all else []))
        messages = [*([] if drafts else look.messages), *look.others]
        messages = sorted((one for one in messages if one.id > after), key=lambda message: message.id)
        if look.damaged:
            numbers = ", ".join(f"#{number}" for number in look.damaged)
            call.current().tell_damage(f"damaged and not shown: {numbers}. Send them again")
        shown = tuple(self._inbox.show(message) for message in messages)
        page = shown if person else cut_page(shown)
        note = "" if page else self._inbox.warn_outside()
        asked = "drafts" if drafts else "all" if all else ""
        return Listed(page, find_last(look.messages), len(shown) - len(page), look.answers, note, asked)

    @reads("inbox_show", shell="inbox show", positional=("id",))
    def show(
        self,
        id: Number,
        start: Annotated[int, Meta(ge=0, description="the character to begin at, for a long one")] = 0,
    ) -> Shown | Printed:
        """Show one message with its code, its hunk and its replies."""
        shown = self._inbox.show(self._inbox.messages.get(id))
        piece, end, left = shown.tell(start, LONGEST_SHOWN)
        if start == 0 and (call.current().person or not left):
            return shown
        more = f"\n… {left} characters more: start={end}" if left else ""
        return (PrintedPart if shown.has_others else Printed)(piece + more)

    @writes("inbox_edit", shell="inbox edit", positional=("id",), flags={"comment": "c"}, tool=False)
    def edit(
        self,
        id: Number,
        comment: Annotated[str, Meta(description="the new words; without them your editor opens")] = "",
    ) -> Changed:
        """Change the words of a message that no assistant has read yet."""
        if comment:
            message = self._inbox.messages.edit(id, check_comment(comment))
            return Changed(self._inbox.show(message), f"#{id} changed")
        return Changed(self._inbox.show(self._inbox.retype(id)), f"#{id} changed")

    @destroys("inbox_withdraw", shell="inbox withdraw", positional=("id",), tool=False)
    def withdraw(self, id: Number) -> Changed:
        """Take back a message that no assistant has read yet."""
        return Changed(self._inbox.show(self._inbox.messages.withdraw(id)), f"#{id} withdrawn")

    @writes("inbox_reopen", shell="inbox reopen", positional=("id",), tool=False)
    def reopen(self, id: Number) -> Changed:
        """Queue a message again that was read or closed."""
        return Changed(self._inbox.show(self._inbox.messages.reopen(id)), f"#{id} queued again")
