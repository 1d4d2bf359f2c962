"""What a record of the audit names: the thing that was changed, and what came of it. Never a text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

import postil
from postil.storage.audit.audit_records import (
    IDS,
    OBJECTS,
    Record,
    decode,
    decode_head,
    digest_arguments,
    name_object,
    name_result,
)


@pytest.mark.parametrize(
    ("value", "named"),
    [("abc", "abc"), (7, "7"), (0, "0"), (True, ""), (None, ""), (["abc"], ""), ("a\nb", "a?b"), ("x" * 999, "x")],
)
def test_a_result_is_named_by_its_id_alone(value: object, named: str) -> None:
    found = name_result(SimpleNamespace(**{IDS[0]: value}))
    assert found == (named if named != "x" else "x" * 200)


def test_of_several_ids_the_first_that_is_one_names_it() -> None:
    assert name_result(SimpleNamespace(**{IDS[0]: None, IDS[1]: "second"})) == "second"
    assert name_result(SimpleNamespace(**{IDS[0]: "first", IDS[1]: "second"})) == "first"
    assert name_result(SimpleNamespace(text="private words")) == ""


def test_an_object_is_named_by_what_the_arguments_call_it() -> None:
    first, second = OBJECTS[:2]
    assert name_object({second: 3, first: "a\nb", "text": "private words"}) == f"{first}=a?b {second}=3"
    assert name_object({first: ["a"], second: None}) == ""
    assert name_object("a text") == ""
    assert len(name_object({first: "x" * 999, second: "y" * 999})) == 200


def test_equal_arguments_have_one_digest_in_any_order() -> None:
    assert digest_arguments({"a": 1, "b": 2}) == digest_arguments({"b": 2, "a": 1})
    assert digest_arguments({"a": 1}) != digest_arguments({"a": 2})


def test_a_record_says_only_what_is_not_usual_and_is_read_so() -> None:
    """Logs of earlier versions are read by this one, and the other way round."""
    usual = Record(
        1.5, kind="", writer="", n=0, before="", principal="", operation="", arguments="", object="", of=0, outcome="",
        result="", process="", after=None, name="",
    )  # fmt: skip
    assert msgspec.json.encode(usual) == b'{"at":1.5}'
    assert decode(b'{"at":1.5}') == usual


@pytest.mark.parametrize("value", [b"", b"[", b"{}", b"[" * 100_000, b"\xff"])
def test_a_head_that_cannot_be_read_is_none(value: bytes) -> None:
    assert decode_head(value) is None


def test_every_operation_that_changes_a_thing_names_it() -> None:
    """An id among the arguments of a write says which thing; one that names a person only says what is set."""
    catalogue = Path(postil.__file__).parent / "catalogue"
    unnamed = {
        (operation["name"], argument)
        for file in catalogue.glob("*.json")
        for operation in json.loads(file.read_text()).get("operations", ())
        if operation["effect"] == "writes"
        for argument in operation["input_schema"].get("properties", {})
        if re.search(r"(?:_id|_iid|Id)\Z", argument) and argument not in OBJECTS
    }
    assert {argument for _, argument in unnamed} <= {"assignee_id"}, unnamed
    texts = {"comment", "text", "body", "message", "title", "description", "reason"}
    assert not texts & set(OBJECTS)  # `comment` is an id for one operation, and a remark for others
