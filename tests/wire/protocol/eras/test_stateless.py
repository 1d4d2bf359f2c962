"""The stateless era: every request stands alone."""

from __future__ import annotations

import pytest

from tests.wire.talk import META, Talk

pytestmark = pytest.mark.anyio


async def test_the_stateless_era_needs_no_handshake_and_says_what_its_results_are() -> None:
    talk = Talk()
    found = (await talk.stateless("server/discover"))["result"]
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["resultType"] == "complete"
    assert found["cacheScope"] == "private"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "echo", "version": "1.0.0"}
    listed = (await talk.stateless("tools/list"))["result"]
    assert listed["ttlMs"] >= 0
    called = (await talk.stateless("tools/call", {"name": "echo", "arguments": {"text": "a"}}))["result"]
    assert called["resultType"] == "complete"
    assert called["structuredContent"] == {"text": "a", "times": 1}


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/subscribe", "shutdown"])
async def test_what_the_stateless_era_removed_is_not_found_there(method: str) -> None:
    assert (await Talk().stateless(method))["error"]["code"] == -32601


async def test_a_stateless_request_must_carry_a_served_version_and_its_capabilities() -> None:
    talk = Talk()
    version, capabilities = META
    refused = await talk.stateless("tools/list", {}, **{version: "2030-01-01"})
    assert refused["error"]["code"] == -32022
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}
    assert (await talk.stateless("tools/list", {}, **{version: 5}))["error"]["code"] == -32602
    assert (await talk.stateless("tools/list", {}, **{capabilities: None}))["error"]["code"] == -32602


async def test_a_version_that_is_not_served_is_repeated_in_a_bounded_length() -> None:
    refused = await Talk().stateless("tools/list", {}, **{next(iter(META)): "x" * 65})
    assert refused["error"]["data"]["requested"] == "x" * 64
