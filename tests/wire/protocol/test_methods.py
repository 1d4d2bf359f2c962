"""The methods of MCP: lists, prompts, completion, and parameters that are wrong."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from postil.core.answer import Answer
from postil.core.content import Block, Document, Text
from postil.core.operation import reads, writes
from postil.core.registry import Offer, Registry
from postil.core.resource import resource
from postil.wire.server import UNITED, Face, Server
from tests.core.echo import Echo
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


class Shelf:
    """Tools of similar names."""

    @reads("book_one")
    def one(self) -> str:
        """One"""
        return ""

    @reads("book_two")
    def two(self) -> str:
        """Two"""
        return ""

    @reads("book_nix")
    def nix(self) -> str:
        """Nix"""
        return ""

    @reads("book_ten")
    def ten(self) -> str:
        """Ten"""
        return ""

    @reads("book_note", tool=False)
    def note(self) -> str:
        """Not a tool"""
        return ""

    @writes("book_shelve")
    def shelve(self) -> str:
        """Put a book back"""
        return "Nothing by others"

    @reads("book_quote")
    def quote(self) -> str:
        """Quote a book"""
        return "Call me Ishmael."

    @reads("book_none")
    def find_none(self) -> Nothing:
        """Find nothing"""
        return Nothing()

    @reads("book_pages")
    def pages(self) -> Pages:
        """Show the pages"""
        return Pages()

    @resource("shelf://ui:list", name="List", mime_type="application/json")
    def read_list(self) -> Document:
        """All books"""
        return Document("shelf://ui:list", "application/json", text='{"title":"Moby\x07 Dick"}')

    @resource("ui://shelf/view", name="View")
    def read_view(self) -> str:
        """A view"""
        return "<html>"


class Nothing(Answer, frozen=True):
    """Nothing that somebody wrote."""

    @property
    def has_words(self) -> bool:
        return False

    def for_model(self) -> str:
        return "No book"


class Pages(Answer, frozen=True):
    """A short page and one that is far too long."""

    def for_model(self) -> list[Block]:
        return [Text("Page 1"), Text("line\n" * 10_000)]


def shelf(*, contract: bool = False, offer: Offer | None = None, **face: Any) -> Talk:
    registry = Registry.of([("shelf", Shelf())], offer or Offer())
    return Talk(Server(registry, Face("shelf", "1", UNITED, contract=contract, **face)))


async def test_of_tools_that_may_be_meant_three_are_named() -> None:
    talk = shelf()
    await talk.initialize()
    said = (await talk.ask("tools/call", {"name": "book_on"}))["error"]["message"]
    assert said.startswith("Unknown tool: book_on. Did you mean book_one or ")
    assert said.count(" or ") == 2


@pytest.mark.parametrize(("place", "names"), [(1, ["book_two", "book_nix"]), (3, ["book_ten", "book_shelve"])])
async def test_a_cursor_says_where_to_go_on(place: int, names: list[str]) -> None:
    talk = shelf()
    await talk.initialize()
    cursor = base64.urlsafe_b64encode(b"%d" % place).decode()
    listed = (await talk.ask("tools/list", {"cursor": cursor}))["result"]["tools"]
    assert [tool["name"] for tool in listed][:2] == names


@pytest.mark.parametrize("cursor", ["MA==", "OA==", "LTE=", "x", "", 5, [1]])
async def test_a_cursor_of_no_page_is_refused(cursor: object) -> None:
    talk = shelf()
    await talk.initialize()
    assert (await talk.ask("tools/list", {"cursor": cursor}))["error"]["code"] == -32602


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": {"type": "ref/prompt", "name": "greet"}},
        {"ref": "greet", "argument": {"name": "tone", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": 5, "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "tone"}},
        {"ref": {"type": "ref/odd", "name": "greet"}, "argument": {"name": "tone", "value": ""}},
    ],
)
async def test_what_cannot_be_completed_is_refused(params: dict[str, Any]) -> None:
    talk = Talk()
    await talk.initialize()
    assert (await talk.ask("completion/complete", params))["error"]["code"] == -32602


async def test_a_tool_is_listed_with_what_it_is_for() -> None:
    talk = shelf()
    await talk.initialize()
    first = (await talk.ask("tools/list"))["result"]["tools"][0]
    assert (first["name"], first["title"], first["description"]) == ("book_one", "Book one", "One")


async def test_prompts_are_listed_written_and_completed() -> None:
    talk = Talk()
    await talk.initialize()
    (listed,) = (await talk.ask("prompts/list"))["result"]["prompts"]
    assert [argument["name"] for argument in listed["arguments"]] == ["name", "tone", "times"]
    written = await talk.ask("prompts/get", {"name": "greet", "arguments": {"name": "Ada", "times": "2"}})
    text = {"type": "text", "text": "Greet Ada, warm, 2 times"}
    assert written["result"] == {"messages": [{"role": "user", "content": text}]}
    for argument, expected in (
        ({"name": "tone", "value": "w"}, ["warm"]),
        ({"name": "name", "value": "a"}, ["Ada", "Alan"]),
    ):
        done = await talk.ask(
            "completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": argument}
        )
        assert done["result"]["completion"] == {"values": expected, "total": len(expected), "hasMore": False}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "nope"}),
        ("prompts/get", {"name": "greet"}),
        ("prompts/get", {}),
        ("resources/read", {}),
        ("resources/subscribe", {"uri": 1}),
        ("tools/call", {}),
        ("tools/list", {"cursor": "!!"}),
        ("tools/list", {"cursor": 5}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "x"}, "argument": {"name": "a", "value": ""}}),
        ("logging/setLevel", {}),
    ],
)
async def test_bad_parameters_are_invalid_params(method: str, params: dict[str, Any]) -> None:
    assert (await Talk().ask(method, params))["error"]["code"] == -32602


async def test_lists_are_paged_by_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.wire.protocol.methods.PAGE", 3)
    talk, names, params = Talk(), list[str](), dict[str, Any]()
    while True:
        page = (await talk.ask("tools/list", params))["result"]
        names += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    assert names == [entry.name for entry in talk.server.registry.tools]


async def test_hidden_tools_can_be_neither_listed_nor_called_by_any_way() -> None:
    registry = Registry.of([("echo", Echo())], Offer(read_only=True))
    talk = Talk(Server(registry, Face("echo", "1", {"tools": {}})), direct=True)
    assert "count" not in [tool["name"] for tool in (await talk.ask("tools/list"))["result"]["tools"]]
    assert "error" in await talk.call("count")
    assert "error" in await talk.ask("count")
    assert "error" in await talk.stateless("tools/call", {"name": "count"})


async def test_a_tool_that_the_settings_leave_out_is_no_misspelling() -> None:
    talk = Talk(Server(Registry.of([("echo", Echo())], Offer(read_only=True)), Face("echo", "1", UNITED)))
    await talk.initialize()
    error = (await talk.ask("tools/call", {"name": "count"}))["error"]
    assert error["message"].startswith("Unknown tool: count. The settings of this server leave it out")
    assert error["data"]["suggestion"] in error["message"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ecko", "Unknown tool: ecko. Did you mean echo?"),
        ("nothing_like_it", "Unknown tool: nothing_like_it"),
        ("x" * 900_000, f"Unknown tool: {'x' * 100}"),
    ],
)
async def test_an_unknown_tool_is_answered_with_the_next_step(name: str, said: str) -> None:
    talk = Talk()
    await talk.initialize()
    error = (await talk.ask("tools/call", {"name": name}))["error"]
    assert error["message"] == said
    assert error["data"]["suggestion"]


async def test_a_wrong_choice_of_any_length_is_answered_with_the_choices() -> None:
    talk = Talk()
    await talk.initialize("2025-11-25")
    wrong = {"text": "a", "mood": "x" * 900_000}
    result = (await talk.ask("tools/call", {"name": "echo", "arguments": wrong}))["result"]
    assert result["isError"] is True
    assert "loud, soft" in result["content"][0]["text"]
    assert len(result["content"][0]["text"]) < 5_000


def texts(answer: Any) -> list[str]:
    return [block["text"] for block in answer["result"]["content"]]


async def test_what_a_part_reads_of_others_is_framed_and_what_it_writes_is_not() -> None:
    talk = shelf(frames={"shelf": ("books", "text by authors")})
    await talk.initialize()
    (quoted,) = texts(await talk.call("book_quote"))
    assert quoted.startswith("[books: text by authors, until ")
    assert "\nCall me Ishmael.\n" in quoted
    assert texts(await talk.call("book_shelve")) == ["Nothing by others"]
    assert texts(await talk.call("book_none")) == ["No book"]


async def test_a_tool_that_writes_is_framed_where_the_face_names_it() -> None:
    talk = shelf(frames={"book_shelve": ("books", "text by authors")})
    await talk.initialize()
    assert texts(await talk.call("book_shelve"))[0].startswith("[books: ")
    assert texts(await talk.call("book_quote")) == ["Call me Ishmael."]


@pytest.mark.parametrize(
    ("frames", "read"),
    [
        ({}, '{"title":"Moby Dick"}'),
        ({"other": ("x", "y")}, '{"title":"Moby Dick"}'),
        ({"shelf": ("books", "text by authors")}, '{"title":"Moby Dick","untrusted":true}'),
    ],
)
async def test_a_json_document_of_a_framed_part_says_who_wrote_in_it(frames: Any, read: str) -> None:
    talk = shelf(frames=frames)
    await talk.initialize()
    (content,) = (await talk.ask("resources/read", {"uri": "shelf://ui:list"}))["result"]["contents"]
    assert content["text"] == read


async def test_views_are_listed_by_their_tools_alone() -> None:
    talk = shelf()
    await talk.initialize()
    listed = (await talk.ask("resources/list"))["result"]["resources"]
    assert listed == [
        {"uri": "shelf://ui:list", "name": "List", "description": "All books", "mimeType": "application/json"}
    ]


async def test_a_long_page_behind_a_short_one_is_bounded() -> None:
    talk = shelf()
    await talk.initialize()
    assert sum(map(len, texts(await talk.call("book_pages")))) <= 24_000


@pytest.mark.parametrize("params", [{}, {"notifications": None}, {"notifications": ["toolsListChanged"]}])
async def test_a_stream_says_what_it_wants_to_hear(params: dict[str, Any]) -> None:
    error = (await Talk().stateless("subscriptions/listen", params))["error"]
    assert error["code"] == -32602
    assert error["data"]["path"] == "notifications"


async def test_what_is_no_tool_is_not_said_to_be_left_out() -> None:
    talk = shelf(offer=Offer(parts=("other",)))
    await talk.initialize()
    assert "leave it out" in (await talk.call("book_quote"))["error"]["message"]
    assert "leave it out" not in (await talk.call("book_note"))["error"]["message"]


async def test_a_contract_refuses_in_its_own_words() -> None:
    talk = shelf(contract=True)
    await talk.initialize()
    assert (await talk.call("book_quot"))["error"]["message"] == "Unknown tool: book_quot"
    assert (await talk.ask("tool/list"))["error"] == {"code": -32601, "message": "Method not found"}
