"""GitLab's JSON is read without trust: what does not fit reads as nothing, and reading never raises."""

from __future__ import annotations

import pytest

from postil.gitlab.instance.records import Record, list_records, parse

ODD: list[object] = [None, True, 1, 1.5, "text", [], {}, ["x"], {"a": 1}]


def test_every_field_of_every_type_can_be_read_as_every_other() -> None:
    for value in ODD:
        raw = Record({"x": value})
        for read in (raw.text, raw.number, raw.seconds, raw.flag, raw.record, raw.records, raw.texts):
            read("x")
            read("missing")


def test_a_number_is_whole_and_may_be_written_as_digits() -> None:
    given: list[tuple[object, int | None]] = [
        (7, 7), (-7, -7), ("7", 7), ("-7", None), ("seven", None), ("٧", None), (True, None), (7.0, None), (None, None),
    ]  # fmt: skip
    assert [Record({"x": value}).number("x") for value, _ in given] == [number for _, number in given]


def test_seconds_and_flags_are_never_each_other() -> None:
    raw = Record({"on": True, "time": 1.5, "count": 2, "text": "true"})
    assert [raw.seconds(name) for name in ("on", "time", "count", "text")] == [None, 1.5, 2, None]
    assert [raw.flag(name) for name in ("on", "time", "count", "text")] == [True, None, None, None]


def test_a_text_is_a_text() -> None:
    assert (Record({"x": "y"}).text("x"), Record({"x": 1}).text("x"), Record([]).text("x")) == ("y", None, None)


def test_a_record_that_is_not_there_is_false_and_can_be_read_further() -> None:
    raw = Record({"inner": {"deep": {"x": "y"}}, "empty": {}, "list": []})
    assert raw.record("inner").record("deep").text("x") == "y"
    assert not raw.record("list")
    assert raw.record("missing").record("deeper").number("x") is None
    assert raw.record("empty"), "an empty object is an object"


def test_lists_keep_only_what_they_are_lists_of() -> None:
    mixed: list[object] = ["a", 1, {"x": "b"}, None, [], {"x": "c"}]
    raw = Record({"mixed": mixed, "object": {"x": 1}})
    assert [one.text("x") for one in raw.records("mixed")] == ["b", "c"]
    assert raw.texts("mixed") == ["a"]
    assert (raw.records("object"), raw.texts("object"), list_records("text")) == ([], [], [])


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"a":', b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json_is_what_the_caller_says(body: bytes) -> None:
    assert parse(body) is None
    assert parse(body, otherwise="") == ""


def test_json_is_parsed_and_null_is_null() -> None:
    assert (parse(b'{"a":[1]}'), parse(b"null", otherwise="x")) == ({"a": [1]}, None)
