"""Views inside the assistant: who is told of them, and what they get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postil.contracts import CONTRACTS
from postil.wire.protocol.app_views import DATA, EXTENSION, MIME_TYPE, knows_views
from tests.inbox.people import Assistant, Person

VIEWS = {"ui://postil/conversation", "ui://postil/review", "ui://postil/board", "ui://postil/burndown"}
UI = {"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}


@pytest.fixture
def person(tmp_path: Any) -> Person:
    return Person(tmp_path)


def begin(assistant: Assistant, capabilities: object) -> dict[str, Any]:
    return assistant.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities})["result"]


@pytest.mark.parametrize(
    "capabilities",
    [
        None,
        [],
        {},
        {"extensions": None},
        {"extensions": [EXTENSION]},
        {"extensions": {EXTENSION: None}},
        {"extensions": {EXTENSION: {"mimeTypes": ["text/plain"]}}},
        {"extensions": {EXTENSION: {"mimeTypes": MIME_TYPE}}},
    ],
)
def test_only_a_plain_word_counts(capabilities: object) -> None:
    assert not knows_views(capabilities)


def test_the_word_alone_means_html() -> None:
    assert knows_views({"extensions": {EXTENSION: {}}})
    assert knows_views(UI)


def test_nobody_else_hears_of_views(person: Person) -> None:
    person.send("Why?", "a.txt", "2")
    with person.assistant("postil", "serve") as assistant:
        assert "extensions" not in begin(assistant, {})["capabilities"]
        tools = assistant.ask("tools/list")["result"]["tools"]
        assert not any("_meta" in tool for tool in tools)
        assert DATA not in assistant.call("inbox_list").get("_meta", {})
        refused = assistant.ask("tools/call", {"name": "person_reply", "arguments": {"id": 1, "text": "forged"}})
        assert "Unknown tool" in refused["error"]["message"]
        listed = assistant.ask("resources/list")["result"]["resources"]
        assert not any(one["uri"].startswith("ui:") for one in listed)
    assert "replies" not in person.messages()[0]
    assert not any(contract.face.views or contract.face.person_tools for contract in CONTRACTS.values())


def test_a_client_that_shows_views_gets_them_with_their_tools(person: Person) -> None:
    person.send("Why?", "a.txt", "2")
    with person.assistant("postil", "serve") as assistant:
        assert EXTENSION in begin(assistant, UI)["capabilities"]["extensions"]
        tools = {tool["name"]: tool for tool in assistant.ask("tools/list")["result"]["tools"]}
        linked = {tool["_meta"]["ui"].get("resourceUri") for tool in tools.values() if "_meta" in tool}
        assert linked == {*VIEWS, None}
        assert tools["person_reply"]["_meta"]["ui"] == {"visibility": ["app"]}
        assert tools["person_reply"]["inputSchema"] == tools["inbox_reply"]["inputSchema"]
        for uri in VIEWS:
            (content,) = assistant.ask("resources/read", {"uri": uri})["result"]["contents"]
            assert (content["uri"], content["mimeType"]) == (uri, MIME_TYPE)
        result = assistant.call("inbox_list")
        assert "Why?" in result["content"][0]["text"]
        assert "structuredContent" not in result
        assert [one["comment"] for one in result["_meta"][DATA]["messages"]] == ["Why?"]
        assistant.call("person_reply", id=1, text="from the view")
        assert DATA not in json.dumps(assistant.call("inbox_reply", id=1, text="from the model"))
    said = [(each["author"], each["text"]) for each in person.messages()[0]["replies"]]
    assert said == [("you", "from the view"), ("assistant", "from the model")]


def test_a_view_that_is_not_offered_is_not_named(person: Person) -> None:
    with person.assistant("postil", "serve", "--parts", "inbox") as assistant:
        begin(assistant, UI)
        tools = assistant.ask("tools/list")["result"]["tools"]
        assert not any("resourceUri" in tool.get("_meta", {}).get("ui", {}) for tool in tools)
    with person.assistant("postil", "serve", "--read-only") as assistant:
        begin(assistant, UI)
        assert "person_reply" not in {tool["name"] for tool in assistant.ask("tools/list")["result"]["tools"]}
        refused = assistant.ask("tools/call", {"name": "person_reply", "arguments": {"id": 1, "text": "forged"}})
        assert "Unknown tool: person_reply" in refused["error"]["message"]
