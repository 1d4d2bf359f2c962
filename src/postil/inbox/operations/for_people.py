"""What people do with their messages: send, list, show, edit, withdraw, reopen."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postil.core import call
from postil.core.operation import Spelling, destroys, reads, writes
from postil.inbox import contract
from postil.inbox.answers import Changed, Listed, Receipt, Shown, describe_overflow
from postil.inbox.capture import capture
from postil.inbox.model import Context, Kind, Message, Number, Side, check_comment, format_span
from postil.inbox.part import Inbox, timestamp


class PeopleTools:
    """Operations on messages by those who send them."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @writes(
        "inbox_send",
        shell="inbox send",
        flags={"file": "f", "comment": "c", "line": "l"},
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
                },
                "Send a comment about a file, as lazygit-mcp-bridge does.",
                requires=("file",),
                name="bridge_send",
            ),
        ),
        shell_only=("quiet",),
        tool=False,  # a message is what a person wrote: other assistants act on it
    )
    def send(
        self,
        comment: Annotated[str, Meta(description="the remark; - reads it from standard input")],
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
        quiet: Annotated[bool, Meta(description="say only that it was sent")] = False,
    ) -> Receipt:
        """Send a remark about a file, a line or a commit to the assistant."""
        text = check_comment(comment)
        inbox = self._inbox
        base = ""
        if at:
            from postil.inbox.target import parse_target, split_typed_line  # only from lazygit's menu

            target = parse_target(at)
            file, side, context, commit, base = target.file, target.side, target.context, target.commit, target.base
            line = format_span(target.span)
            if target.typed:
                line, side, text = split_typed_line(text)
        caught = capture(inbox.repository(), inbox.cwd, file, str(line), side, context, commit, base)

        def make(number: int) -> Message:
            return Message(number, caught.place, text, timestamp(), kind, broadcast=broadcast)

        message, counts = inbox.messages.add(make, caught.text)
        note = describe_overflow(counts.waiting) if counts.waiting > contract.MOST_SHOWN else ""
        if quiet:
            if note:
                call.current().log("warning", note)  # beside the contract's sentence, not in it
            return Receipt(message.id, file, quiet=True)
        about = contract.file_row(message.place.file, message.place.commit)
        return Receipt(message.id, about, message.place.line, counts.waiting, counts.last_read, note)

    @reads("inbox_list", shell="inbox list")
    def list_messages(
        self,
        all: Annotated[bool, Meta(description="also those addressed, declined or dismissed")] = False,
    ) -> Listed:
        """List the messages people sent about this repository that are still open, with where their code is now."""
        self._inbox.take_legacy()
        store = self._inbox.messages
        messages = store.open_messages()
        if all:
            messages = sorted([*store.closed_messages(), *messages], key=lambda message: message.id)
        damaged = store.damaged()
        if damaged:
            numbers = ", ".join(f"#{number}" for number in damaged)
            call.current().log("warning", f"damaged and not shown: {numbers}. Send them again")
        return Listed(tuple(self._inbox.show(message) for message in messages), store.sequence())

    @reads("inbox_show", shell="inbox show", positional=("id",), toolset="extra")
    def show(self, id: Number) -> Shown:
        """Show one message with its code, its hunk and its replies."""
        return self._inbox.show(self._inbox.messages.get(id))

    @writes("inbox_edit", shell="inbox edit", positional=("id",), flags={"comment": "c"}, tool=False)
    def edit(self, id: Number, comment: str) -> Changed:
        """Change the words of a message that no assistant has read yet."""
        message = self._inbox.messages.edit(id, check_comment(comment))
        return Changed(self._inbox.show(message), f"#{id} changed")

    @destroys("inbox_withdraw", shell="inbox withdraw", positional=("id",), tool=False)
    def withdraw(self, id: Number) -> Changed:
        """Take back a message that no assistant has read yet."""
        return Changed(self._inbox.show(self._inbox.messages.withdraw(id)), f"#{id} withdrawn")

    @writes("inbox_reopen", shell="inbox reopen", positional=("id",), tool=False)
    def reopen(self, id: Number) -> Changed:
        """Queue a message again that was read or closed."""
        return Changed(self._inbox.show(self._inbox.messages.reopen(id)), f"#{id} queued again")
