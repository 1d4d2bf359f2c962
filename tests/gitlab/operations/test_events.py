"""Received events, listed page by page, read and watched as a resource."""

from __future__ import annotations

import pytest
from msgspec import Raw

from postil.core import call
from postil.core.call import Call, Caller
from postil.core.failure import Failure
from postil.core.ports import Delivery
from postil.gitlab.events import EventLog
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from postil.storage.memory import MemoryState
from tests.emulator.app import Emulator
from tests.emulator.world import Token
from tests.gitlab.conftest import Connect
from tests.gitlab.groups import Groups
from tests.gitlab.kept_events import GUEST_TOKEN, PROJECT, delivered

pytestmark = pytest.mark.anyio


async def test_only_events_of_listed_projects_are_shown(address: str) -> None:
    log = EventLog(MemoryState())
    for number, path in ((123, "username/my-project"), (124, "group/sub/open-tools"), (None, "")):
        log.keep(Delivery(f"of-{number}", "push", number, path, 0.0, Raw(b"{}")))
    for allowed, seen in (((), 3), (("123",), 1), (("Username/My-Project",), 1), (("124",), 1), (("9",), 0)):
        part = Groups(GitLab(Connection(Instance(address), lambda: "", projects=allowed), log))
        assert len((await part.events.list_webhook_events()).events) == seen, allowed


async def test_a_page_whose_events_are_hidden_says_where_to_go_on(connect: Connect, log: EventLog) -> None:
    call.enter(Call(Caller("gitlab:host:900", surface="http", credential=GUEST_TOKEN)))
    try:
        part = connect(events=log)
        first = await part.events.list_webhook_events(PROJECT, after="0", limit=2)
        assert ([one.id for one in first.events], bool(first.next_after)) == (["open"], True)
        assert f"after={first.next_after}" in str(first.for_model())
        assert (await part.events.read_project_events(str(PROJECT))).events == first.events
        with pytest.raises(Failure):
            await part.events.read_project_events("../1")
    finally:
        call.enter(Call())


async def test_who_may_not_read_events_may_not_watch_them(connect: Connect, log: EventLog, emulator: Emulator) -> None:
    stranger = 901
    emulator.world.users[stranger] = {**emulator.world.users[456], "id": stranger, "username": "stranger"}
    emulator.world.tokens["glpat-emulator-stranger"] = Token(stranger, ("api",))
    part = connect(events=log)
    await part.events.check()  # the local user
    try:
        call.enter(Call(Caller("gitlab:host:900", surface="http", credential=GUEST_TOKEN)))
        await part.events.check(str(PROJECT))
        with pytest.raises(Failure, match="project by project"):
            await part.events.check()
        call.enter(Call(Caller("gitlab:host:901", surface="http", credential="glpat-emulator-stranger")))
        with pytest.raises(Failure, match="GitLab API Error"):
            await part.events.check(str(PROJECT))
    finally:
        call.enter(Call())


async def test_only_new_events_wake_who_watches(connect: Connect) -> None:
    state = MemoryState()
    log = EventLog(state)
    told: list[int] = []
    stop = connect(events=log).events.watch_events("gitlab://webhooks/events", lambda: told.append(1))
    with state.writing() as changes:
        changes.put("inbox", "1", b"another part's")
    assert told == []
    log.keep(delivered("one", "push"))
    assert told == [1]
    stop()


async def test_who_watches_a_project_is_not_told_of_another(connect: Connect) -> None:
    log = EventLog(MemoryState())
    told: list[int] = []
    watch = connect(events=log).events.watch_events
    stop = watch("gitlab://webhooks/events/124", lambda: told.append(124))
    stop_all = watch("gitlab://webhooks/events", lambda: told.append(0))
    log.keep(Delivery("a", "push", 123, "username/my-project", 0.0, Raw(b"{}")))
    assert told == [0]
    log.keep(Delivery("b", "push", 124, "group/sub/open-tools", 0.0, Raw(b"{}")))
    assert told == [0, 124, 0]
    stop()
    stop_all()
    with pytest.raises(Failure):
        watch("gitlab://webhooks/events/../1", lambda: None)
