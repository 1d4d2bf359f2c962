"""The endpoints of one server, one for each view."""

from __future__ import annotations

import pytest

from postil.core.registry import Registry
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.visitor import View
from postil.surfaces.http import endpoints as module
from postil.surfaces.http.endpoints import Endpoints
from postil.wire.server import UNITED, Face, Server
from tests.core.echo import Echo

pytestmark = pytest.mark.anyio


async def make() -> Endpoints:
    return Endpoints(Server(Registry.of([("echo", Echo())]), Face("echo", "1.0.0", UNITED)))


async def test_the_same_view_is_the_same_endpoint_and_sees_as_much_as_it_may() -> None:
    endpoints = await make()
    whole, reading = endpoints.find(View()), endpoints.find(View(writes=False))
    assert endpoints.find(View()) is whole
    assert endpoints.find(View(writes=False)) is reading
    assert all(entry.effect == "reads" for entry in reading.server.registry.operations.values())
    assert [*endpoints.all()] == [whole, reading]
    await endpoints.close(0)


async def test_unknown_toolsets_are_refused() -> None:
    endpoints = await make()
    with pytest.raises(Refused, match="no toolset 'nothing'"):
        endpoints.find(View(toolsets=("nothing",)))


async def test_what_requests_ask_for_takes_nothing_from_what_tokens_may_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """One caller asked for 64 combinations of toolsets; every token that only reads was refused from then on."""
    monkeypatch.setattr(module, "NARROWED", 1)
    endpoints = await make()
    first, second = (View(writes=writes, toolsets=("echo",)) for writes in (True, False))
    endpoints.find(first, "evil").streams = 1
    with pytest.raises(Unavailable):
        endpoints.find(second, "evil")
    assert endpoints.find(View(writes=False), "reader")
    assert endpoints.find(View(workspace=False), "stranger")


async def test_the_view_that_was_used_longest_ago_makes_room_unless_something_is_open_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "NARROWED", 2)
    endpoints = await make()
    one, two, three = (
        View(workspace, writes, ("echo",)) for workspace, writes in ((True, True), (True, False), (False, True))
    )
    kept, unused = endpoints.find(one), endpoints.find(two)
    kept.streams = 1
    added = endpoints.find(three)
    assert [*endpoints.all()][1:] == [kept, added]
    added.streams = 1
    with pytest.raises(Unavailable):
        endpoints.find(two)
    added.streams = 0
    assert endpoints.find(two) is not unused
    assert endpoints.find(one) is kept


async def test_one_caller_has_a_share_of_the_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OF_ONE", 1)
    endpoints = await make()
    one, two = (View(writes=writes, toolsets=("echo",)) for writes in (True, False))
    endpoints.find(one, "evil").streams = 1
    with pytest.raises(Unavailable):
        endpoints.find(two, "evil")
    assert endpoints.find(one, "evil")
    assert endpoints.find(two, "good")


async def test_views_and_workspaces_share_threads_and_bounds() -> None:
    """Eight workspaces held 151 MB for readings that one bound is for: each had threads and room of its own."""
    here = await make()
    main = here.find(View())
    there = Endpoints(Server(Registry.of([("echo", Echo())]), Face("echo", "1.0.0", UNITED)), beside=main)
    for endpoints in (here, there):
        for view in (View(), View(writes=False), View(toolsets=("echo",))):
            endpoint = endpoints.find(view)
            assert endpoint.opened is main.opened
            assert endpoint.server.pool is main.server.pool
