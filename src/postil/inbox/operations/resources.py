"""What can be read and watched of the inbox: the resource of the contract, announcements, the status, the doctor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from postil.core.failure import Failure
from postil.core.group import MOST_OFFERED, Announcement, Finding, Tell, announcer, check, completer, glance
from postil.core.resource import resource
from postil.inbox import contract
from postil.inbox.answers import Listed, cut_page, show
from postil.inbox.message_records import REQUESTS
from postil.inbox.part import OUTSIDE, Inbox, client


class MessageResources:
    """Messages as others see them."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @resource("lazygit://messages", name="Lazygit Messages", watch="watch")
    def messages(self) -> str:
        """Messages from lazygit for code improvement"""
        self._inbox.take_legacy()
        waiting = self._inbox.messages.waiting(client(), contract.MOST_SHOWN)
        return contract.format_view([show(message, None) for message in waiting])

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when what `lazygit://messages` shows has changed. Returns a function that stops this."""
        seen = self._waiting_numbers()

        def look() -> None:
            nonlocal seen
            self._inbox.take_legacy()
            now = self._waiting_numbers()
            if now != seen:
                seen = now
                changed()

        return self._inbox.on_news(look)

    def _waiting_numbers(self) -> list[int]:
        return [message.id for message in self._inbox.messages.waiting("", 1000)]

    @resource("postil://inbox", name="Conversations", mime_type="application/json", watch="watch_conversations")
    def conversations(self) -> Listed:
        """The open messages of this repository with their answers"""
        shown = [self._inbox.show(message) for message in self._inbox.messages.open_messages()]
        page = cut_page(shown)
        return Listed(page, self._inbox.messages.sequence(), len(shown) - len(page))

    def watch_conversations(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when a message, its state or its answers changed. Returns a function that stops this."""
        seen = self._describe()

        def look() -> None:
            nonlocal seen
            self._inbox.take_legacy()
            now = self._describe()
            if now != seen:
                seen = now
                changed()

        return self._inbox.on_news(look)

    def _describe(self) -> tuple[object, ...]:
        """Returns what tells one moment of the conversations, and of what is reviewed, from another."""
        with self._inbox.state.reading() as records:
            kept = [records.range(f"inbox/{self._inbox.name()}/{space}") for space in ("reviewed", REQUESTS)]
        return self._inbox.messages.describe(), kept

    @announcer("new messages")
    def announce(self, tell: Tell) -> Callable[[], None]:
        """Tell of each message that is queued from now on: its file, never its words."""
        store = self._inbox.messages
        last = store.sequence()

        def look() -> None:
            nonlocal last
            self._inbox.take_legacy()
            fresh = [message for message in store.waiting("", 1000) if message.sequence > last]
            for message in fresh:
                file = message.source or contract.file_row(message.place.file, message.place.commit)
                tell(Announcement("info", "New message from lazygit", {"file": file}))
            last = max([last, *(message.sequence for message in fresh)])

        return self._inbox.on_news(look)

    @check("moved repositories")
    def check_orphans(self) -> Finding:
        """Look for messages whose repository is not where it was."""
        from postil.inbox.homes import list_orphans, mark_of

        repository = self._inbox.repository_or_folder()
        try:
            orphans = list_orphans(self._inbox.state, repository)
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        ours = [one for one in orphans if one.mark == mark_of(repository)]
        if ours:
            seen = f"{ours[0].waiting} open messages are kept for {ours[0].root}, which was this repository"
            return Finding("warning", seen, "Run `postil inbox adopt --fix`")
        if orphans:
            seen = f"{len(orphans)} repositories with open messages are gone, the first was {orphans[0].root}"
            return Finding("warning", seen, "If one of them was this one, run `postil inbox adopt --path PATH`")
        return Finding("ok", "none has messages left behind")

    @check("messages")
    def check_inbox(self) -> Finding:
        """See whether messages can be kept."""
        try:
            counts, damaged = self._inbox.messages.counts(), self._inbox.messages.look().damaged
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        if damaged:
            numbers = ", ".join(f"#{number}" for number in damaged)
            return Finding("error", f"these messages are damaged: {numbers}", "Send them again; the others are whole")
        if outside := self._inbox.warn_outside():
            return Finding("warning", outside.removesuffix(OUTSIDE).rstrip(), OUTSIDE)
        return Finding("ok", f"{counts.waiting} {'message' if counts.waiting == 1 else 'messages'} waiting")

    @completer("id")
    def complete_id(self, typed: str, given: Mapping[str, object]) -> dict[str, str]:
        """Returns the messages whose number begins so, open ones first, and what they say."""
        look = self._inbox.messages.look("draft", "closed")
        found = [*look.messages, *look.others]
        begins = [each for each in found if str(each.id).startswith(typed)]
        return {str(each.id): each.comment for each in begins[:MOST_OFFERED]}

    @glance
    def glance(self) -> str:
        """One line for `postil status`."""
        counts, answers = self._inbox.messages.counts(), self._inbox.messages.count_answers()
        said = [f"{counts.waiting} {'message' if counts.waiting == 1 else 'messages'} waiting"]
        read = self._inbox.messages.count_read()
        said += [f"{read} read and open"] if read else []
        said += [f"{answers} new {'answer' if answers == 1 else 'answers'}"] if answers else []
        said += [f"{counts.drafts} {'draft' if counts.drafts == 1 else 'drafts'}"] if counts.drafts else []
        asked = counts.requests
        said += [f"{asked} {'review' if asked == 1 else 'reviews'} asked for (postil inbox requests)"] if asked else []
        return ", ".join(said)
