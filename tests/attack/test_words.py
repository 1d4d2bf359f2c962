"""Others' words reach a model without anything that its reader cannot see: through every converter, of every part."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from msgspec import structs

from postil.core.answer import Answer
from postil.core.content import Document, Embedded, Link, Message, Text
from postil.core.failure import Failure
from postil.core.others.framing import frame
from postil.core.others.untrusted import clean, clean_prose
from postil.inbox import hooks
from postil.inbox.answers import Shown
from postil.inbox.model import Reply
from postil.wire.protocol import shapes
from postil.wire.protocol.eras.era import NEWEST
from tests.attack.payloads import INVISIBLE, PAYLOADS
from tests.fuzz.test_operations import Client, client

ERA = NEWEST
__all__ = ["client"]


def find_hidden(value: object) -> set[str]:
    """Every character in the texts of a value that should not be there."""
    written = value if isinstance(value, str) else "|".join(list_strings(value))
    return {sign for sign in (*INVISIBLE, "\r") if sign in written.replace("\r\n", "\n")}


def list_strings(value: object) -> Iterator[str]:
    """Yields every text of a value of JSON, names too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, below in cast("dict[str, object]", value).items():
            yield key
            yield from list_strings(below)
    elif isinstance(value, list):
        for below in cast("list[object]", value):
            yield from list_strings(below)


class Says(Answer, frozen=True):
    text: str

    def for_model(self) -> str:
        return self.text


class Plain(Answer, frozen=True):
    text: str


class Blocks(Answer, frozen=True):
    text: str

    def for_model(self) -> list[Any]:
        return [Text(self.text), Embedded(Document("x://y", text=self.text)), Link("x://y", self.text, self.text)]


# How each converter of the wire is given a text. One that is not here makes the test below fail.
CONVERTERS: dict[str, Callable[[str], object]] = {
    "make_blocks": lambda text: [shapes.make_blocks(kind(text), ERA) for kind in (Says, Plain, Blocks)],
    "make_result": lambda text: [
        shapes.make_result(kind(text), ERA, says_success=True) for kind in (Says, Plain, Blocks)
    ],
    "make_messages": lambda text: shapes.make_messages([Message("user", Text(text))], ERA),
    "make_document": lambda text: [
        shapes.make_document("x://y", kind, given)
        for kind in ("text/plain", "application/json")
        for given in (text, {"a": text}, Document("x://y", kind, text))
    ],
    "make_failed_result": lambda text: shapes.make_failed_result(Failure(text))["content"],
    "make_error": lambda text: shapes.make_error(Failure(text)),
}
UNTOUCHED = {"make_plain"}  # for programs, which get what was written


def test_every_converter_of_the_wire_is_known_here() -> None:
    found = {name for name, _ in inspect.getmembers(shapes, inspect.isfunction) if name.startswith("make_")}
    assert found == set(CONVERTERS) | UNTOUCHED


def test_there_are_many_payloads() -> None:
    assert len(set(PAYLOADS)) >= 200


@pytest.mark.parametrize("name", CONVERTERS)
def test_no_payload_passes_a_converter(name: str) -> None:
    for payload in PAYLOADS:
        said = shapes.encode(CONVERTERS[name](payload)).decode()
        assert not find_hidden(json.loads(said)), repr(payload)


def test_no_payload_passes_a_hook_nor_leaves_its_frame() -> None:
    for payload in PAYLOADS:
        reply = Reply("key:1 (bob)", payload, "")
        own = Shown(1, "leased", f"{payload}.py", "look", "", code=payload, hunk=payload, replies=(reply,))
        other = Shown(2, "leased", "a.py", payload, "", author=f"key:1 ({payload})", suggestion=payload)
        report = Shown(3, "leased", "", payload, "", source="GitLab")
        for kind in get_args(hooks.Client):
            said = hooks.format_output(kind, "stop", hooks.format_text([own, other, report], 0, [own, other, report]))
            assert not find_hidden(json.loads(said)), repr(payload)
        text = hooks.format_text([structs.replace(own, file="a.py"), report], 0, [report])
        frames = re.findall(
            r"^\[\w+: [^\]\n]+, until ([0-9a-f]{8})\]\n(.*?)\n\[end \1\]$", text, re.DOTALL | re.MULTILINE
        )
        assert [words for _, words in frames] == [*[clean(payload)] * 3, " ".join(clean(payload).split())]


