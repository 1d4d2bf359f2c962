"""Frames that a confused or hostile client might send, from a seed; and which of them must be answered.

What must be answered is decided here, by Python's own json module and the protocol's limits, not by what is tested.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, cast

DEEPEST = 64
LONGEST_ID = 256
LARGEST_FRAME = 4 * 1024 * 1024
Object = dict[str, Any]

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
}
# Not `shutdown` (it ends the server, as it should) and not `subscriptions/listen` (it is answered when it ends).
REQUESTS: list[tuple[str, Object]] = [
    ("ping", {}),
    *(
        ("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}})
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", 1)
    ),
    ("tools/list", {}),
    ("tools/call", {"name": "echo", "arguments": {"text": "hello", "times": 2}}),
    ("tools/call", {"name": "count", "arguments": {"by": 1}}),
    ("tools/call", {"name": "fail", "arguments": {}}),
    ("tools/call", {"name": "break", "arguments": {}}),
    ("tools/call", {"name": "wait", "arguments": {}, "_meta": {"progressToken": "p"}}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    ("resources/list", {}),
    ("resources/read", {"uri": "echo://note"}),
    ("resources/read", {"uri": "echo://files/a/b.txt"}),
    ("resources/subscribe", {"uri": "echo://note"}),
    ("resources/unsubscribe", {"uri": "echo://note"}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "A"}},
    ),
    ("logging/setLevel", {"level": "debug"}),
    ("server/discover", {}),
    ("no/such/method", {}),
]
NOTIFICATIONS: list[tuple[str, Object]] = [
    ("notifications/initialized", {}),
    ("notifications/cancelled", {"requestId": "never-sent"}),
    ("notifications/progress", {"progressToken": "never-sent", "progress": 1}),
    ("notifications/roots/list_changed", {}),
    ("notifications/nonsense", {}),
]
ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 1.5, 2**31, 2**53 + 1, -(2**63), 10**30, 1e308, "", "a", "\u0000", "\u2028", "é" * 50,
    "💥", "x" * 300, "x" * 70_000, [], [1, 2], [[]], {}, {"a": {"b": {}}}, "../../etc/passwd", "__proto__",
    "2024-11-05", "1.0.0",
]  # fmt: skip
ODD_KEYS = ["id", "jsonrpc", "method", "extra", "_meta", "arguments", "Method"]
ODD_BYTES: list[bytes] = [
    b"", b" ", b"\t", b"null", b"42", b'"text"', b"[]", b"[1]", b"{}", b"nul", b"{", b"}", b"[[[[", b"NaN", b"\xff\xfe",
    b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    b'{"a":' * 1000 + b"1" + b"}" * 1000, b"[" * 50_000, b"\x00" * 64, b'{"jsonrpc":"2.0","id":-0,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', b'{"id":1,"id":2,"jsonrpc":"2.0","method":"ping"}',
]  # fmt: skip


def frames(seed: int, count: int) -> Iterator[bytes]:
    """`count` frames, the same for the same seed. None holds a newline, so that one frame is one line."""
    chance = random.Random(seed)
    for number in range(count):
        yield one(chance, number).replace(b"\n", b" ").replace(b"\r", b" ")


def one(chance: random.Random, number: int) -> bytes:
    kind = chance.random()
    if kind < 0.10:
        return chance.choice(ODD_BYTES)
    if kind < 0.15:
        return (
            b"[" + b",".join(encoded(chance, message(chance, number)) for _ in range(chance.choice([1, 2, 101]))) + b"]"
        )
    data = encoded(chance, altered(chance, message(chance, number)) if kind < 0.65 else message(chance, number))
    return damaged(chance, data) if kind > 0.85 else data


def message(chance: random.Random, number: int) -> Object:
    """A frame with nothing wrong: a request in one of the eras, or sometimes a notification or an answer to nothing."""
    kind = chance.random()
    if kind < 0.05:
        return {"jsonrpc": "2.0", "id": f"answer-{number}", "result": {}}
    if kind < 0.15:
        method, params = chance.choice(NOTIFICATIONS)
        return {"jsonrpc": "2.0", "method": method, "params": params}
    method, params = chance.choice(REQUESTS)
    if chance.random() < 0.4:
        params = {**params, "_meta": {**META, **params.get("_meta", {})}}
    return {"jsonrpc": "2.0", "id": chance.choice([number, f"f{number}"]), "method": method, "params": params}


def altered(chance: random.Random, sent: Object) -> Object:
    """The frame with a few of its values, keys or parts changed."""
    sent = cast("Object", json.loads(json.dumps(sent)))
    for _ in range(chance.choice([1, 1, 2, 3])):
        holder = chance.choice(list(holders(sent)))
        keys = list(holder)
        action = chance.random()
        if action < 0.5 and keys:
            holder[chance.choice(keys)] = odd_value(chance)
        elif action < 0.75 and keys:
            del holder[chance.choice(keys)]
        else:
            holder[chance.choice(["id", "jsonrpc", "method", "extra", "_meta", "arguments", "Method"])] = odd_value(
                chance
            )
    return sent


def odd_value(chance: random.Random) -> Any:
    return copy.deepcopy(chance.choice(ODD_VALUES))


def holders(value: Any) -> Iterator[Object]:
    """Every object inside a value, itself first."""
    if isinstance(value, dict):
        held = cast("Object", value)
        yield held
        for inner in held.values():
            yield from holders(inner)


def encoded(chance: random.Random, sent: Object) -> bytes:
    pretty = chance.random() < 0.1
    return json.dumps(sent, ensure_ascii=chance.random() < 0.5, indent=1 if pretty else None).encode("utf-8")


def damaged(chance: random.Random, data: bytes) -> bytes:
    """The bytes cut, flipped, doubled or stuffed."""
    broken = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5])):
        if not broken:
            break
        place = chance.randrange(len(broken))
        action = chance.randrange(4)
        if action == 0:
            broken[place] ^= 1 << chance.randrange(8)
        elif action == 1:
            del broken[place : place + chance.randrange(1, 20)]
        elif action == 2:
            broken[place:place] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 6)))
        else:
            del broken[place:]
    return bytes(broken)


def readable_id(frame: bytes) -> str | int | None:
    """The id that must come back in an answer, or None where the frame has none that can be read or wants no answer."""
    if len(frame) > LARGEST_FRAME:
        return None
    try:
        value: Any = json.loads(frame.decode("utf-8"), parse_constant=refuse, parse_int=sane)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or depth(cast("object", value)) > DEEPEST or not text_is_sound(frame):
        return None
    sent = cast("Object", value)
    if "method" not in sent and ("result" in sent or "error" in sent):
        return None
    found = sent.get("id")
    if isinstance(found, bool) or not isinstance(found, int | str):
        return None
    return found if len(str(found).encode()) <= LONGEST_ID and (isinstance(found, str) or abs(found) < 2**53) else None


def cancelled_id(frame: bytes) -> str | int | None:
    """The id whose request this frame may take back: from then on its answer need not come."""
    if b"notifications/cancelled" not in frame:
        return None
    try:
        value: Any = json.loads(frame.decode("utf-8"))
        found = value["params"]["requestId"] if value["method"] == "notifications/cancelled" else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return found if isinstance(found, int | str) else None


def refuse(constant: str) -> float:
    raise ValueError(constant)


def sane(digits: str) -> int:
    number = int(digits) if len(digits) < 25 else 10**30
    if not -(2**63) <= number < 2**64:
        raise ValueError(digits)
    return number


def text_is_sound(frame: bytes) -> bool:
    """Whether no lone surrogate hides in an escape."""
    try:
        json.dumps(json.loads(frame), ensure_ascii=False).encode("utf-8")
    except ValueError:
        return False
    return True


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((depth(inner) for inner in cast("Object", value).values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth(inner) for inner in cast("list[object]", value)), default=0)
    return 0
