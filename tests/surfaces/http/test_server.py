"""uvicorn with what it leaves out: heads that are bounded, clients that are waited for only so long, an end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from postil.surfaces.http.server import BODY_PATIENCE, HEADER_PATIENCE, LARGEST_HEAD, PatientProtocol
from tests.wire.http_client import running


@pytest.mark.parametrize(
    ("head_received", "waited", "overdue"),
    [
        (False, HEADER_PATIENCE, False),
        (False, HEADER_PATIENCE + 0.001, True),
        (True, HEADER_PATIENCE + 0.001, False),
        (True, BODY_PATIENCE, False),
        (True, BODY_PATIENCE + 0.001, True),
    ],
)
def test_a_head_and_a_body_are_waited_for_only_so_long(head_received: bool, waited: float, overdue: bool) -> None:
    client: Any = SimpleNamespace(waiting_since=100.0, head_received=head_received)
    assert PatientProtocol.is_overdue(client, 100.0 + waited) is overdue


def test_a_client_that_owes_nothing_is_never_overdue() -> None:
    client: Any = SimpleNamespace(waiting_since=None, head_received=True)
    assert not PatientProtocol.is_overdue(client, 1e9)


def test_a_head_that_is_too_large_is_refused() -> None:
    with running() as server:
        assert server.ask("GET", "/healthz", X_Long="x" * (LARGEST_HEAD // 2)).status == 200
        assert server.ask("GET", "/healthz", X_Long="x" * LARGEST_HEAD).status == 431


def test_only_paths_are_answered() -> None:
    with running() as server:
        assert server.ask("GET", "http://evil.example/healthz").status == 400


def test_a_connection_is_not_upgraded() -> None:
    with running() as server:
        assert server.ask("GET", "/healthz", Upgrade="websocket").status == 200
