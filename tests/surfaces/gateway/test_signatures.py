"""Signed requests: the contract's own snippet, and everything that is not quite it."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import time

import pytest

from postil.storage.ephemeral import MemoryEphemeralStore
from postil.surfaces.gateway import signatures as signatures_module
from postil.surfaces.gateway.refused import Refused
from postil.surfaces.gateway.signatures import Bodiless, Policy, Signatures, key_id, signature
from tests.needs import needs
from tests.surfaces.gateway.gateways import Clock

SECRET, OLDER = b"the shared secret of the team", b"the secret before this one"
BODY = '{"jsonrpc":"2.0","method":"list_projects","params":{"search":"Grüße"},"id":1}'.encode()

SNIPPET = """
const crypto = require('crypto');
function signRequest(payload, secret) {
  const hmac = crypto.createHmac('sha256', secret);
  hmac.update(payload);
  return hmac.digest('hex');
}
process.stdout.write(`sha256=${signRequest(process.argv[1], process.argv[2])}`);
"""


def check(headers: dict[bytes, bytes], policy: Policy = "optional", signatures: Signatures | None = None) -> int:
    """200 when let in, else the status of the refusal."""
    asked = signatures or Signatures(policy, [SECRET, OLDER], MemoryEphemeralStore().first)
    try:
        asyncio.run(asked.check(headers, BODY))
    except Refused as refused:
        return refused.status
    return 200


def test_the_contracts_snippet_in_node_makes_the_same_bytes() -> None:
    node = needs("node") if shutil.which("node") is None else "node"
    made = subprocess.run([node, "-e", SNIPPET, BODY.decode(), SECRET.decode()], capture_output=True, check=True)
    assert made.stdout == signature(SECRET, BODY)
    assert check({b"x-mcp-signature": made.stdout}) == 200


def test_a_wrong_signature_says_what_is_signed() -> None:
    stamp = str(int(time.time())).encode()
    headers = {b"x-mcp-timestamp": stamp, b"x-mcp-signature": signature(SECRET, stamp + b"." + BODY)}
    asked = Signatures("optional", [SECRET], MemoryEphemeralStore().first)
    with pytest.raises(Refused, match=re.escape("<X-MCP-Timestamp>..<body>")):
        asyncio.run(asked.check(headers, BODY))
    with pytest.raises(Refused, match=re.escape("<X-MCP-Timestamp>.<X-MCP-Nonce>.<body>")):
        asyncio.run(asked.check({**headers, b"x-mcp-nonce": b"n"}, BODY))
    with pytest.raises(Refused) as plain:
        asyncio.run(asked.check({b"x-mcp-signature": signature(SECRET, b"another body")}, BODY))
    assert "X-MCP-Timestamp" not in str(plain.value), "it was not used"
    headers[b"x-mcp-signature"] = signature(SECRET, stamp + b".." + BODY)
    assert check(headers, signatures=asked) == 200


RIGHT = signature(SECRET, BODY)


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"sha256=",
        b"sha256=00",
        RIGHT[:-1],
        RIGHT + b"0",
        RIGHT.upper(),
        RIGHT.replace(b"sha256", b"sha1"),
        RIGHT[7:],
        b"sha256=" + b"z" * 64,
        "sha256=é".encode() * 9,
        signature(b"another secret", BODY),
        signature(SECRET, BODY + b" "),
    ],
)
def test_any_other_signature_is_refused(given: bytes) -> None:
    assert check({b"x-mcp-signature": given}) == 401


def test_a_missing_signature_is_refused_only_where_it_is_required() -> None:
    assert [check({}, policy) for policy in ("off", "optional", "required")] == [200, 200, 401]


def test_during_a_rotation_both_secrets_are_good() -> None:
    assert check({b"x-mcp-signature": signature(OLDER, BODY)}) == 200
    named = {b"x-mcp-signature": signature(OLDER, BODY), b"x-mcp-key-id": key_id(OLDER).encode()}
    assert check(named) == 200
    assert check({**named, b"x-mcp-key-id": key_id(SECRET).encode()}) == 401
    assert check({**named, b"x-mcp-key-id": b"unknown"}) == 401


def stamped(age: float = 0, nonce: bytes = b"n-1") -> dict[bytes, bytes]:
    stamp = b"%d" % (time.time() - age)
    signed = signature(SECRET, b".".join((stamp, nonce, BODY)))
    return {b"x-mcp-timestamp": stamp, b"x-mcp-nonce": nonce, b"x-mcp-signature": signed}


@pytest.mark.parametrize("age", [-400, 400, 10**6])
def test_a_signature_of_another_time_is_refused(age: float) -> None:
    assert check(stamped(age)) == 401


def test_a_replayed_request_is_refused() -> None:
    signatures = Signatures("required", [SECRET], MemoryEphemeralStore().first)
    assert [check(stamped(), signatures=signatures) for _ in range(2)] == [200, 401]
    assert check(stamped(nonce=b"n-2"), signatures=signatures) == 200
    bare = stamped(nonce=b"")
    del bare[b"x-mcp-nonce"]
    assert [check(bare, signatures=signatures) for _ in range(2)] == [200, 401]


def test_an_empty_nonce_is_none_so_two_requests_do_not_share_it() -> None:
    signatures = Signatures("required", [SECRET], MemoryEphemeralStore().first)
    assert [check(stamped(age, b""), signatures=signatures) for age in (0, 5, 0)] == [200, 200, 401]


def test_where_signing_is_required_a_time_is_too() -> None:
    assert check({b"x-mcp-signature": RIGHT}, "required") == 401
    assert check({b"x-mcp-signature": RIGHT}, "optional") == 200


@pytest.mark.parametrize("stamp", [b"", b"now", b"-1", b"1e9", b"9" * 30])
def test_an_odd_time_is_refused(stamp: bytes) -> None:
    assert check({**stamped(), b"x-mcp-timestamp": stamp}) == 401


@pytest.mark.parametrize(("age", "status"), [(300, 200), (-300, 200), (300.5, 401), (-300.5, 401), (301, 401)])
def test_five_minutes_are_the_last_that_is_taken(age: float, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = 1_700_000_000
    monkeypatch.setattr(signatures_module, "time", Clock(stamp + age))
    signed = signature(SECRET, b".".join((b"%d" % stamp, b"n", BODY)))
    headers = {b"x-mcp-timestamp": b"%d" % stamp, b"x-mcp-nonce": b"n", b"x-mcp-signature": signed}
    assert check(headers, "required") == status


@pytest.mark.parametrize(("size", "status"), [(128, 200), (129, 401)])
def test_a_nonce_has_at_most_128_bytes(size: int, status: int) -> None:
    assert check(stamped(nonce=b"n" * size)) == status


def test_a_nonce_is_remembered_for_as_long_as_its_time_could_be_used() -> None:
    asked: list[tuple[str, float, str]] = []

    async def first(name: str, seconds: float, whose: str) -> bool:
        asked.append((name, seconds, whose))
        return True

    assert check(stamped(nonce=b"n-7"), signatures=Signatures("required", [SECRET], first)) == 200
    assert asked[-1] == ("nonce:n-7", 600.0, "")


def test_a_nonce_of_one_caller_refuses_no_other() -> None:
    signatures = Signatures("required", [SECRET], MemoryEphemeralStore().first)

    async def both() -> list[int]:
        return [await attempt(whose) for whose in ("ann", "bob", "ann")]

    async def attempt(whose: str) -> int:
        try:
            await signatures.check(stamped(nonce=b"n-7"), BODY, whose=whose)
        except Refused as refused:
            return refused.status
        return 200

    assert asyncio.run(both()) == [200, 200, 401]


def test_a_wrong_signature_uses_up_no_nonce() -> None:
    asked: list[str] = []

    async def first(name: str, seconds: float, whose: str) -> bool:
        asked.append(name)
        return True

    wrong = {**stamped(), b"x-mcp-signature": b"sha256=00"}
    assert check(wrong, signatures=Signatures("required", [SECRET], first)) == 401
    assert asked == []


def test_without_a_time_no_nonce_is_remembered_since_the_contracts_form_has_none() -> None:
    asked: list[str] = []

    async def first(name: str, seconds: float, whose: str) -> bool:
        asked.append(name)
        return False

    assert check({b"x-mcp-signature": RIGHT}, signatures=Signatures("optional", [SECRET], first)) == 200
    assert asked == []


def test_a_choice_of_signing_checks_what_is_signed_and_off_does_not() -> None:
    wrong = {b"x-mcp-signature": b"sha256=00"}
    assert [check(wrong, policy) for policy in ("off", "optional")] == [200, 401]


def test_a_demanded_signature_is_checked_although_the_server_asks_for_none() -> None:
    signatures = Signatures("off", [SECRET], MemoryEphemeralStore().first)

    def status(headers: dict[bytes, bytes]) -> int:
        try:
            asyncio.run(signatures.check(headers, BODY, demanded=True))
        except Refused as refused:
            return refused.status
        return 200

    assert [status({}), status({b"x-mcp-signature": RIGHT}), status(stamped())] == [401, 401, 200]


def test_without_a_secret_nothing_is_checked() -> None:
    assert check({}, signatures=Signatures("required", [], MemoryEphemeralStore().first)) == 200


def test_a_request_without_a_body_signs_its_line_and_always_a_time() -> None:
    asked = Bodiless("GET", "/mcp", b" s-1\t")
    assert asked.line() == b"GET /mcp s-1"
    signatures = Signatures("optional", [SECRET], MemoryEphemeralStore().first)

    def status(headers: dict[bytes, bytes]) -> int:
        try:
            asyncio.run(signatures.check(headers, asked))
        except Refused as refused:
            return refused.status
        return 200

    stamp = b"%d" % time.time()
    timed = {b"x-mcp-timestamp": stamp, b"x-mcp-signature": signature(SECRET, stamp + b"..GET /mcp s-1")}
    assert status({b"x-mcp-signature": signature(SECRET, b"GET /mcp s-1")}) == 401
    assert [status(timed), status(timed)] == [200, 401]


def test_a_key_is_named_by_sixteen_digits_that_do_not_tell_it() -> None:
    assert len(key_id(SECRET)) == 16
    assert key_id(SECRET) != key_id(OLDER)


@pytest.mark.parametrize(("digits", "status"), [(12, 200), (13, 401)])
def test_a_time_has_at_most_twelve_digits(digits: int, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = b"1" * digits
    monkeypatch.setattr(signatures_module, "time", Clock(float(stamp)))
    signed = signature(SECRET, b".".join((stamp, b"", BODY)))
    assert check({b"x-mcp-timestamp": stamp, b"x-mcp-signature": signed}, "required") == status
