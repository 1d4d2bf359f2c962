"""A read-only server over the real wire: no write is listed, none is taken on any way, nothing leaves. S4."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Generator
from itertools import zip_longest
from typing import Any

import pytest

from postil.core.registry import Offer, Registry
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER
from tests.gitlab.calls import CALLS, ENTRIES, WRITES
from tests.gitlab.groups import Groups
from tests.gitlab.http_server import postil
from tests.gitlab.test_over_http import asked, passed_on, post

LOOSER: list[dict[str, str]] = [
    {"X-Read-Only": "false"},
    {"X-Postil-Read-Only": "0", "POSTIL-READ-ONLY": "false"},
    {"X-MCP-Readonly": "false"},
    {"X-GitLab-Read-Only": "false", "X-GitLab-Read-Only-Mode": "false"},
    {"PRIVATE-TOKEN": DEVELOPER, "X-HTTP-Method-Override": "POST", "X-Original-Method": "POST"},
]
SHOWN = {
    name
    for name, entry in ENTRIES.items()
    if entry.tool and entry.toolset not in ("issues", "code", "admin", "connect")
}
UNKNOWN_METHOD, UNKNOWN_TOOL, NO_BATCH = -32601, -32602, -32600


@pytest.fixture(scope="module", params=["flag", "environment"])
def endpoint(
    request: pytest.FixtureRequest, served: tuple[Emulator, str], tmp_path_factory: pytest.TempPathFactory
) -> Generator[str]:
    words = ("--read-only",) if request.param == "flag" else ()
    environ = {} if request.param == "flag" else {"POSTIL_READ_ONLY": "1"}
    with postil(served[1], tmp_path_factory.mktemp("workspace"), *words, environ=environ) as url:
        yield url


def called(name: str, arguments: dict[str, Any], number: int = 1) -> dict[str, object]:
    return asked("tools/call", number, name=name, arguments=arguments)


def code(answer: Any) -> object:
    """The code of a refusal; None where something was answered."""
    return answer.get("error", {}).get("code")


def session(endpoint: str) -> dict[str, str]:
    """The headers of a session of 2025-03-26: the one version of MCP that has batches."""
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    request = urllib.request.Request(endpoint, json.dumps(asked("initialize", 0, **hello)).encode(), method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("Accept", "application/json, text/event-stream")
    request.add_header("Authorization", f"Bearer {DEVELOPER}")
    with urllib.request.urlopen(request, timeout=20) as response:
        assert json.load(response)["result"]["protocolVersion"] == "2025-03-26"
        return {"Mcp-Session-Id": response.headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-03-26"}


def nothing_was_written(emulator: Emulator) -> bool:
    asked = (seen for seen in emulator.seen if not (seen.path.endswith("/graphql") and b"mutation" not in seen.body))
    return {seen.method for seen in asked} <= {"GET"}


def test_there_are_writes_to_hide() -> None:
    assert {"create_issue", "update_issue", "trigger_pipeline", "configure_webhook"} <= set(WRITES)
    assert len(WRITES) == 13


@pytest.mark.parametrize("headers", [{}, *LOOSER])
def test_no_write_is_listed_whatever_the_headers_say(
    endpoint: str, emulator: Emulator, headers: dict[str, str]
) -> None:
    listed = {tool["name"] for tool in post(endpoint, asked("tools/list"), **headers)["result"]["tools"]}
    assert not listed & set(WRITES)
    unlisted = set(ENTRIES) - SHOWN
    assert {name for name, entry in ENTRIES.items() if entry.effect == "reads"} - listed == unlisted - set(WRITES)


@pytest.mark.parametrize("headers", [{}, *LOOSER])
def test_no_write_is_taken_as_tool_as_method_or_in_a_batch(
    endpoint: str, emulator: Emulator, headers: dict[str, str]
) -> None:
    for name in WRITES:
        assert code(post(endpoint, called(name, CALLS[name]), **headers)) == UNKNOWN_METHOD, name
        assert code(post(endpoint, asked(name, **CALLS[name]), **headers)) == UNKNOWN_METHOD, name
    batch = [asked(name, number, **CALLS[name]) for number, name in enumerate(WRITES)]
    answers = post(endpoint, [*batch, asked("get_project", 999, project_id=123)], **headers)
    assert [answer["id"] for answer in answers] == [*(item["id"] for item in batch), 999]
    assert [code(answer) for answer in answers[:-1]] == [UNKNOWN_METHOD] * len(WRITES)
    assert answers[-1]["result"]["id"] == 123  # the reads among them are served
    assert nothing_was_written(emulator)


@pytest.mark.parametrize("headers", [{}, *LOOSER])
def test_of_a_batch_of_tools_every_write_is_refused_and_every_read_answered(
    endpoint: str, emulator: Emulator, headers: dict[str, str]
) -> None:
    reads = [name for name in CALLS if ENTRIES[name].effect == "reads" and name in SHOWN]
    mixed = [name for pair in zip_longest(WRITES, reads) for name in pair if name is not None]
    batch = [called(name, CALLS[name], number) for number, name in enumerate(mixed)]
    answers = post(endpoint, batch, **session(endpoint), **headers)
    assert [answer["id"] for answer in answers] == list(range(len(mixed)))
    for name, answer in zip(mixed, answers, strict=True):
        if name in WRITES:
            assert code(answer) == UNKNOWN_TOOL, (name, answer)
            assert answer["error"]["message"].startswith(f"Unknown tool: {name}")
        else:
            assert answer["result"]["isError"] is False, (name, answer)
    assert nothing_was_written(emulator)


def test_a_batch_of_tools_outside_of_that_version_is_refused_whole(endpoint: str, emulator: Emulator) -> None:
    batch = [called(name, CALLS[name], number) for number, name in enumerate(WRITES)]
    assert code(post(endpoint, batch)) == NO_BATCH
    assert passed_on(emulator) == []


def test_no_argument_loosens_it_either(endpoint: str, emulator: Emulator) -> None:
    looser: list[dict[str, Any]] = [{"read_only": False}, {"_meta": {"read_only": False}}, {"idempotency_key": "k"}]
    for more in looser:
        assert code(post(endpoint, asked("create_issue", **{**CALLS["create_issue"], **more}))) == UNKNOWN_METHOD
    assert nothing_was_written(emulator)


pytestmark = pytest.mark.anyio


async def test_a_read_only_server_offers_no_write_at_all(gitlab: Groups) -> None:
    offered = Registry.of(gitlab.living(), Offer(read_only=True))
    assert {entry.effect for entry in offered.operations.values()} == {"reads"}
    assert "create_issue" not in offered.operations
