"""Received events: kept once, in order, bounded; described without what a reader must not see."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from postil.core.ports import Delivery
from postil.gitlab import events
from postil.gitlab.events import EventLog, describe_event
from postil.gitlab.policy.guard import WITHHELD
from postil.storage.memory import MemoryState


def delivered(name: str, event: str = "issues", **body: Any) -> Delivery:
    return Delivery(name, event, 7, "group/app", 1e9, Raw(msgspec.json.encode(body)))


def kept(log: EventLog, after: str = "", limit: int = 1000) -> list[str]:
    return [delivery.id for _, delivery in log.read_after(after, limit, lambda _: True)]


def test_an_event_is_kept_once_however_often_it_comes() -> None:
    log = EventLog(MemoryState())
    assert [log.keep(delivered(name)) for name in ("a", "b", "a")] == [True, True, False]
    assert kept(log) == ["a", "b"]


def test_events_are_read_in_pages_and_filtered() -> None:
    log = EventLog(MemoryState())
    for number in range(450):
        log.keep(delivered(f"{number}", "push" if number % 2 else "issues"))
    first = log.read_after("", 3, lambda delivery: delivery.event == "push")
    assert [delivery.id for _, delivery in first] == ["1", "3", "5"]
    assert kept(log, first[-1][0], 2) == ["6", "7"]
    assert len(log.read_after("", 1000, lambda delivery: delivery.event == "push")) == 225


def test_only_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST", 3)
    log = EventLog(MemoryState())
    for name in "abcde":
        log.keep(delivered(name))
    assert kept(log) == ["c", "d", "e"]


def test_a_mark_stands_behind_what_was_kept_and_before_what_comes() -> None:
    log = EventLog(MemoryState())
    log.keep(delivered("before"))
    mark = log.mark_end()
    log.keep(delivered("after"))
    assert kept(log, mark) == ["after"]


def test_who_listens_hears_of_a_delivery() -> None:
    heard: list[Delivery] = []
    EventLog(MemoryState(), heard.append).heard(delivered("a"))
    EventLog(MemoryState()).heard(delivered("b"))
    assert [one.id for one in heard] == ["a"]


def test_an_event_says_what_it_is_about() -> None:
    about = {"title": "It\u200b breaks", "action": "open", "url": "https://x"}
    event = describe_event(delivered("a", object_attributes=about, user={"username": "alice"}))
    assert (event.title, event.action, event.user, event.url, event.payload) == (
        "It breaks",
        "open",
        "alice",
        "https://x",
        None,
    )
    assert event.received_at == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1e9))
    assert event.line() == "2001-09-09T01:46:40Z issues open group/app It breaks by alice"
    push = describe_event(delivered("b", "push", ref="refs/heads/main", user_username="bob"))
    assert (push.title, push.user, push.line()) == ("main", "bob", "2001-09-09T01:46:40Z push group/app main by bob")
    assert len(describe_event(delivered("c", object_attributes={"title": "x" * 999})).title) == 300


def test_a_payload_is_whole_and_clean() -> None:
    body: dict[str, Any] = {"k\u200bey": ["a\u200b", {"b": "c\u200b"}, 1, None]}
    event = describe_event(delivered("a", "issues", **body), payload=True)
    assert event.payload is not None
    assert msgspec.json.decode(event.payload) == {"key": ["a", {"b": "c"}, 1, None]}


@pytest.mark.parametrize(
    ("event", "level", "withheld"),
    [
        ("issues", 20, True),
        ("issues", None, True),
        ("issues", 0, False),
        ("issues", 10, False),
        ("merge_requests", 20, True),
        ("push", 20, False),
        ("pipelines", 20, False),
        ("wiki", 20, False),
    ],
)
def test_locked_what_anybody_may_have_written_is_withheld(event: str, level: int | None, withheld: bool) -> None:
    project = {} if level is None else {"visibility_level": level}
    delivery = delivered("a", event, project=project, object_attributes={"title": "words"})
    shown = describe_event(delivery, payload=True, locked=True)
    assert (shown.title == WITHHELD, shown.payload is None) == (withheld, withheld)
    assert describe_event(delivery, payload=True).title == "words"


def test_a_payload_that_nests_too_deep_is_left_out() -> None:
    body = b'{"object_attributes":{"title":"t"},"a":' + b"[" * 900 + b"]" * 900 + b"}"
    event = describe_event(Delivery("d", "issues", 1, "g/p", 0.0, Raw(body)), payload=True)
    assert (event.title, event.payload) == ("t", None)


BODY = msgspec.json.encode(delivered("x", note="@")).replace(b"@", b"\xff")
"""What nobody looks into before the event is described."""


@pytest.mark.parametrize("value", [b"{", b"{}", b"\xff", b'{"id":"\xff"}', BODY])
def test_a_damaged_event_says_so_and_hides_no_other(value: bytes) -> None:
    state = MemoryState()
    log = EventLog(state)
    for name in ("a", "b", "c"):
        log.keep(delivered(name))
    with state.writing() as changes:
        key = changes.range(events.SPACE)[1][0]
        changes.put(events.SPACE, key, value)
    assert kept(log) == ["a", key, "c"]
    newest = log.read_before("", 10, lambda _: True)
    assert [describe_event(delivery, payload=True).event for _, delivery in newest] == ["issues", "damaged", "issues"]
