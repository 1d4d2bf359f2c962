"""Webhook events that GitLab sent us: kept in the state database, the oldest forgotten first."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

import msgspec
from msgspec import Raw, Struct

from postil.core import call
from postil.core.failure import Failure
from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE
from postil.core.others.untrusted import clean
from postil.core.ports import Delivery, Records, State
from postil.gitlab.instance.records import Record
from postil.gitlab.policy.guard import WITHHELD

SPACE, SEEN, COUNTER = "gitlab/events", "gitlab/event-ids", "gitlab/events"
KEPT_SECONDS = 30 * 24 * 3600.0
SEEN_SECONDS = 24 * 3600.0
MOST = 5000
AT_ONCE = 100


class WebhookEvent(Struct, frozen=True, omit_defaults=True):
    """One event: what it is about, and GitLab's own payload, cleaned, when it was asked for."""

    id: str
    event: str
    received_at: str
    project_id: int | None
    project: str
    action: str = ""
    title: str = ""
    user: str = ""
    url: str = ""
    payload: Raw | None = None

    def line(self) -> str:
        """Return the event in one line."""
        when = call.current().tell_moment(self.received_at)
        words = (when, self.event, self.action, self.project, self.title, self.user and f"by {self.user}")
        return " ".join(word for word in words if word)


class EventLog:
    """The Deliveries port over the state database."""

    def __init__(self, state: State, on_kept: Callable[[Delivery], None] | None = None) -> None:
        self._state = state
        self._on_kept = on_kept

    def keep(self, delivery: Delivery) -> bool:
        """Keep it durably; False when it was kept before."""
        with self._state.writing() as changes:
            if changes.get(SEEN, delivery.id) is not None:
                return False
            number = changes.next(COUNTER)
            changes.put(SEEN, delivery.id, b"1", time.time() + SEEN_SECONDS)
            changes.put(SPACE, _make_key(number), msgspec.json.encode(delivery), time.time() + KEPT_SECONDS)
            if number > MOST:
                changes.delete(SPACE, _make_key(number - MOST))
        return True

    def mark_end(self) -> str:
        """Return a key behind every event kept so far, and before every one to come."""
        with self._state.writing() as changes:
            return _make_key(changes.next(COUNTER))

    def heard(self, delivery: Delivery) -> None:
        """Call `on_kept`: a new event was kept and answered."""
        if self._on_kept is not None:
            self._on_kept(delivery)

    def read_after(self, key: str, limit: int, keeps: Callable[[Delivery], bool]) -> list[tuple[str, Delivery]]:
        """Return events behind this key, the oldest first."""
        found: list[tuple[str, Delivery]] = []
        with self._state.reading() as records:
            while len(found) < limit:
                page = records.range(SPACE, key, 200)
                for name, value in page:
                    delivery = _decode(name, value)
                    if keeps(delivery) and len(found) < limit:
                        found.append((name, delivery))
                if len(page) < 200:
                    break
                key = page[-1][0]
        return found

    def read_before(self, key: str, limit: int, keeps: Callable[[Delivery], bool]) -> list[tuple[str, Delivery]]:
        """Return events before this key, or before the end, the newest first."""
        found: list[tuple[str, Delivery]] = []
        with self._state.reading() as records:
            end = int(key) if key else self._find_end(records)
            lowest = max(1, end - MOST)  # older ones are gone
            while end > lowest and len(found) < limit:
                start = max(0, end - 1 - AT_ONCE)
                page = [pair for pair in records.range(SPACE, _make_key(start), AT_ONCE) if int(pair[0]) < end]
                for name, value in reversed(page):
                    delivery = _decode(name, value)
                    if keeps(delivery) and len(found) < limit:
                        found.append((name, delivery))
                end = start + 1
        return found

    @staticmethod
    def _find_end(records: Records) -> int:
        """Return a number behind the last event: asked for like a name in a telephone book, not read through."""
        low, high = 0, 1
        while records.range(SPACE, _make_key(high), 1):
            low, high = high, high * 2
        while low < high:
            middle = (low + high) // 2
            if records.range(SPACE, _make_key(middle), 1):
                low = middle + 1
            else:
                high = middle
        return low + 1

    def watch(self, changed: Callable[[], None], project: int | None = None) -> Callable[[], None]:
        """Call `changed` after new events, of one project or of all. Returns a function that stops the watch."""
        last, _ = self._look_behind("", None)

        def look() -> None:  # most writes of the state are about other things
            nonlocal last
            last, is_wanted = self._look_behind(last, project)
            if is_wanted:
                changed()

        return self._state.on_change(look)

    def _look_behind(self, after: str, project: int | None) -> tuple[str, bool]:
        """Returns the last key, and whether an event behind `after` is of this project (None: of any)."""
        is_wanted = False
        try:
            with self._state.reading() as records:
                while page := records.range(SPACE, after, 1000):
                    is_wanted = is_wanted or any(project in (None, _decode(*each).project_id) for each in page)
                    after = page[-1][0]
        except Failure:  # away or busy: the next change looks again
            pass
        return after, is_wanted


def _decode(name: str, value: bytes) -> Delivery:
    """Return a kept event; one that cannot be read any more says so in its place."""
    try:
        return msgspec.json.decode(value.decode("utf-8"), type=Delivery)  # the body, too, which is not looked into here
    except UNREADABLE:
        return Delivery(name, "damaged", None, "", 0.0, Raw(b"{}"))


def _make_key(number: int) -> str:
    return f"{number:016d}"


def describe_event(delivery: Delivery, *, payload: bool = False, locked: bool = False) -> WebhookEvent:
    """Return what an event is about; `locked` leaves out what anybody may have written in a public project."""
    body: object = decode_json(delivery.body)
    said = Record(body)
    about = said.record("object_attributes")
    noted = about.text("note") if delivery.event == "notes" else None
    title = (noted or about.text("title") or about.text("ref") or said.text("ref") or "").removeprefix("refs/heads/")
    user = said.record("user")
    if locked and delivery.event not in ("push", "pipelines", "wiki") and _is_public(said):
        title, payload = WITHHELD, False
    return WebhookEvent(
        clean(delivery.id),
        delivery.event,
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(delivery.received)),
        delivery.project_id,
        clean(delivery.project),
        action=clean(about.text("action") or about.text("status") or ""),
        title=clean(title)[:300],
        user=clean(user.text("username") or said.text("user_username") or ""),
        url=clean(about.text("url") or ""),
        payload=_write_payload(body) if payload else None,
    )


def _is_public(said: Record) -> bool:
    project = said.record("project")
    return project.number("visibility_level") not in (0, 10)  # where it is not said, anybody may be


def _write_payload(body: object) -> Raw | None:
    try:
        return Raw(msgspec.json.encode(_clean_all(body)))
    except RecursionError:  # kept by a version that took bodies of any depth
        return None


def _clean_all(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_all(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {clean(key): _clean_all(item) for key, item in cast("dict[str, object]", value).items()}
    return value
