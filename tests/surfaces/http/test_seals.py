"""What says that a replica let a request in: for this request, this turn, a while, and once."""

from __future__ import annotations

import time

import pytest

from postil.surfaces.http import seals as module
from postil.surfaces.http.seals import SEAL, Seals

KEY = b"k" * 32
PATH = "/w/a/mcp"
HEADERS = {b"authorization": b"Bearer x", b"content-type": b"application/json"}


def sealed(seals: Seals, turn: int = 7) -> dict[bytes, bytes]:
    return {**HEADERS, SEAL: seals.make(turn, "POST", PATH, HEADERS, b"body")}


def test_a_seal_says_for_which_turn_it_is_and_nobody_without_the_secret_makes_one() -> None:
    seals = Seals(KEY)
    assert Seals(KEY).take("POST", PATH, sealed(seals, 7), b"body") == 7
    assert Seals(b"l" * 32).take("POST", PATH, sealed(seals), b"body") is None
    headers = sealed(seals, 7)
    headers[SEAL] = headers[SEAL].replace(b" 7 ", b" 8 ")
    assert Seals(KEY).take("POST", PATH, headers, b"body") is None


def test_a_seal_is_for_one_request_of_one_caller() -> None:
    seals = Seals(KEY)
    headers = sealed(seals)
    assert seals.take("POST", "/w/b/mcp", headers, b"body") is None
    assert seals.take("GET", PATH, headers, b"body") is None
    assert seals.take("POST", PATH, headers, b"other") is None
    for name in (b"authorization", b"private-token", b"mcp-session-id", b"idempotency-key", b"x-mcp-readonly"):
        assert seals.take("POST", PATH, {**headers, name: b"y"}, b"body") is None
    for odd in (b"", b"x", b"1", b"-5 00", b"9" * 400, b"1 " + b"\xff" * 64, b"1 2 3 4", headers[SEAL] + b"0"):
        assert seals.take("POST", PATH, {**headers, SEAL: odd}, b"body") is None
    assert seals.take("POST", PATH, headers, b"body") == 7, "what was tried meanwhile used nothing up"


def test_a_seal_counts_once_and_the_same_request_has_another_one_each_time() -> None:
    seals = Seals(KEY)
    first, second = sealed(seals), sealed(seals)
    assert [seals.take("POST", PATH, first, b"body") for _ in range(3)] == [7, None, None]
    assert [seals.take("POST", PATH, second, b"body") for _ in range(2)] == [7, None]


def test_a_seal_counts_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    seals = Seals(KEY)
    headers = sealed(seals)
    later = time.time() + module.SKEW + 2
    monkeypatch.setattr(time, "time", lambda: later)
    assert seals.take("POST", PATH, headers, b"body") is None


def test_a_seal_from_a_clock_that_is_ahead_is_remembered_as_long_as_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seals, now = Seals(KEY), time.time()
    monkeypatch.setattr(time, "time", lambda: now + module.SKEW)
    headers = sealed(seals)
    for at, expected in ((0.0, 7), (0.0, None), (2 * module.SKEW - 1, None)):
        monkeypatch.setattr(time, "time", lambda at=at: now + at)
        assert seals.take("POST", PATH, headers, b"body") == expected


def test_however_many_come_few_are_remembered_and_none_counts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    seals, now = Seals(KEY), time.time()
    came: list[dict[bytes, bytes]] = []
    for second in range(12):
        monkeypatch.setattr(time, "time", lambda second=second: now + second)
        came.append(sealed(seals))
        assert seals.take("POST", PATH, came[-1], b"body") == 7
    assert len(seals._seen) == 5  # pyright: ignore[reportPrivateUsage]
    assert [seals.take("POST", PATH, headers, b"body") for headers in came] == [None] * 12
