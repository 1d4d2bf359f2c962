"""Live pages: one stream of server-sent events a tab, which says what changed. The script then reads that again.

Events are cues, never content: `event: changed`, `data: inbox`. What may be watched is what the person may read, since
each subject is a resource of the registry that they see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from postil.core.failure import Failure
from postil.wire.runtime.watches import Watches
from postil.wire.transports.http.asked import Receive, Send

SUBJECTS = {
    "inbox": "postil://inbox",
    "changes": "postil://changes",
    "comments": "comment://workspace/all",
    "issues": "issues://all",
    "gitlab": "gitlab://webhooks/events",
}
"""What a region of a page can follow, and the resource that tells of it."""
HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),
]
RECHECK = 2.0
PING_EVERY = 15.0
MOST_STREAMS = 256
MOST_OF_ONE = 48
"""Streams of one person, on all replicas together."""


class LiveStreams:
    """The open streams of one process."""

    def __init__(self) -> None:
        self._wakes: set[asyncio.Event] = set()
        self._is_ending = False

    @property
    def open(self) -> int:
        """How many there are."""
        return len(self._wakes)

    async def serve(
        self,
        subjects: list[str],
        watches: Watches,
        is_known: Callable[[], Awaitable[bool]],
        receive: Receive,
        send: Send,
    ) -> None:
        """Tell one tab of changes, until it goes, its credential ends or the server does."""
        due: set[str] = set()
        wake = asyncio.Event()

        def heard(uri: str) -> None:
            due.add(uri)
            wake.set()

        watched: dict[str, str] = {}
        self._wakes.add(wake)
        left = asyncio.ensure_future(_wait_for_end(receive))
        left.add_done_callback(lambda _: wake.set())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            for subject in dict.fromkeys(subjects):
                uri = SUBJECTS.get(subject, "")
                try:
                    await watches.add(uri, heard)
                    watched[uri] = subject
                except Failure:
                    continue  # not offered, or not to this person
            names = " ".join(sorted(watched.values()))
            await _write(send, f"retry: 1000\nevent: ready\ndata: {names}\n\n")
            await self._tell(watched, due, wake, left, is_known, send)
        finally:
            self._wakes.discard(wake)
            left.cancel()
            for uri in watched:
                watches.remove(uri, heard)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(
        self,
        watched: dict[str, str],
        due: set[str],
        wake: asyncio.Event,
        left: asyncio.Future[None],
        is_known: Callable[[], Awaitable[bool]],
        send: Send,
    ) -> None:
        silent = 0.0
        while not left.done() and not self._is_ending:
            try:
                async with asyncio.timeout(RECHECK):
                    await wake.wait()
            except TimeoutError:
                if not await is_known():
                    await _write(send, "event: ended\ndata: \n\n")
                    return
                silent += RECHECK
                if silent >= PING_EVERY:
                    silent = 0.0
                    await _write(send, ": still here\n\n")
                continue
            wake.clear()
            names, silent = sorted({watched[uri] for uri in due}), 0.0
            due.clear()
            if names:
                await _write(send, f"event: changed\ndata: {' '.join(names)}\n\n")

    def close(self) -> None:
        """End every stream; their tabs come back when there is a server again."""
        self._is_ending = True
        for wake in self._wakes:
            wake.set()


async def _write(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode("ascii"), "more_body": True})


async def _wait_for_end(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
