"""Every odd frame gets the right refusal, with its id where one can be read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.wire.protocol import jsonrpc
from postil.wire.protocol.jsonrpc import Invalid, Notification, Request, parse

CALL = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":%s}}'

ODD: dict[str, tuple[bytes, int | str | None, int]] = {
    "not JSON": (b"hello", None, -32700),
    "truncated": (b'{"jsonrpc":"2.0","id":7,"method":', 7, -32700),
    "a number": (b"42", None, -32600),
    "a string": (b'"x"', None, -32600),
    "no jsonrpc": (b'{"id":7,"method":"ping"}', 7, -32600),
    "jsonrpc 1.0": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
    "method is a number": (b'{"jsonrpc":"2.0","id":"a","method":1}', "a", -32600),
    "params is an array": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 7, -32600),
    "params is a string": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}', 7, -32600),
    "id is null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    "id is a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
    "id is a boolean": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
    "id is an object": (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600),
    "id is too long": (b'{"jsonrpc":"2.0","id":"%s","method":"ping"}' % (b"x" * 257), None, -32600),
    "id has 5000 digits": (b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % (b"9" * 5000), None, -32700),
    "upper-case keys": (b'{"jsonrpc":"2.0","id":7,"Method":"ping"}', 7, -32600),
    "neither method nor answer": (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
    "a byte order mark": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"ping"}', 7, -32700),
    "invalid UTF-8": (CALL % b'"\xff"', 7, -32700),
    "a lone surrogate": (CALL % b'"\\ud800"', 7, -32700),
    "NaN": (CALL % b"NaN", 7, -32700),
    "infinity by exponent": (CALL % b"1e999", 7, -32700),
    "an integer of 5000 digits": (CALL % (b"9" * 5000), 7, -32700),
    "nested 65 deep": (CALL % (b"[" * 63 + b"]" * 63), 7, -32600),
    "nested 100,000 deep": (CALL % (b"[" * 100_000 + b"]" * 100_000), 7, -32600),
    "never closed": (b'{"jsonrpc":"2.0","id":7,"method":"p","params":' + b"[" * 100_000, 7, -32600),
    "an empty batch": (b"[]", None, -32600),
    "nested 101 deep in a long frame": (CALL % (b"[" * 99 + b'"%s"' % (b"x" * 5000) + b"]" * 99), 7, -32600),
    "a batch of 101": (b"[" + b",".join([CALL % b"1"] * 101) + b"]", None, -32600),
    "over 4 MiB": (CALL % (b'"' + b"x" * jsonrpc.LARGEST_FRAME + b'"'), 7, -32600),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_frame_is_refused_with_its_code_and_its_id(name: str) -> None:
    frame, request_id, code = ODD[name]
    refused = parse(frame)
    assert isinstance(refused, Invalid), refused
    assert (refused.id, refused.code) == (request_id, code)


@pytest.mark.parametrize(
    "value", [b"1", b'"\\u0000"', '"\u2028"'.encode(), b"[" * 62 + b"]" * 62, b'"[[[[{{{{"', b'"\\\\"', b'"\\"[["']
)
def test_a_strange_but_valid_frame_is_served(value: bytes) -> None:
    assert isinstance(parse(CALL % value), Request)


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        (0, True),
        (2**63 - 1, True),
        (2**63, False),
        (-(2**63), True),
        (-(2**63) - 1, False),
        (True, False),
        (1.0, False),
        (None, False),
        ("", True),
        ("x" * jsonrpc.LONGEST_ID, True),
        ("x" * (jsonrpc.LONGEST_ID + 1), False),
        ("é" * jsonrpc.LONGEST_ID, False),
        ("\ud800", False),
    ],
)
def test_an_id_is_a_short_text_or_a_number_of_64_bits(value: object, taken: bool) -> None:
    assert jsonrpc.is_id(value) is taken


LONG = b'"' + b"x" * 70_000 + b'", NaN'
"""More than a lenient reader takes, and no JSON."""


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[%s]}}' % LONG, 7),
        (b'{"jsonrpc":"2.0","method":"ping","params":{"id":8,"a":[%s]},"id":7}' % LONG, 7),
        (b'{"jsonrpc":"2.0","method":"ping","params":[{"id":8},%s],"id":"own"}' % LONG, "own"),
        (b'{"jsonrpc":"2.0","method":"ping","params":{"id":8,"a":[%s]}}' % LONG, None),
        (b'{"jsonrpc":"2.0","method":%s,"id":7}' % LONG, 7),
        (b'{"id":7,"method":%s' % LONG, 7),
        (b'"id":7,%s}' % LONG, None),
        (LONG, None),
    ],
)
def test_of_a_large_odd_frame_only_its_own_id_is_found(frame: bytes, found: int | str | None) -> None:
    refused = parse(frame)
    assert isinstance(refused, Invalid)
    assert refused.id == found


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":', 7),
        (b' \n{"id":"own","params":{"id":8', "own"),
        (b'{"method":"tools/call","params":{"id":8,"name":', None),
        (b'{"method":"tools/call","params":[{"id":8,"name":', None),
        (b'[{"id":7,"method":"ping"},', None),
        (b'"id":7,{"id":8,', None),
        (b"", None),
    ],
)
def test_the_id_of_a_beginning_is_the_one_before_anything_nested(head: bytes, found: int | str | None) -> None:
    assert jsonrpc.find_id_at_start(head) == found


def test_brackets_in_strings_do_not_count_as_nesting() -> None:
    assert isinstance(parse(CALL % (b'"' + b'\\"[{\\\\' * 1000 + b'"')), Request)


def test_of_duplicate_keys_the_last_wins() -> None:
    assert parse(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}') == Request(2, "ping", {})


def test_a_message_without_an_id_is_a_notification() -> None:
    assert parse(b'{"jsonrpc":"2.0","method":"initialized"}') == Notification("initialized", {})


@given(st.binary(max_size=300))
def test_no_bytes_make_the_parser_raise(frame: bytes) -> None:
    parse(frame)


@given(st.integers(-(2**63), 2**63 - 1) | st.text(max_size=60), st.dictionaries(st.text(), st.integers(-9, 9)))
def test_what_is_written_is_read_back(request_id: int | str, params: dict[str, int]) -> None:
    written = jsonrpc.encode_request(request_id, "m", params)
    assert parse(written) == Request(request_id, "m", params)


BEFORE = b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":'


@pytest.mark.parametrize(
    ("inner", "fault"),
    [
        (b"[" * 1_000_000, "objects and lists"),
        (b"[" + b"[]," * 60_000 + b"1]", "objects and lists"),
        (b"[" + b'{"a":1},' * 60_000 + b"1]", "objects and lists"),
        (b"{" + b",".join(b'"%d":1' % number for number in range(300_000)) + b"}", "strings"),
        (b"[" * 70 + b"]" * 70, "nested deeper"),
        (b"[" * 70 + b'"%s"' % (b"x" * 500_000) + b"]" * 70, "nested deeper"),
        (b'{"a":[' * 34 + b'"%s"' % (b"x" * 5000) + b"]}" * 34, "nested deeper"),
    ],
)
def test_a_frame_of_very_many_values_is_refused_before_it_is_decoded(inner: bytes, fault: str) -> None:
    refused = parse(BEFORE + inner + b"}}")
    assert isinstance(refused, Invalid)
    assert fault in refused.message
    assert refused.id == 7


def test_code_in_a_text_is_no_structure() -> None:
    code = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": ['x["y"] = {}\n' * 100_000, [1]]}})
    assert isinstance(parse(code.encode()), Request)


@pytest.mark.parametrize(
    ("inner", "taken"),
    [
        (b"[" + b'"",' * (jsonrpc.MOST_STRINGS - 7) + b"1]", True),
        (b"[" + b'"",' * (jsonrpc.MOST_STRINGS - 6) + b"1]", False),
        (b"[" * 61 + b'"%s"' % (b"x" * 5000) + b"]" * 61, True),
        (b"[" * 64 + b'"%s"' % (b"x" * 5000) + b"]" * 64, False),
    ],
)
def test_a_frame_is_refused_from_its_bound_on(inner: bytes, taken: bool) -> None:
    assert isinstance(parse(BEFORE + inner + b"}}"), Request) is taken


@pytest.mark.parametrize(
    ("inner", "fault"),
    [
        (b"[" + b"1e9," * (jsonrpc.MOST_FRACTIONS + 1) + b"1]", "numbers with a point or an exponent"),
        (b"[" + b"1E9," * (jsonrpc.MOST_FRACTIONS + 1) + b"1]", "numbers with a point or an exponent"),
        (b"[" + b"0.1," * (jsonrpc.MOST_FRACTIONS + 1) + b"1]", "numbers with a point or an exponent"),
        (b"[" + b"true,false," * 20_000 + b"1e9," * jsonrpc.MOST_FRACTIONS + b"1]", ""),
        (b"[" + b"1," * 200_000 + b"1]", ""),
        (b'["' + b"1e9, 0.1 " * 200_000 + b"1" * 100 + b'"]', ""),
        (b"[" + b"0.%s," % (b"3" * 64) * 2000 + b"1]", "a number with more than 64 digits"),
        (b"[" + b"0.%s," % (b"3" * 60) * 2000 + b"1]", ""),
        (b"[" + b"%s," % (b"3" * 64) * 2000 + b"1]", ""),
        (b"[" + b"%s," % (b"3" * 64) * 2000 + b"%s]" % (b"3" * 65), "a number with more than 64 digits"),
    ],
)
def test_a_frame_holds_only_so_many_numbers_that_take_long_to_read(inner: bytes, fault: str) -> None:
    assert fault in jsonrpc.find_excess(BEFORE + inner + b"}}")
    assert bool(jsonrpc.find_excess(BEFORE + inner + b"}}")) is bool(fault)


def test_a_large_refused_frame_is_not_read_whole_for_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str, **_: object) -> None:
        raise AssertionError(len(text))

    monkeypatch.setattr(json, "loads", read)
    assert jsonrpc.find_id(b'{"id":7,"a":%s}' % LONG) == 7


@pytest.mark.parametrize("frame", [b'["id":7,', b'["id":7,"a"}'])
def test_what_is_no_object_has_no_id(frame: bytes) -> None:
    assert jsonrpc.find_id(frame) is None
