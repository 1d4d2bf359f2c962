"""Schemas are trimmed to what a client needs, and say what msgspec will take."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from postil.core.arguments.schema import arguments_schema, result_schema, without, without_blank_defaults


class Leaf(Struct, frozen=True):
    """A leaf."""

    veins: int
    colour: Literal["red", "green"] = "green"


class Tree(Struct, frozen=True, forbid_unknown_fields=True):
    """A tree."""

    name: Annotated[str, Meta(max_length=9, title="Name")]
    leaves: list[Leaf]
    parent: Tree | None = None
    height: float | None = None
    either: int | str | None = None
    nothing: Annotated[int, Meta(extra_json_schema={"unlisted": True})] = 0


def test_arguments_are_open_unless_the_mark_closes_them() -> None:
    assert "additionalProperties" not in arguments_schema(Tree)
    assert arguments_schema(Tree, closed=True)["additionalProperties"] is False


def test_what_may_be_left_out_does_not_say_null() -> None:
    fields = arguments_schema(Tree)["properties"]
    assert fields["height"] == {"type": "number"}
    assert fields["either"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}


def test_a_type_inside_itself_is_an_object_and_nothing_is_referred_to() -> None:
    schema = arguments_schema(Tree)
    assert schema["properties"]["parent"] == {"type": "object"}
    assert "$ref" not in msgspec.json.encode(schema).decode()


def test_titles_of_objects_go_and_titles_of_fields_stay() -> None:
    schema = arguments_schema(Tree)
    assert "title" not in schema
    assert schema["properties"]["name"] == {"type": "string", "title": "Name", "maxLength": 9}
    assert "title" not in schema["properties"]["leaves"]["items"]


def test_an_unlisted_argument_is_taken_and_not_published() -> None:
    assert "nothing" not in arguments_schema(Tree)["properties"]
    assert msgspec.convert({"name": "oak", "leaves": [], "nothing": 1}, Tree).nothing == 1


def test_an_enumeration_of_texts_says_that_it_is_of_texts() -> None:
    leaf = arguments_schema(Tree)["properties"]["leaves"]["items"]
    assert leaf["properties"]["colour"] == {"enum": ["green", "red"], "type": "string", "default": "green"}
    assert leaf["required"] == ["veins"]


def test_arguments_that_are_settled_are_neither_listed_nor_required() -> None:
    schema = arguments_schema(Tree)
    assert schema["required"] == ["name", "leaves"]
    assert without(schema, {"name"})["required"] == ["leaves"]
    assert "name" not in without(schema, {"name"})["properties"]
    assert "required" not in without(schema, {"name", "leaves"})
    assert schema["required"] == ["name", "leaves"], "the schema itself is not changed"


def test_the_schema_of_a_result_is_whole() -> None:
    schema = result_schema(Tree)
    assert schema is not None
    assert schema["required"] == ["name", "leaves"]
    assert schema["properties"]["leaves"]["items"]["required"] == ["veins"]


def test_a_result_that_is_no_object_has_no_schema() -> None:
    assert result_schema(str) is None
    assert result_schema(None) is None
    assert result_schema(list[Tree]) is None
    assert result_schema(dict[str, int]) is None


def test_a_default_that_says_nothing_is_not_published() -> None:
    fields: dict[str, dict[str, object]] = {
        "empty": {"type": "string", "default": ""},
        "none": {"type": "array", "default": []},
        "no": {"type": "boolean", "default": False},
        "zero": {"type": "integer", "default": 0},
        "yes": {"type": "boolean", "default": True},
        "word": {"type": "string", "default": "x"},
    }
    kept = without_blank_defaults({"type": "object", "properties": fields})["properties"]
    assert {name for name, field in kept.items() if "default" in field} == {"zero", "yes", "word"}
    assert without_blank_defaults({"type": "object"}) == {"type": "object"}
