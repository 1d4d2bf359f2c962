"""Which operations become tasks, and which servers know of tasks at all."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from postil.app import read_catalogue
from postil.contracts import CONTRACTS, united
from postil.core.registry import Registry
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.face import Profile
from postil.wire.protocol.session import Session
from postil.wire.protocol.task_methods import EXTENSION, knows_tasks
from tests.wire.http_client import META, request


def test_what_takes_long_becomes_a_task() -> None:
    long = {entry.name for entry in read_catalogue().operations if entry.task and not entry.same_as}
    assert long == {
        "inbox_wait",
        "request_review",
        "wait_pipeline",
        "comments_relocate",
        "issue_sync",
        "issue_verify",
        "issue_gc",
    }


def test_the_united_server_offers_tasks_and_the_contracts_do_not() -> None:
    assert EXTENSION in united().extensions
    assert not any(contract.face.extensions for contract in CONTRACTS.values())
    session = Session(Profile(CONTRACTS["tracker"].face, Registry.of([]), lambda: b""))
    knows: dict[str, Any] = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}}
    (reply,) = session.take(parse(request("tasks/get", {"taskId": "x", "_meta": knows})))
    assert getattr(reply, "code", 0) == -32601


def parse(message: object) -> jsonrpc.Incoming | list[jsonrpc.Incoming]:
    return jsonrpc.parse(msgspec.json.encode(message))


@pytest.mark.parametrize("capabilities", [None, [], "x", {}, {"extensions": None}, {"extensions": [EXTENSION]}])
def test_only_a_plain_word_counts(capabilities: object) -> None:
    assert not knows_tasks(capabilities)
