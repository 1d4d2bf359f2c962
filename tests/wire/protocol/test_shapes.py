"""What results and failures look like, era by era."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw, structs

from postil.core.answer import Answer
from postil.core.catalogue import OperationEntry, PromptEntry, ResourceEntry
from postil.core.content import Document, Text
from postil.core.failure import NotFound
from postil.core.operation import reads, writes
from postil.core.others.framing import OTHERS
from postil.core.registry import Registry
from postil.wire.protocol import shapes
from postil.wire.protocol.eras.era import HANDSHAKE
from postil.wire.server import UNITED, Face, Server
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


async def test_structured_content_comes_with_the_eras_that_have_it() -> None:
    for version in ERAS:
        talk = Talk()
        await talk.initialize(version)
        result = (await talk.call("echo", {"text": "a"}))["result"]
        assert ("structuredContent" in result) == (version >= "2025-06-18")
        assert result["isError"] is False
        (tool,) = [t for t in (await talk.ask("tools/list"))["result"]["tools"] if t["name"] == "echo"]
        assert ("outputSchema" in tool) == (version >= "2025-06-18")
        assert ("annotations" in tool) == (version >= "2025-03-26")


@pytest.mark.parametrize("version", ERAS)
async def test_a_failure_is_an_error_or_a_result_as_the_era_wants(version: str) -> None:
    talk = Talk()
    await talk.initialize(version)
    error = {"code": -32602, "message": "No cat", "data": {"what": "cat", "suggestion": "Look elsewhere"}}
    answer = await talk.call("fail", {"what": "cat"})
    if version >= "2025-06-18":
        assert answer["result"] == {
            "content": [{"type": "text", "text": "No cat\nLook elsewhere"}],
            "isError": True,
            "_meta": {"postil/error": error},
        }
    else:
        assert answer["error"] == error


@pytest.mark.parametrize("version", ERAS)
async def test_faulty_arguments_name_their_path(version: str) -> None:
    talk = Talk()
    await talk.initialize(version)
    answer = await talk.call("echo", {"text": "a", "times": 9})
    error = answer["result"]["_meta"]["postil/error"] if "result" in answer else answer["error"]
    assert (error["code"], error["data"]["path"]) == (-32602, "times")


class Talker:
    """Answers as much as it is asked to."""

    @reads("talk_much", shell="talk much")
    def talk(self, lines: int, limit: int = 0, asked: bool = False, better: str = "") -> Said:
        """Say many lines"""
        return Said("\n".join(f"line {number}" for number in range(lines)), asked, better)

    @writes("write_much")
    def write(self, dryRun: bool = False) -> str:
        """Change something, and say much about it"""
        return "line\n" * 10_000

    @writes("mend_much")
    def mend(self, fix: bool = False) -> str:
        """Say much about what is broken, and mend it if asked to"""
        return "line\n" * 10_000

    @reads("fail_much")
    def fail(self) -> str:
        """Fail with many words"""
        raise NotFound("No cat\n" * 10_000)


class Said(Answer, frozen=True):
    """What was said."""

    text: str
    asked: bool
    better: str = ""

    def rest(self) -> str:
        return self.better

    @property
    def largest(self) -> int:
        return 1_000_000 if self.asked else super().largest

    def for_model(self) -> str:
        return self.text


async def talker(*, contract: bool = False) -> Talk:
    face = Face("talker", "1", UNITED, contract=contract)
    talk = Talk(Server(Registry.of([("talker", Talker())]), face))
    await talk.initialize("2025-06-18")
    return talk


@pytest.mark.parametrize(
    ("effect", "idempotent", "hints"),
    [
        ("reads", False, {"readOnlyHint": True}),
        ("writes", False, {"destructiveHint": False}),
        ("writes", True, {"destructiveHint": False, "idempotentHint": True}),
        ("destroys", False, {"idempotentHint": True}),
    ],
)
def test_hints_say_what_is_not_the_default(effect: Any, idempotent: bool, hints: dict[str, bool]) -> None:
    entry = OperationEntry("name", "part", "group", "name", effect, "", Raw(b"{}"), idempotent=idempotent)
    assert shapes.describe_effect(entry) == {**hints, "openWorldHint": False}
    assert shapes.describe_effect(structs.replace(entry, open_world=True)) == hints


def test_a_line_break_of_unicode_breaks_no_document() -> None:
    written = shapes.make_document("x://y", "application/json", '{"a":"one\u2028two"}').text or ""
    assert json.loads(written) == {"a": "one\ntwo"}
    assert "\\n" not in (shapes.make_document("x://y", "text/plain", "one\u2028two").text or "")


async def test_every_answer_of_a_tool_is_bounded_and_says_how_to_get_the_rest() -> None:
    talk = await talker()
    result = (await talk.call("talk_much", {"lines": 100_000}))["result"]
    assert len(json.dumps(result)) < 30_000
    assert sum(len(block["text"]) for block in result["content"]) <= 24_000
    assert "structuredContent" not in result
    note = result["content"][-1]["text"]
    assert "left out" in note
    assert "limit" in note
    assert """`postil call talk_much '{"lines":100000}'`""" in note


async def test_a_write_whose_answer_was_cut_is_not_to_be_repeated() -> None:
    result = (await (await talker()).call("write_much"))["result"]
    note = result["content"][-1]["text"]
    assert "do not ask again" in note
    assert "postil" not in note.removeprefix("[postil:")


@pytest.mark.parametrize(
    ("name", "given", "is_done"),
    [
        ("write_much", {"dryRun": True}, False),
        ("write_much", {"dryRun": False}, True),
        ("mend_much", {}, False),
        ("mend_much", {"fix": True}, True),
    ],
)
async def test_what_was_only_tried_is_not_said_to_be_done(name: str, given: dict[str, bool], is_done: bool) -> None:
    result = (await (await talker()).call(name, given))["result"]
    note = result["content"][-1]["text"]
    assert ("do not ask again" in note) == is_done
    assert ("Nothing was changed" in note) != is_done
    assert (f"`postil call {name}" in note) != is_done


async def test_the_command_for_the_rest_prints_all_only_where_it_does() -> None:
    """A list that has a bound by itself has it in a shell, too."""
    note = (await (await talker()).call("talk_much", {"lines": 9000}))["result"]["content"][-1]["text"]
    assert "in a shell prints it whole; more than that comes with limit." in note
    note = (await (await talker()).call("mend_much"))["result"]["content"][-1]["text"]
    assert "in a shell prints all" in note


async def test_an_answer_knows_better_how_the_rest_can_be_had() -> None:
    result = (await (await talker()).call("talk_much", {"lines": 9000, "better": "Turn the page."}))["result"]
    assert result["content"][-1]["text"].endswith("Turn the page.]")


async def test_an_answer_that_was_asked_to_be_large_is_sent_whole() -> None:
    result = (await (await talker()).call("talk_much", {"lines": 20_000, "asked": True}))["result"]
    assert result["content"][0]["text"].endswith("line 19999")


async def test_what_a_contract_publishes_is_sent_whole() -> None:
    result = (await (await talker(contract=True)).call("talk_much", {"lines": 20_000}))["result"]
    assert len(result["content"]) == 1
    assert result["content"][0]["text"].endswith("line 19999")


async def test_a_failure_is_bounded_too() -> None:
    result = (await (await talker()).call("fail_much"))["result"]
    assert len(result["content"][0]["text"]) <= 24_000


async def test_advice_names_tools_and_not_commands() -> None:
    talk = Talk(Server(Registry.of([("advisor", Advisor())]), Face("advisor", "1", UNITED)))
    await talk.initialize("2025-06-18")
    result = (await talk.call("book_lend"))["result"]
    assert result["content"][0]["text"] == "It is lent\nSee `book_list`, or `postil book buy` another"


class Advisor:
    """Gives advice as people type it."""

    @reads("book_lend", shell="book lend")
    def lend(self) -> str:
        """Lend a book"""
        raise NotFound("It is lent", advice="See `postil book list`, or `postil book buy` another")

    @reads("book_list", shell="book list")
    def list_books(self) -> str:
        """List the books"""
        return ""

    @writes("book_buy", shell="book buy", tool=False)
    def buy(self) -> str:
        """Buy a book"""
        return ""


class Repeater:
    """Has facts beside its words, and fails as a contract says."""

    @reads("tell_facts")
    def tell(self) -> WithFacts:
        """Tell facts"""
        return WithFacts()

    @reads("fail_twice")
    def fail(self) -> str:
        """Fail with what a contract adds"""
        raise ByContract("It cannot be", path="a")


class WithFacts(Answer, frozen=True):
    """Words and facts."""

    def for_model(self) -> str:
        return "words"

    def metadata(self) -> dict[str, int]:
        return {"count": 1}


class ByContract(NotFound):
    """A failure whose error object repeats the result."""

    def details(self) -> dict[str, object]:
        return {**super().details(), "isError": True, "content": [{"type": "text", "text": self.reply()}]}


@pytest.mark.parametrize("contract", [False, True])
async def test_nothing_is_sent_twice(contract: bool) -> None:
    face = Face("repeater", "1", UNITED, contract=contract)
    talk = Talk(Server(Registry.of([("repeater", Repeater())]), face))
    await talk.initialize("2024-11-05" if contract else "2025-06-18")
    told = (await talk.call("tell_facts"))["result"]
    assert json.dumps(told).count('{"count": 1}') == 1
    assert ("metadata" in told) == contract
    failed = await talk.call("fail_twice")
    if contract:
        assert failed["error"]["data"]["content"] == [{"type": "text", "text": "It cannot be"}]
    else:
        assert failed["result"]["_meta"]["postil/error"] == {
            "code": -32602,
            "message": "It cannot be",
            "data": {"path": "a"},
        }


class Books(Answer, frozen=True):
    """Some books, as JSON."""

    titles: list[str]


@pytest.mark.parametrize(
    ("value", "text", "is_json"),
    [
        (Books(["one"]), '{"titles":["one"]}', True),
        (Said("words", asked=False), '{"titles":["one"]}', True),
        ("", '{"titles":["one"]}', True),
        ("", '{"titles":["one"]', False),
        ("", '"titles":["one"]}', False),
        ("", "{words}", False),
        ("", "[1]", False),
        ("", '{"titles":["one"]}\n', False),
        (Said("words", asked=False), "{words}", False),
    ],
)
def test_words_are_framed_and_json_says_of_itself_who_wrote_in_it(value: object, text: str, is_json: bool) -> None:
    (framed,) = shapes.envelop(value, [Text(text)], "books", OTHERS)
    assert isinstance(framed, Text)
    assert (framed.text == f'{text[:-1]},"untrusted":true}}') is is_json
    assert framed.text.startswith("[books: ") is not is_json
    if is_json:
        assert shapes.envelop(value, [Text(text)], "books", "text by us") == [Text(text)]


def test_only_a_json_document_is_marked() -> None:
    for document in (
        Document("x://y", "text/plain", text="{}"),
        Document("x://y", "application/json", blob="e30="),
        Document("x://y", "text/plain", blob="e30="),
    ):
        assert shapes.mark_document(document) is document
    marked = shapes.mark_document(Document("x://y", "application/json", text="{}"))
    assert marked.text == '{"untrusted":true}'


@pytest.mark.parametrize("value", [Books(["one\u2028two"]), {"titles": ["one\u2028two"]}])
def test_a_line_break_of_unicode_breaks_no_result(value: object) -> None:
    (block,) = shapes.make_blocks(value, HANDSHAKE["2025-11-25"])
    assert isinstance(block, Text)
    assert json.loads(block.text) == {"titles": ["one\ntwo"]}


@pytest.mark.parametrize(("text", "shown"), [("a\x07b", "ab"), ("a\n\tb", "a\n\tb"), ("a&b", "a&b"), ("a b", "a b")])
def test_nothing_invisible_reaches_a_model(text: str, shown: str) -> None:
    assert shapes.make_blocks(text, HANDSHAKE["2025-11-25"]) == [Text(shown)]


def test_prompts_and_resources_are_described_with_what_they_are_for() -> None:
    era = HANDSHAKE["2025-11-25"]
    assert shapes.describe_prompt(PromptEntry("say_it", "part", "group", "say", "Say it"), era)["title"] == "Say it"
    titled = PromptEntry("say_it", "part", "group", "say", "Say it", title="Speak")
    assert shapes.describe_prompt(titled, era)["title"] == "Speak"
    entry = ResourceEntry("x://y", "name", "part", "group", "read", description="What it is")
    assert shapes.describe_resource(entry, era)["description"] == "What it is"
    assert "description" not in shapes.describe_resource(structs.replace(entry, description=""), era)


async def test_structured_content_says_that_others_may_have_written_in_it() -> None:
    talk = Talk()
    await talk.initialize("2025-11-25")
    assert (await talk.call("echo", {"text": "a"}))["result"]["_meta"]["postil/untrusted"] is True
