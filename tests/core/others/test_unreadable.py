"""What others wrote, and cannot be read: every way in which a decoder says so is one name, and nobody forgets one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec
import pytest

from postil.core.others.unreadable import UNREADABLE
from tests.tree import modules


class _Note(msgspec.Struct):
    text: str = ""
    more: object = None


@pytest.mark.parametrize(
    "written",
    [
        b'{"text":',
        b'{"text":1}',
        b'{"text":"\xff"}',
        b'{"more":{"\xff":1}}',
        b'{"else":' + b"[" * 100_000,
        b'{"more":1e999}',
        b'{"more":%s}' % (b"9" * 5_000),
        '{"text":"\udcff"}',
    ],
)
def test_whatever_makes_json_unreadable_is_caught_by_one_name(written: bytes | str) -> None:
    with pytest.raises(UNREADABLE):
        msgspec.json.decode(written, type=_Note)


@pytest.mark.parametrize(
    "written", [b"\x81\xa4text\xa1\xff", b"\x81\xa4more" + b"\x91" * 100_000, b"\x81\xa4te", b"\xc1"]
)
def test_whatever_makes_message_pack_unreadable_is_caught_by_one_name(written: bytes) -> None:
    with pytest.raises(UNREADABLE):
        msgspec.msgpack.decode(written, type=_Note)


READ_BEFORE = {
    "wire/protocol/jsonrpc.py": "a frame is read as UTF-8 first, and each fault is answered in words of its own",
    "comments/sidecar/dialects.py": "the value is encoded here, which fails in ways of its own",
}
FAULTS = {"DecodeError", "ValidationError", "MsgspecError"}
WHOLE = {"UNREADABLE", "ValueError"}


def _named(handlers: list[ast.ExceptHandler]) -> set[str]:
    """The last words of what some handlers catch."""
    nodes = [node for each in handlers if each.type for node in ast.walk(each.type)]
    return {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}


def _decodes(tried: list[ast.stmt]) -> bool:
    calls = [node.func for each in tried for node in ast.walk(each) if isinstance(node, ast.Call)]
    return not all(ast.unparse(each) in ("msgspec.convert", "read_as_meant", "_message") for each in calls)


def _half_caught() -> Iterator[str]:
    for module in modules().values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Try) and _decodes(node.body):
                names = _named(node.handlers)
                if names & FAULTS and not names & WHOLE:
                    yield module.where


def test_who_catches_what_a_decoder_raises_catches_all_of_it() -> None:
    assert {*_half_caught()} == {*READ_BEFORE}
