"""What assistants do with messages: check, acknowledge, reply, resolve, wait."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from postil.core import call
from postil.core.operation import writes
from postil.inbox.answers import Changed, Checked, Shown, Waited
from postil.inbox.model import Number, Outcome, Reply, check_comment
from postil.inbox.part import Inbox, client, name_speaker, timestamp

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

LONGEST_WAIT = 600
MOST_COUNTED = 1000
LOOK_AGAIN = 5.0
"""While waiting, how often to see whether the holder of a lease has died: nothing else would say so."""

LeaseName = Annotated[str, Meta(description="the lease that came with the message")]


class AssistantTools:
    """Operations on messages by those who receive them. The person at the shell may do all of them."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @writes("check_lazygit_messages", shell="inbox check")
    def check_messages(self) -> Checked:
        """Check for new messages from lazygit"""
        taken_in = self._inbox.take_legacy()
        delivered = self._inbox.deliver()
        if taken_in is not None:
            from postil.inbox.legacy import delete_if_unchanged  # only where the old file exists

            delete_if_unchanged(self._inbox.legacy_file, taken_in)
        more = len(self._inbox.messages.waiting(client(), MOST_COUNTED)) if delivered else 0
        note = "" if delivered else self._inbox.warn_outside()
        return Checked(tuple(one for one, _ in delivered), more, note)

    @writes("inbox_acknowledge", thing="id", shell="inbox ack", positional=("id",))
    def acknowledge(self, id: Number, lease: LeaseName = "") -> Changed:
        """Say that you have read a message, so that it is not delivered again. Refused when its lease has passed on."""
        message = self._inbox.messages.acknowledge(id, lease, _lease_owner())
        return Changed(self._inbox.show(message), f"#{id} seen")

    @writes("inbox_reply", thing="id", shell="inbox reply", positional=("id",))
    def reply(self, id: Number, text: Annotated[str, Meta(min_length=1, description="what to say")]) -> Changed:
        """Answer a message: the person sees it; what the person answers queues the message again."""
        store, said = self._inbox.messages, _make_reply(text)
        if call.current().person:
            return Changed(self._inbox.show(store.reply_and_queue(id, said)), f"#{id} queued again with your answer")
        return Changed(self._inbox.show(store.reply(id, said)), f"#{id} answered")

    @writes("inbox_resolve", thing="id", shell="inbox resolve", positional=("id",))
    def resolve(
        self,
        id: Number,
        outcome: Annotated[Outcome, Meta(description="what became of it")] = "addressed",
        reply: Annotated[str, Meta(description="what was done, or why not")] = "",
        lease: LeaseName = "",
    ) -> Changed:
        """Close a message: addressed when it is done, declined when it should not be done, dismissed otherwise."""
        said = _make_reply(reply) if reply.strip() else None
        tells = not call.current().person
        message = self._inbox.messages.close(id, outcome, said, lease, _lease_owner(), tells=tells)
        return Changed(self._inbox.show(message), f"#{id} {outcome}")

    @writes("inbox_wait", shell="inbox wait", waits=True, task="optional")
    async def wait(
        self,
        after: Annotated[int, Meta(ge=0, description="the sequence of your last wait")] = 0,
        seconds: Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="how long at most")] = 30,
    ) -> Waited:
        """Wait for the next message from lazygit and take it."""
        import asyncio  # only what waits needs a loop

        loop = asyncio.get_running_loop()
        news = asyncio.Event()
        deadline = loop.time() + seconds
        stop = await asyncio.to_thread(self._inbox.on_news, lambda: call_soon(loop, news.set))
        try:
            while True:
                news.clear()
                delivered = await asyncio.to_thread(self._deliver_after, after)
                left = deadline - loop.time()
                if delivered or left <= 0:
                    break
                # Not wait_for: before Python 3.12 it swallows a cancellation that comes together with news.
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, LOOK_AGAIN)):
                        await news.wait()
        finally:
            await asyncio.to_thread(stop)
        note = "" if delivered else self._inbox.warn_outside()
        return Waited(tuple(one for one, _ in delivered), max([after, *(sequence for _, sequence in delivered)]), note)

    def _deliver_after(self, after: int) -> list[tuple[Shown, int]]:
        self._inbox.take_legacy()
        call.current().check()
        if not call.current().is_heard:
            return []  # its client may come back; meanwhile the message is for the others
        return self._inbox.deliver(after)


def _lease_owner() -> str:
    """Returns who must own a lease: an assistant its own; the person at the shell may settle any message."""
    return "" if call.current().person else client()


def _make_reply(text: str) -> Reply:
    return Reply(name_speaker(), check_comment(text), timestamp())


def call_soon(loop: AbstractEventLoop, act: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        pass  # the loop has ended