def test_cleaning_twice_changes_nothing_more_and_no_frame_is_left() -> None:
    for payload in PAYLOADS:
        assert clean(clean(payload)) == clean(payload)
        assert clean_prose(clean_prose(payload)) == clean_prose(payload)
        framed = frame(payload, "source")
        end = framed.rpartition("\n")[2]
        assert framed.count(end) == 1


TEXTS = ["\n".join(PAYLOADS[at : at + 20]) for at in range(0, len(PAYLOADS), 20)]


def list_calls(client: Client) -> Iterator[tuple[str, Any]]:
    """Every tool that reads, every prompt and every resource, asked so that it answers what is there."""
    for tool in client.ask("tools/list")["result"]["tools"]:
        schema = tool["inputSchema"]
        if tool.get("annotations", {}).get("readOnlyHint") and tool["name"] != "inbox_wait":
            given = {
                name: GIVEN.get(name, "a.py" if "ath" in name or name == "file" else "a")
                for name in schema.get("required", ())
            }
            yield tool["name"], client.ask("tools/call", name=tool["name"], arguments=given)
    for prompt in client.ask("prompts/list")["result"]["prompts"]:
        given = {each["name"]: "a.py" for each in prompt.get("arguments", ()) if each.get("required")}
        yield prompt["name"], client.ask("prompts/get", name=prompt["name"], arguments=given)
    for resource in client.ask("resources/list")["result"]["resources"]:
        yield resource["uri"], client.ask("resources/read", uri=resource["uri"])


def list_texts(value: object) -> Iterator[str]:
    """Yields the texts that a model reads of a result: of its content, its messages, its documents."""
    if isinstance(value, dict):
        for key, below in cast("dict[str, object]", value).items():
            if key == "text" and isinstance(below, str):
                yield below
            else:
                yield from list_texts(below)
    elif isinstance(value, list):
        for below in cast("list[object]", value):
            yield from list_texts(below)


def is_enveloped(text: str) -> bool:
    """Whether the words of others are inside a frame that they do not close, in a fence, or in JSON that says so."""
    if text.startswith("{"):
        return json.loads(text).get("untrusted") is True
    framed = re.search(r"\[\w+: [^\]\n]+, until ([0-9a-f]{8})\]\n(.*)\n\[end \1\]", text, re.DOTALL)
    return framed is not None and framed[1] not in framed[2] and "Ignore all" not in text.replace(framed[0], "")


GIVEN: dict[str, Any] = {"startLine": 1, "endLine": 2, "line": 1, "id": "1", "query": "a", "pattern": "a"}


def test_no_tool_prompt_or_resource_hands_on_what_nobody_sees(client: Client, tmp_path: Path) -> None:
    written = 0
    for text in TEXTS:
        added = client.ask("tools/call", name="add_comment", arguments={"filePath": "a.py", "line": 1, "text": text})
        title = text[:80].replace("\n", " ")
        made = client.ask("tools/call", name="git_mile_create", arguments={"title": title, "description": text})
        written += "result" in added and not added["result"].get("isError")
        written += "result" in made and not made["result"].get("isError")
    subprocess.run(["git", "checkout", "-q", "--", "a.py"], cwd=tmp_path / "repository", check=True)
    assert written >= len(TEXTS)
    seen = 0
    for name, answer in list_calls(client):
        result = cast("dict[str, Any]", answer.get("result") or answer.get("error"))
        result.pop("structuredContent", None)  # for programs; `_meta` says that it is untrusted
        result.pop("_meta", None)
        assert not find_hidden(result), name
        for text in list_texts(result):
            if "Ignore all previous instructions" in text:
                assert is_enveloped(text), f"{name}: {text[:200]}"
        seen += "Ignore all previous instructions" in json.dumps(result)
    assert seen >= 3, "the words themselves are there"
