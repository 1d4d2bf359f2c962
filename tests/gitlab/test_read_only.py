"""A read-only server over the real wire: no write is listed, none is taken on any way, nothing leaves. S4."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER
from tests.gitlab.calls import CALLS, ENTRIES, WRITES
from tests.gitlab.http_server import postil
from tests.gitlab.test_over_http import asked, post

LOOSER: list[dict[str, str]] = [
    {"X-Read-Only": "false"},
    {"X-Postil-Read-Only": "0", "POSTIL-READ-ONLY": "false"},
    {"X-MCP-Readonly": "false", "X-MCP-Toolsets": "all"},
    {"X-GitLab-Read-Only": "false", "X-GitLab-Read-Only-Mode": "false"},
    {"PRIVATE-TOKEN": DEVELOPER, "X-HTTP-Method-Override": "POST", "X-Original-Method": "POST"},
]
TOLD = {-32601, -32600}  # there is no such method; and batches hold no tools/call


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


def is_refused(answer: Any) -> bool:
    return answer.get("error", {}).get("code") in TOLD or answer.get("result", {}).get("isError") is True


def nothing_was_written(emulator: Emulator) -> bool:
    return {seen.method for seen in emulator.seen} <= {"GET"}


def test_there_are_writes_to_hide() -> None:
    assert {"create_issue", "update_issue", "trigger_pipeline", "configure_webhook"} <= set(WRITES)
    assert len(WRITES) == 8


@pytest.mark.parametrize("headers", [{}, *LOOSER])
def test_no_write_is_listed_whatever_the_headers_say(
    endpoint: str, emulator: Emulator, headers: dict[str, str]
) -> None:
    listed = {tool["name"] for tool in post(endpoint, asked("tools/list"), **headers)["result"]["tools"]}
    assert not listed & set(WRITES)
    assert {name for name, entry in ENTRIES.items() if entry.effect == "reads" and entry.tool} - listed == {
        "connect_gitlab"
    }


@pytest.mark.parametrize("headers", [{}, *LOOSER])
def test_no_write_is_taken_as_tool_as_method_or_in_a_batch(
    endpoint: str, emulator: Emulator, headers: dict[str, str]
) -> None:
    for name in WRITES:
        assert is_refused(post(endpoint, called(name, CALLS[name]), **headers)), name
        assert is_refused(post(endpoint, asked(name, **CALLS[name]), **headers)), name
    batch = [asked(name, number, **CALLS[name]) for number, name in enumerate(WRITES)]
    answers = post(endpoint, [*batch, asked("get_project", 999, project_id=123)], **headers)
    assert [answer["id"] for answer in answers] == [*(item["id"] for item in batch), 999]
    assert all(is_refused(answer) for answer in answers[:-1])
    assert answers[-1]["result"]["id"] == 123  # the reads among them are served
    tools: list[Any] | dict[str, Any] = post(
        endpoint, [called(name, CALLS[name], number) for number, name in enumerate(WRITES)], **headers
    )
    assert all(is_refused(answer) for answer in (tools if isinstance(tools, list) else [tools])), tools
    assert nothing_was_written(emulator)


def test_no_argument_loosens_it_either(endpoint: str, emulator: Emulator) -> None:
    looser: list[dict[str, Any]] = [{"read_only": False}, {"_meta": {"read_only": False}}, {"idempotency_key": "k"}]
    for more in looser:
        assert is_refused(post(endpoint, asked("create_issue", **{**CALLS["create_issue"], **more})))
    assert nothing_was_written(emulator)
