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


async def test_unknown_toolsets_and_too_many_views_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoints = await make()
    with pytest.raises(Refused, match="no toolset 'nothing'"):
        endpoints.find(View(toolsets=("nothing",)))
    monkeypatch.setattr(module, "NARROWED", 1)
    with pytest.raises(Unavailable):
        endpoints.find(View(writes=False))
