"""Numbers of others cost what other values cost, and what has no type for each value is read so everywhere."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.comments.sidecar import dialects, one_by_one
from postil.comments.sidecar.json_edit import decode_value
from postil.core.others.number import decode_json
from postil.gitlab.instance.records import parse
from tests.tree import modules

KNOWN = {
    "surfaces/setup/jsonc.py": "one name or word of a file",
    "surfaces/setup/probe.py": "what our own server says",
    "surfaces/shell/commands.py": "our catalogue, or a word that a person types",
    "surfaces/shell/completion.py": "our catalogue",
    "surfaces/shell/flags.py": "our catalogue",
    "wire/protocol/jsonrpc.py": "an id; a small frame that is refused",
    "wire/transports/http/headers.py": "a value of ours",
}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_as_it_was_written(number: float) -> None:
    assert decode_json(json.dumps([number]).encode()) == [number]


@pytest.mark.parametrize("text", ["1e999", "-1e999", "[1e309]", '{"a":1.8e308}'])
def test_what_is_out_of_range_is_no_number(text: str) -> None:
    with pytest.raises(msgspec.DecodeError, match="out of range"):
        decode_json(text.encode())


def read_comment(text: bytes) -> object:
    return one_by_one._comment(b'{"id":"a","text":"x","line":1,"aiMeta":%s}' % text)  # pyright: ignore[reportPrivateUsage]


def read_file(text: bytes) -> object:
    return dialects.read_any(b'{"version":"2.0","comments":[{"id":"a","text":"x","line":1,"params":%s}]}' % text)


@pytest.mark.parametrize("read", [decode_json, decode_value, parse, read_comment, read_file])
def test_the_dearest_numbers_cost_no_more_than_others(read: Callable[[bytes], object]) -> None:
    """The decoder's own way takes 250 times as long for them."""
    dear, cheap = (b"[" + number * 20_000 + b"1]" for number in (b"1e300,", b"1.5,"))
    assert min(_time(read, dear) for _ in range(3)) < 40 * min(_time(read, cheap) for _ in range(3))


def _time(read: Callable[[bytes], object], text: bytes) -> float:
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


def test_every_json_without_types_is_read_so_or_has_a_reason() -> None:
    found = {
        module.where
        for module in modules().values()
        if "json." in module.text
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("msgspec.json.decode", "json.loads")
        and not any(keyword.arg == "type" for keyword in node.keywords)
    }  # fmt: skip
    assert found == set(KNOWN)
