"""Pages of other sites: those that the settings name may speak to the server, and no others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postil.surfaces.http.cors import BadOrigin, Cors
from tests.surfaces.gateway.gateways import RIGHT, gateway_of
from tests.wire.http_client import BOTH, Running, request, running

PAGE = "https://app.example.org"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(gateway_of(), cors_origins=[PAGE]) as server:
        yield server


def preflight(server: Running, origin: str, **headers: str) -> tuple[int, dict[str, str]]:
    asked = {"Origin": origin, "Access_Control_Request_Method": "POST", **headers}
    answer = server.ask("OPTIONS", "/mcp", b"", **asked)
    return answer.status, answer.headers


def test_a_named_page_may_ask(server: Running) -> None:
    asked = "authorization, content-type, mcp-param-region, x-evil, mcp-session-id"
    status, headers = preflight(server, PAGE, Access_Control_Request_Headers=asked)
    assert status == 204
    assert headers["access-control-allow-origin"] == PAGE
    assert headers["vary"] == "Origin"
    allowed = headers["access-control-allow-headers"].split(", ")
    assert allowed == ["authorization", "content-type", "mcp-param-region", "mcp-session-id"]
    assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize(
    "origin",
    ["null", "https://evil.example.org", f"{PAGE}.evil.org", "http://app.example.org", f"{PAGE}:8443", "", "*"],
)
def test_any_other_page_may_not(server: Running, origin: str) -> None:
    status, headers = preflight(server, origin)
    assert status == 403
    assert "access-control-allow-origin" not in headers
    answer = server.post(request("tools/list"), Origin=origin, Authorization=RIGHT)
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


def test_a_page_reads_answers_and_refusals(server: Running) -> None:
    opened = server.post(
        request("initialize", {"protocolVersion": "2025-11-25"}), Origin=PAGE, Authorization=RIGHT, Accept=BOTH
    )
    assert opened.status == 200
    assert opened.headers["access-control-allow-origin"] == PAGE
    assert "Mcp-Session-Id" in opened.headers["access-control-expose-headers"]
    refused = server.post(request("tools/list"), Origin=PAGE)
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, PAGE)


def test_without_the_setting_nothing_is_said() -> None:
    with running() as server:
        assert preflight(server, PAGE)[0] == 403
        own = f"http://127.0.0.1:{server.port}"
        answer = server.post(request("tools/list"), Origin=own)
        assert answer.status == 200
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin", ["*", "null", "app.example.org", f"{PAGE}/path", "https://*.example.org", "file://x"]
)
def test_what_is_no_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(BadOrigin):
        Cors([origin])
