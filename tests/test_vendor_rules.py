"""The schemas of our tools under the rules that the model APIs publish for function declarations.

Anthropic: names. OpenAI: names, an object at the root, bounded nesting and counts; strict mode where it can be had.
Gemini: a subset of OpenAPI's schema: known keys alone, one type a node, texts in enumerations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from postil.app import App
from postil.core.catalogue import OperationEntry
from postil.settings.model import GitLabSettings, Settings
from postil.wire.protocol.eras.era import NEWEST
from postil.wire.protocol.shapes import describe_tool

EVERY = App(Settings(toolsets=("extra",), gitlab=GitLabSettings(token="x"))).tools()
USUAL = App(Settings(gitlab=GitLabSettings(token="x"))).tools()
GEMINI = frozenset({
    "anyOf", "default", "description", "enum", "example", "format", "items", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum", "nullable", "pattern", "properties", "required", "title", "type",
    "additionalProperties",
})  # fmt: skip
TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})
DEEPEST, MOST_PROPERTIES, MOST_TOOLS = 5, 100, 128


def schema(entry: OperationEntry) -> dict[str, Any]:
    return msgspec.json.decode(entry.input_schema)


def nodes(node: dict[str, Any], depth: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    yield node, depth
    for field in node.get("properties", {}).values():
        yield from nodes(field, depth + 1)
    for inner in [node.get("items"), *node.get("anyOf", ()), node.get("additionalProperties")]:
        if isinstance(inner, dict):
            yield from nodes(cast("dict[str, Any]", inner), depth + 1)


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.name)
def test_a_schema_keeps_the_published_rules(entry: OperationEntry) -> None:
    whole = schema(entry)
    assert whole["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "enum", "not"} & {*whole}
    for node, depth in nodes(whole):
        assert {*node} <= GEMINI, node
        assert depth <= DEEPEST
        assert "type" in node or "anyOf" in node, node
        assert node.get("type", "object") in TYPES, node
        assert len(node.get("properties", {})) <= MOST_PROPERTIES
        assert {*node.get("required", ())} <= {*node.get("properties", {})}
        if "enum" in node:
            assert node["type"] == "string"
            assert all(isinstance(value, str) and value for value in node["enum"])
        if node.get("type") == "array":
            assert "items" in node, node


def test_every_parameter_that_assistants_see_is_described() -> None:
    bare = [
        f"{entry.name}.{name}"
        for entry in EVERY
        for name, field in schema(entry).get("properties", {}).items()
        if not field.get("description")
    ]
    assert bare == []


def test_the_list_of_tools_fits() -> None:
    longest = sorted((len(msgspec.json.encode(describe_tool(entry, NEWEST))), entry.name) for entry in USUAL)[-8:]
    listed = msgspec.json.encode({"tools": [describe_tool(entry, NEWEST) for entry in USUAL]})
    advice = f"shorten descriptions, or offer the tool in a toolset (CONTRIBUTING.md); the longest are {longest}"
    assert len(listed) <= 48_000, advice
    assert len(USUAL) <= MOST_TOOLS


def test_names_and_descriptions_are_within_the_bounds() -> None:
    for entry in EVERY:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", f"mcp__postil__{entry.name}")
        assert 0 < len(entry.description) <= 1024
