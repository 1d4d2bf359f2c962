"""Views inside the assistant: who is told of them, and what they get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postil.contracts import CONTRACTS
from postil.core import call
from postil.core.operation import reads, writes
from postil.core.registry import Registry
from postil.core.resource import resource
from postil.wire.protocol.app_views import DATA, EXTENSION, LARGEST, MIME_TYPE, add_data, knows_views
from postil.wire.server import UNITED, Face, Server
from tests.attack.payloads import INVISIBLE
from tests.core.echo import Echoed
from tests.inbox.people import Assistant, Person
from tests.wire.talk import Talk

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


class Board:
    """A part with one tool that has a view, one that has none, and the view."""

    @reads("board_show")
    def show(self) -> Echoed:
        """Show the board"""
        return Echoed("a card", 1)

    @writes("board_add")
    def add(self, text: str) -> str:
        """Add a card"""
        return f"{text}, for a person: {call.current().person}"

    @reads("board_huge")
    def huge(self) -> Echoed:
        """Show far too much"""
        return Echoed("x" * LARGEST, 1)

    @reads("board_name")
    def name(self) -> str:
        """Show the name"""
        return "Board"

    @resource("ui://board", name="Board", mime_type=MIME_TYPE)
    def view(self) -> str:
        """The view"""
        return "<html>"


VIEWED = dict.fromkeys(("board_show", "board_huge", "board_name"), "ui://board") | {"board_add": "ui://elsewhere"}


async def board(**capabilities: Any) -> Talk:
    face = Face("board", "1", UNITED, views=VIEWED, person_tools={"person_add": "board_add", "person_gone": "gone"})
    talk = Talk(Server(Registry.of([("board", Board())]), face))
    await talk.initialize("2025-11-25", **capabilities)
    return talk


@pytest.mark.anyio
async def test_tools_name_their_views_to_clients_that_show_them() -> None:
    tools = {tool["name"]: tool for tool in (await (await board(**UI)).ask("tools/list"))["result"]["tools"]}
    assert tools["board_show"]["_meta"] == {"ui": {"resourceUri": "ui://board"}}
    assert "_meta" not in tools["board_add"], "its view is not offered"
    assert tools["person_add"]["_meta"] == {"ui": {"visibility": ["app"]}}
    assert "person_gone" not in tools


@pytest.mark.anyio
async def test_a_view_gets_the_data_of_a_result_unless_it_is_too_much_or_no_object() -> None:
    talk = await board(**UI)
    assert (await talk.call("board_show"))["result"]["_meta"][DATA] == {"text": "a card", "times": 1}
    for name in ("board_huge", "board_name", "board_add"):
        result = (await talk.call(name, {"text": "x"} if name == "board_add" else {}))["result"]
        assert DATA not in result.get("_meta", {}), name


@pytest.mark.anyio
async def test_a_view_calls_for_the_person_and_the_model_does_not() -> None:
    talk = await board(**UI)
    for name, for_person in (("person_add", True), ("board_add", False)):
        (block,) = (await talk.call(name, {"text": "x"}))["result"]["content"]
        assert block["text"] == f"x, for a person: {for_person}"
    assert "Unknown tool" in (await talk.call("person_gone", {"text": "x"}))["error"]["message"]


@pytest.mark.anyio
@pytest.mark.parametrize("capabilities", [{}, {"extensions": {}}])
async def test_a_client_without_views_has_neither_their_tools_nor_their_data(capabilities: Any) -> None:
    talk = await board(**capabilities)
    tools = {tool["name"]: tool for tool in (await talk.ask("tools/list"))["result"]["tools"]}
    assert {*tools} == {"board_show", "board_add", "board_huge", "board_name"}
    assert "_meta" not in tools["board_show"]
    assert DATA not in (await talk.call("board_show"))["result"].get("_meta", {})
    assert "Unknown tool" in (await talk.call("person_add", {"text": "x"}))["error"]["message"]


@pytest.mark.anyio
async def test_a_request_without_a_session_says_itself_that_it_shows_views() -> None:
    talk = await board()
    for declared, count in ((UI, 5), ({}, 4)):
        meta = {"io.modelcontextprotocol/clientCapabilities": declared}
        assert len((await talk.stateless("tools/list", **meta))["result"]["tools"]) == count


def test_nothing_that_nobody_sees_reaches_a_view() -> None:
    hidden = "".join(INVISIBLE)
    shown = {"a": [f"x{hidden}y", {f"k{hidden}": "&#8203;z", "n": 1.5}], "b": None, "c": "plain & é\n\t"}
    data = json.loads(bytes(add_data({}, shown)["_meta"][DATA]))
    assert data == {"a": ["xy", {"k": "z", "n": 1.5}], "b": None, "c": "plain & é\n\t"}
    for sign in INVISIBLE:
        assert json.loads(bytes(add_data({}, {"a": f"x{sign}y"})["_meta"][DATA])) == {"a": "xy"}
    assert json.loads(bytes(add_data({}, {"a": "x\ry\r\n"})["_meta"][DATA])) == {"a": "x\u240dy\r\n"}
