"""Reviews: drafts sent as one, suggestions, what changed since, and the conversation as a whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, cast, get_args

from msgspec import Meta

from postil.core.failure import Failure
from postil.core.operation import reads, writes
from postil.inbox.answers import Changed, Listed, Rounds, Shown, Submitted, describe_answers
from postil.inbox.failures import FitsNoMore
from postil.inbox.message_records import OPEN
from postil.inbox.model import LONGEST_COMMENT, Message, Number, Reply, check_comment
from postil.inbox.operations.printed import Printed, PrintedDocument
from postil.inbox.part import Inbox, name_speaker, timestamp
from postil.inbox.review_requests.request import Verdict

if TYPE_CHECKING:
    from postil.workspace.repository import Repository

MOST_ANSWERS = 20
HELP = (
    "NUMBER shows one, r NUMBER TEXT answers, d NUMBER resolves, x NUMBER dismisses, o NUMBER reopens, "
    "e NUMBER opens it in your editor, s [SUMMARY] submits the drafts, c copies all as Markdown, l lists, q ends"
)
ANSWER_HELP = (
    "v NUMBER approve|comment|request_changes [TEXT] answers a review that is asked for, with your drafts; "
    "x NUMBER dismisses it"
)


class ReviewTools:
    """Operations on several messages at once."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @writes("inbox_submit", shell="inbox submit", tool=False)
    def submit(
        self, summary: Annotated[str, Meta(description="what you say of the whole; - reads standard input")] = ""
    ) -> Submitted:
        """Send all drafts to the assistant as one review."""
        sent, counts = self._inbox.messages.submit(check_comment(summary) if summary.strip() else "")
        return Submitted(sent[0].review, tuple(message.id for message in sent), counts.waiting)

    @reads("inbox_export", shell="inbox export", toolset="extra", shell_only=("clipboard",))
    def export(
        self,
        all: Annotated[bool, Meta(description="also those addressed, declined or dismissed")] = False,
        clipboard: Annotated[bool, Meta(description="put it on the clipboard instead of printing it")] = False,
    ) -> Printed:
        """Write the drafts and open messages of this repository as Markdown."""
        from postil.inbox.drafting.markdown import format_markdown

        store = self._inbox.messages
        messages = store.select("draft", *OPEN, *(["closed"] if all else []))
        text = format_markdown([self._inbox.show(one) for one in messages])
        if not clipboard:
            return PrintedDocument(text)
        from postil.inbox.drafting.clipboard import copy_text

        terminal = self._inbox.terminal
        return Printed(copy_text(text, terminal.clipboards if terminal else (), terminal.drawer if terminal else ""))

    @writes("inbox_apply", shell="inbox apply", positional=("id",), toolset="extra")
    def apply(self, id: Number) -> Changed:
        """Put the text that a message suggests in the place of its lines, if they are still as they were."""
        from postil.inbox.drafting.suggestions import apply_suggestion
        from postil.workspace.files import atomic_write
        from postil.workspace.paths import RelativePath

        message, repository = self._inbox.messages.get(id), self._inbox.repository()
        kept, file = self._inbox.messages.text_of(message), RelativePath(message.place.file)
        content = apply_suggestion(repository, message, kept)

        def compare() -> None:
            if apply_suggestion(repository, message, kept) != content:  # somebody else wrote meanwhile
                raise FitsNoMore(id, "in a file that is being changed")

        atomic_write(repository.root, file, content, compare)
        message = self._inbox.messages.reply(id, Reply(name_speaker(), f"Applied to {message.place.file}", timestamp()))
        return Changed(self._inbox.show(message), f"#{id} applied to {message.place.file}")

    @reads("inbox_rounds", shell="inbox rounds", toolset="extra")
    def rounds(
        self,
        all: Annotated[bool, Meta(description="also those addressed, declined or dismissed")] = False,
        id: Annotated[int, Meta(ge=0, description="only the message of this number")] = 0,
    ) -> Rounds:
        """Show what changed in the lines of each message since it was sent."""
        store = self._inbox.messages
        if id:
            messages = [one for one in (store.get(id),) if one.state != "draft"]
        else:
            messages = store.select(*OPEN, *(["closed"] if all else []))
        repository = self._inbox.repository_or_folder()
        shown = [(self._inbox.show(one), self._describe_change(repository, one)) for one in messages]
        return Rounds(tuple(shown))

    def _describe_change(self, repository: Repository, message: Message) -> str:
        from postil.inbox.drafting.suggestions import describe_change

        try:
            return describe_change(repository, message, self._inbox.messages.text_of(message))
        except Failure as failure:
            return failure.message

    @writes("inbox_adopt", shell="inbox adopt", tool=False)
    def adopt(
        self,
        path: Annotated[str, Meta(description="where the repository was")] = "",
        fix: Annotated[bool, Meta(description="take over what is surely this repository's")] = False,
    ) -> Printed:
        """Take over the messages of a repository that was renamed or moved; without a path, list them."""
        from postil.inbox.homes import adopt, list_orphans, mark_of

        repository = self._inbox.repository()
        orphans = list_orphans(self._inbox.state, repository)
        wanted = [one for one in orphans if (fix and one.mark == mark_of(repository)) or (path and one.root == path)]
        rows = [f"{adopt(self._inbox.state, one, repository)} messages of {one.root} are here now" for one in wanted]
        if not fix and not path:
            rows = [f"{one.root}: {one.waiting} open messages; postil inbox adopt --path {one.root}" for one in orphans]
        return Printed("\n".join(rows) or "No messages wait for a repository that is gone")

    # -- the conversation in a terminal -------------------------------------------------------------------------------

    @writes("inbox_talk", shell="inbox talk", tool=False)
    def talk(
        self, file: Annotated[str, Meta(description="only messages about this file or folder")] = ""
    ) -> Iterator[str]:
        """Show the conversation about this repository, and answer, resolve or reopen in it."""
        yield self._list(file)
        told, more = self._inbox.messages.hear_answers(MOST_ANSWERS)
        if told:
            yield "\n".join(["", *describe_answers(told, more)])
        asked = self._list_requests()
        if asked:
            yield f"\n{asked}"
        yield f"\n{HELP}" + (f". {ANSWER_HELP}" if asked else "")
        while line := sys.stdin.readline(LONGEST_COMMENT):
            word, _, rest = line.strip().partition(" ")
            if word in ("q", "quit", ""):
                return
            try:
                yield self._answer(word, rest.strip(), file)
            except Failure as failure:
                yield f"{failure.message}. {failure.advice}"

    def _list(self, file: str) -> str:
        store = self._inbox.messages
        messages = [self._inbox.show(one) for one in store.select("draft", *OPEN)]
        inside = [one for one in messages if not file or one.file == file or one.file.startswith(f"{file}/")]
        return Listed(tuple(inside)).for_model()  # without hunks: a number shows one whole

    def _list_requests(self) -> str:
        from postil.inbox.operations.for_requests import RequestTools  # only who talks pays for it

        found = RequestTools(self._inbox).list_requests()
        return found.for_model() if found.requests else ""

    def _answer_request(self, number: int, rest: str) -> str:
        from postil.inbox.operations.for_requests import RequestTools

        verdict, _, text = rest.partition(" ")
        if verdict not in get_args(Verdict):
            return ANSWER_HELP
        return RequestTools(self._inbox).finish_review(number, cast("Verdict", verdict), text).for_model()

    def _answer(self, word: str, rest: str, file: str) -> str:
        store = self._inbox.messages
        if word == "l":
            return self._list(file)
        if word == "s":
            return self.submit(rest).for_model()
        if word == "c":
            return self.export(clipboard=True).for_model()
        number, _, text = (word, "", "") if _is_number(word) else rest.partition(" ")
        if not _is_number(number):
            return HELP
        which = int(number)
        if word == "r":
            self._show(store.reply_and_queue(which, Reply("you", check_comment(text), timestamp())))
            return f"#{which} queued again with your answer"
        if word == "v":
            return self._answer_request(which, text.strip())
        if word == "x" and self._inbox.requests.is_open(which):
            self._inbox.requests.cancel(which, "dismissed", text.strip(), timestamp())
            return f"Review {which} dismissed"
        if word in ("d", "x"):
            store.close(which, "addressed" if word == "d" else "dismissed", None, "", "")
            return f"#{which} {'addressed' if word == 'd' else 'dismissed'}"
        if word == "e":
            self._inbox.retype(which)
            return f"#{which} changed"
        if word == "o":
            store.reopen(which)
            return f"#{which} queued again"
        return self._show(store.get(which)).for_model() if _is_number(word) else HELP

    def _show(self, message: Message) -> Shown:
        return self._inbox.show(message)


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 12
