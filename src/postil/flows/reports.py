"""Events of GitLab's webhooks become notes in the inbox, for those who asked for it (`webhooks.inbox`).

The kept event is the source and a cursor in the state says how far it was handed over, so a crash loses none; the inbox
knows deliveries by name, so none comes twice. Not here: taking events in, which is acknowledged before any of this.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection

from postil.core.failure import Failure
from postil.core.others.framing import frame
from postil.core.others.untrusted import clean, shorten
from postil.core.ports import Delivery, State
from postil.gitlab.events import EventLog, describe_event
from postil.gitlab.policy.event_reach import is_confidential
from postil.inbox.part import Inbox

CURSORS = "flows/reports"
AT_ONCE = 50
TRY_AGAIN = 5.0
NOUNS = {
    "issues": "issue",
    "merge_requests": "merge request",
    "pipelines": "pipeline",
    "wiki": "wiki page",
    "notes": "note",
}
UNDER_WAY = ("created", "waiting_for_resource", "preparing", "pending", "running", "scheduled")
_ADDRESS = re.compile(r"https?://[\x21-\x7e]{1,500}")


class Reports:
    """The way from kept events to one repository's inbox."""

    def __init__(
        self, log: EventLog, inbox: Inbox, state: State, kinds: Collection[str], *, locked: bool = False
    ) -> None:
        self._log, self._inbox, self._state, self._kinds = log, inbox, state, kinds
        self._locked = locked
        self._news = threading.Event()

    def start(self) -> None:
        """Hand over what is left from before and, whenever woken, what is new; in a thread that ends with us."""
        try:
            self._find_cursor()  # before the first event can come
        except Failure:
            pass  # the state is away, so no event can be kept either
        self._news.set()
        threading.Thread(target=self._work, name="webhook events to inbox", daemon=True).start()

    def wake(self) -> None:
        """There is a new event. Does not block."""
        self._news.set()

    def _work(self) -> None:
        pause: float | None = None
        while True:
            self._news.wait(pause)
            self._news.clear()
            try:
                self.hand_over()
                pause = None
            except Failure:  # the state is busy or away: the events wait in it
                pause = TRY_AGAIN

    def hand_over(self) -> int:
        """Hand over all events behind the cursor; how many messages were made. Whoever asks first gets no old ones."""
        made, cursor = 0, self._find_cursor()
        while page := self._log.read_after(cursor, AT_ONCE, lambda delivery: True):
            for cursor, delivery in page:  # noqa: B007 # the last one is where to go on
                said = write_report(delivery, locked=self._locked) if delivery.event in self._kinds else ""
                if said:
                    made += self._inbox.receive("GitLab", said, delivery.id)
            self._advance(cursor)
        return made

    def _find_cursor(self) -> str:
        name = self._inbox.name()
        with self._state.reading() as records:
            kept = records.get(CURSORS, name)
        if kept is not None:
            return kept.decode()
        cursor = self._log.mark_end()
        self._advance(cursor)
        return cursor

    def _advance(self, cursor: str) -> None:
        name = self._inbox.name()
        with self._state.writing() as changes:
            if cursor.encode() > (changes.get(CURSORS, name) or b""):  # another replica may be further
                changes.put(CURSORS, name, cursor.encode())


def write_report(delivery: Delivery, *, locked: bool = False) -> str:
    """Return the event in a sentence; empty for one of the many steps of a pipeline that has not ended."""
    event = describe_event(delivery, locked=locked)
    if event.event == "pipelines" and event.action in UNDER_WAY:
        return ""
    what = " ".join(word for word in (NOUNS.get(event.event, event.event), _clean_name(event.action)) if word)
    who = f" by {_clean_name(event.user)}" if event.user else ""
    sentence = f"{what} in {_clean_name(event.project) or 'a project'}{who}"
    address = event.url if _ADDRESS.fullmatch(event.url) else ""
    if is_confidential(delivery):
        title = "(confidential: GitLab shows it to those who may read it)"
    else:
        title = frame(shorten(" ".join(event.title.split()), 200), "title") if event.title else ""
    return "\n".join(part for part in (f"{sentence} {address}".rstrip(), title) if part)


def _clean_name(text: str) -> str:
    """Return a name by others so that it cannot be read as anything but a name."""
    return shorten(re.sub(r"[^\w./@+-]+", "_", clean(text)), 255)
