"""Schemas as clients get them: no titles, no `$defs`, no `null` beside what may be left out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from postil.core.schema import arguments_schema, result_schema, without


class Inner(Struct):
    """A part of an argument."""

    size: Annotated[int, Meta(ge=1)]
    mood: Literal["loud", "soft"] = "soft"


class Arguments(Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of every kind."""

    name: str
    inner: Inner | None = None
    either: int | str | None = None
    hidden: Annotated[str, Meta(extra_json_schema={"unlisted": True})] = ""
    many: list[Inner] = []


def test_an_argument_that_may_be_left_out_has_no_null_and_no_reference() -> None:
    assert arguments_schema(Arguments) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "inner": {
                "type": "object",
                "description": "A part of an argument.",
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "mood": {"enum": ["loud", "soft"], "default": "soft", "type": "string"},
                },
                "required": ["size"],
            },
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "many": {
                "type": "array",
                "items": {
                    "type": "object",
                    "description": "A part of an argument.",
                    "properties": {
                        "size": {"type": "integer", "minimum": 1},
                        "mood": {"enum": ["loud", "soft"], "default": "soft", "type": "string"},
                    },
                    "required": ["size"],
                },
                "default": [],
            },
        },
        "required": ["name"],
    }


def test_only_a_closed_schema_says_that_no_other_arguments_are_taken() -> None:
    assert arguments_schema(Arguments, closed=True)["additionalProperties"] is False
    assert "additionalProperties" not in arguments_schema(Arguments)


def test_arguments_that_are_settled_are_not_asked_for() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    assert without(schema, ["a"]) == {"type": "object", "properties": {"b": {}}}
    assert without(schema, ["b"])["required"] == ["a"]
    assert schema["required"] == ["a"], "the schema itself is not changed"


class Node(Struct):
    """A tree."""

    name: str
    below: list[Node] = []
    kind: Literal["leaf", "branch"] = "leaf"
    size: int | None = None


@pytest.mark.parametrize(
    ("depth", "properties"),
    [
        (1, {"name": {"type": "string"}, "below": {"type": "array"}, "kind": {"type": "string"}, "size": {}}),
        (
            2,
            {
                "name": {"type": "string"},
                "below": {"type": "array", "items": {"type": "object"}},
                "kind": {"type": "string"},
                "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            },
        ),
    ],
)
def test_an_output_schema_names_so_many_levels_of_keys_and_requires_nothing(depth: int, properties: Any) -> None:
    found = result_schema(Node, depth=depth)
    assert found is not None
    assert set(found["properties"]) == set(properties)
    assert "required" not in found


@pytest.mark.parametrize("result", [str, None, int, list[Node]])
def test_only_an_object_has_an_output_schema(result: object) -> None:
    assert result_schema(result) is None
