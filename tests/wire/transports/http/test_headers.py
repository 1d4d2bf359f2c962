"""Headers that must agree with the body, and types that a client takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Raw

from postil.core import codes
from postil.wire.protocol import jsonrpc
from postil.wire.protocol.failures import ProtocolFailure
from postil.wire.transports.http.headers import (
    Mirrored,
    RepeatedHeader,
    check_stateless,
    decode_value,
    find_mirrored,
    read,
)
from tests.wire.http_client import META, STATELESS, Running, request, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as server:
        yield server


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"MCP_Protocol_Version": "2025-06-18"}, -32020),
        ({"Mcp_Method": "tools/list"}, -32020),
        ({"Mcp_Method": "TOOLS/CALL"}, -32020),
        ({"Mcp_Name": "other"}, -32020),
        ({"Mcp_Name": "=?base64?!!?="}, -32020),
    ],
)
def test_headers_that_disagree_with_the_body_are_refused(server: Running, headers: dict[str, str], code: int) -> None:
    answer = server.call("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, 7, **headers)
    assert (answer.status, answer.json()["error"]["code"], answer.json()["id"]) == (400, code, 7)


@pytest.mark.parametrize("missing", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_headers_that_are_missing_are_refused(server: Running, missing: str) -> None:
    headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    del headers[missing]
    message = request("tools/call", {"name": "echo", "arguments": {"text": "a"}, "_meta": META})
    answer = server.post(message, **{name.replace("-", "_"): value for name, value in headers.items()})
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32020)


def test_a_name_may_come_wrapped_in_base64(server: Running) -> None:
    params = {"name": "echo", "arguments": {"text": "hi"}}
    assert server.call("tools/call", params, Mcp_Name="=?base64?ZWNobw==?=").status == 200


def test_white_space_around_a_header_is_no_part_of_it(server: Running) -> None:
    assert server.call("tools/list", Mcp_Method="  tools/list\t ").status == 200


def test_lines_of_one_header_are_put_together_where_it_may_come_twice() -> None:
    host = (b"host", b"h")
    assert read([host, (b"accept", b"a"), (b"via", b"v"), (b"accept", b"b")]) == dict([host]) | {
        b"accept": b"a, b",
        b"via": b"v",
    }
    with pytest.raises(RepeatedHeader) as refused:
        read([(b"accept", b"a"), host, (b"accept", b"b"), host])
    assert refused.value.name == "host"


def test_arguments_that_declare_a_header_are_found_at_any_depth() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "where": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
            "plain": {"type": "string"},
            "odd": {"x-mcp-header": 5},
            "any": True,
        }
    }
    assert find_mirrored(Raw(jsonrpc.encode(schema))) == (COUNT, REGION)
    assert find_mirrored(Raw(b'{"properties":{"a":{"type":"string"}}}')) == ()


REGION = Mirrored(("where", "region"), "Mcp-Param-Region", "string")
COUNT = Mirrored(("count",), "Mcp-Param-Count", "integer")
SIZE = Mirrored(("size",), "Mcp-Param-Size", "number")


@pytest.mark.parametrize(
    ("arguments", "sent", "agree"),
    [
        ({}, {}, True),
        ({"where": {"region": "eu"}}, {b"mcp-param-region": b"eu"}, True),
        ({"where": {"region": "eu"}}, {b"mcp-param-region": b"us"}, False),
        ({"where": {"region": "eu"}}, {}, False),
        ({}, {b"mcp-param-region": b"eu"}, False),
        ({"where": 5}, {}, True),
        ({"count": 3}, {b"mcp-param-count": b"3.0"}, True),
        ({"count": 3}, {b"mcp-param-count": b"3.5"}, False),
        ({"count": 3}, {b"mcp-param-count": b"=?base64?Mw==?="}, True),
        ({"count": 3}, {b"mcp-param-count": b"=?base64?Mw?="}, False),
        ({"count": 3}, {b"mcp-param-count": b"three"}, False),
        ({"count": -3}, {b"mcp-param-count": b"-3.00"}, True),
        ({"count": "3"}, {b"mcp-param-count": b"3"}, True),
        ({"count": "3"}, {b"mcp-param-count": b"3.0"}, False),
        ({"size": 3.5}, {b"mcp-param-size": b"3.5"}, True),
        ({"size": 3.5}, {b"mcp-param-size": b"3"}, False),
        ({"count": int("9" * 399)}, {b"mcp-param-count": b"9" * 399}, True),
        ({"count": int("9" * 400)}, {b"mcp-param-count": b"9" * 400}, False),
        ({"count": True}, {b"mcp-param-count": b"true"}, True),
        ({"count": True}, {b"mcp-param-count": b"1"}, False),
    ],
)
def test_a_header_repeats_the_argument_that_declares_it(
    arguments: dict[str, Any], sent: dict[bytes, bytes], agree: bool
) -> None:
    asked = jsonrpc.parse(
        jsonrpc.encode(request("tools/call", {"name": "tool", "arguments": arguments, "_meta": META}))
    )
    assert isinstance(asked, jsonrpc.Request)
    named = {b"mcp-protocol-version": STATELESS.encode(), b"mcp-method": b"tools/call", b"mcp-name": b"tool", **sent}
    if agree:
        check_stateless(named, asked, lambda tool: (REGION, COUNT, SIZE))
        return
    with pytest.raises(ProtocolFailure) as refused:
        check_stateless(named, asked, lambda tool: (REGION, COUNT, SIZE))
    assert refused.value.code == codes.HEADER_MISMATCH


def test_an_unknown_version_is_named_after_the_headers_are_checked(server: Running) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    headers = {"MCP_Protocol_Version": "2099-01-01", "Mcp_Method": "tools/list"}
    answer = server.post(request("tools/list", {"_meta": meta}), **headers)
    assert (answer.status, answer.json()["error"]["code"]) == (400, -32022)
    assert answer.json()["error"]["data"]["supported"] == [STATELESS]
    answer = server.post(request("tools/list", {"_meta": meta}), MCP_Protocol_Version="2099-01-01")
    assert answer.json()["error"]["code"] == -32020


def test_a_protocol_version_nobody_speaks_is_400(server: Running) -> None:
    session = server.initialize()
    assert server.in_session(session, request("tools/list"), MCP_Protocol_Version="1999-01-01").status == 400


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/html", "application/json;q=0, */*"])
def test_a_session_needs_a_client_that_takes_both_types(server: Running, accept: str) -> None:
    session = server.initialize()
    assert server.in_session(session, request("tools/list"), Accept=accept).status == 406


@pytest.mark.parametrize("accept", ["*/*", "application/*, text/*", "text/event-stream,application/json;q=0.9"])
def test_wildcards_accept_both_types(server: Running, accept: str) -> None:
    session = server.initialize()
    assert server.in_session(session, request("tools/list"), Accept=accept).status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"]
)
def test_another_type_of_request_is_415(server: Running, kind: str) -> None:
    answer = server.post(request("echo", {"text": "hi"}), Content_Type=kind)
    assert (answer.status, answer.json()["error"]["code"]) == (415, -32600)


def test_json_may_name_its_charset(server: Running) -> None:
    assert server.post(request("count"), Content_Type='application/json; charset="UTF-8"').status == 200


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("plain", "plain"),
        ("=?base64?aMOp?=", "hé"),
        ("=?base64??=", ""),
        ("=?base64?aMOp?= and more", "=?base64?aMOp?= and more"),
        ("more =?base64?aMOp?=", "more =?base64?aMOp?="),
        ("=?base64?=", "=?base64?="),
        ("=?base64?aMO?=", None),
        ("=?base64?/w==?=", None),
    ],
)
def test_only_a_whole_wrapping_is_taken_off(value: str, read: str | None) -> None:
    assert decode_value(value) == read
