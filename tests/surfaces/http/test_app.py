"""The application over HTTP: its paths, what it refuses, and how much it takes at once."""

from __future__ import annotations

import gc
import gzip
import json
from typing import Any

import pytest

from postil import __version__
from postil.core import limits
from postil.core.call import Caller
from postil.surfaces.gateway.addresses import read_lists
from postil.surfaces.gateway.visitor import Visitor
from postil.surfaces.http import app, right
from postil.surfaces.http.app import LARGEST_BODY
from postil.wire.transports.http import body as http_body
from postil.wire.transports.http.asked import Asked, respond
from postil.wire.transports.http.body import SMALL, has_more
from postil.wire.transports.http.fair_share import FairShare, TooManyWait
from tests.surfaces.gateway.gateways import RIGHT, gateway_of
from tests.wire.http_client import BOTH, META, STATELESS, Connection, request, running, until


def test_health_and_version_are_told_to_everyone_and_metrics_are_not() -> None:
    with running(gateway_of()) as server:
        assert server.ask("GET", "/healthz").json() == {"status": "ok"}
        assert server.ask("GET", "/readyz").json() == {"status": "ready"}
        assert server.ask("GET", "/version").json() == {"name": "echo", "version": __version__}
        assert server.ask("GET", "/metrics").status == 401
        assert server.ask("GET", "/metrics", Authorization=RIGHT).status == 200


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/healthz", 405), ("GET", "/nothing", 404)])
def test_a_path_has_its_methods(method: str, path: str, status: int) -> None:
    with running() as server:
        answer = server.ask(method, path)
        assert (answer.status, answer.json()["error"]["data"]["status"]) == (status, status)
        assert answer.json()["error"]["code"] == -32600


def test_who_is_not_known_does_not_learn_which_paths_there_are() -> None:
    with running(gateway_of()) as server:
        assert server.ask("GET", "/nothing").status == 401
        assert server.ask("GET", "/nothing", Authorization=RIGHT).status == 404


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "PATCH"])
def test_the_endpoint_says_which_methods_it_has(method: str) -> None:
    with running() as server:
        answer = server.ask(method, "/mcp")
        assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE")


def test_another_host_is_refused_before_anything_else() -> None:
    with running(gateway_of()) as server:
        answer = server.post(request("echo", {"text": "x"}), Host="evil.example", Authorization=RIGHT)
        assert (answer.status, answer.json()["error"]["code"]) == (403, -32000)


def test_a_body_is_taken_up_to_the_limit_and_not_a_byte_beyond() -> None:
    with running() as server:
        frame = json.dumps(request("nothing")).encode()
        for more, status in ((0, 200), (1, 413)):
            answer = server.post(frame + b" " * (LARGEST_BODY - len(frame) + more))
            assert answer.status == status
        assert server.post(frame, Content_Type="text/plain").status == 415


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "identity, gzip", "x"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/webhooks", "/sign-in", "/nothing"])
def test_a_packed_body_is_refused_wherever_bodies_enter(encoding: str, path: str) -> None:
    """It was read as if it were not packed: JSON that nobody could read, a form without fields."""
    packed = gzip.compress(json.dumps(request("nothing")).encode())

    async def take(scope: Any, headers: Any, receive: Any, send: Any) -> None:
        await http_body.read_body(receive, headers, 1000)
        await respond(send, 200, b"{}")

    with running(routes={"/webhooks": take}) as server:
        answer = server.ask("POST", path, packed, Content_Encoding=encoding, Content_Type="application/json")
        assert (answer.status, answer.headers["accept-encoding"]) == (415, "identity")
        assert answer.json()["error"]["code"] == -32600


@pytest.mark.parametrize("encoding", ["identity", " Identity", ""])
def test_a_body_that_says_it_is_not_packed_is_taken(encoding: str) -> None:
    with running() as server:
        assert server.post(request("nothing"), Content_Encoding=encoding).status == 200
        assert server.ask("GET", "/healthz", Content_Encoding="gzip").status == 200


def test_large_bodies_that_are_on_their_way_at_once_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps(request("nothing")).encode().ljust(SMALL + 1)
    monkeypatch.setattr(limits, "BODIES", SMALL + 1)
    with running() as server:
        assert server.post(body).status == 200
        assert server.post(body).status == 200  # the room is given back
    monkeypatch.setattr(limits, "BODIES", SMALL)
    with running() as server:
        refused = server.post(body)
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert server.post(body[:SMALL]).status == 200  # for small ones there is a quarter more


def test_small_bodies_that_do_not_end_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps(request("nothing")).encode()
    monkeypatch.setattr(limits, "BODIES_OF_ONE", SMALL)
    with running() as server:
        stays = server.connect()
        stays.ask("POST", "/mcp", body, {"Content-Type": "application/json", "Content-Length": str(SMALL)})
        until(lambda: server.post(body.ljust(http_body.UNCOUNTED + 1)).status == 503)
        assert server.post(body.ljust(http_body.UNCOUNTED)).status == 200  # nobody asks about those
        stays.send(b" " * (SMALL - len(body)))
        assert stays.answer().status == 200
        assert server.post(body.ljust(SMALL)).status == 200
        stays.close()


def test_each_piece_of_work_for_a_caller_takes_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    async def take(_: FairShare, caller: str) -> None:
        taken.append(caller)

    monkeypatch.setattr(FairShare, "take", take)
    small = json.dumps(request("nothing")).encode()
    with running(gateway_of()) as server:
        assert server.post(small, Authorization=RIGHT).status == 200
        assert len(taken) == 1
        assert server.post(small.ljust(20 * SMALL), Authorization=RIGHT).status == 200
    assert len(taken) > 4  # the request, each of its pieces, and what is read from it
    assert len(set(taken)) == 1


def test_a_caller_of_whom_too_many_requests_wait_is_told_to_make_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    left = 0

    async def take(_: FairShare, caller: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooManyWait

    monkeypatch.setattr(FairShare, "take", take)
    small = json.dumps(request("nothing")).encode()
    with running(gateway_of()) as server:
        for turns, body in ((0, small), (2, small.ljust(20 * SMALL))):
            left = turns
            answer = server.post(body, Authorization=RIGHT)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        left = 100
        assert server.post(small, Authorization=RIGHT).status == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({b"content-length": b"%d" % SMALL}, False),
        ({b"content-length": b"%d" % (SMALL + 1)}, True),
        ({b"content-length": b"x"}, False),
        ({b"transfer-encoding": b"chunked"}, True),
    ],
)
def test_a_refused_client_that_is_still_sending_is_heard_to_its_end(
    headers: dict[bytes, bytes], expected: bool
) -> None:
    assert has_more(headers) is expected


def test_what_was_refused_is_counted_by_its_status() -> None:
    with running(gateway_of()) as server:
        server.post(request("echo"))
        server.ask("GET", "/nothing")
        said = server.ask("GET", "/metrics", Authorization=RIGHT).body.decode()
    assert 'postil_http_refused_total{status="401"} 2' in said


def test_a_route_of_its_own_decides_itself_who_may_use_it() -> None:
    async def open_to_all(scope: Any, headers: Any, receive: Any, send: Any) -> None:
        await app.respond(send, 200, b'{"open":true}')

    with running(gateway_of(), routes={"/open": open_to_all}) as server:
        assert server.ask("GET", "/open").json() == {"open": True}
        assert server.ask("GET", "/open/deeper").status == 401


def test_what_is_open_ends_when_its_credential_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(right, "RECHECK", 0.05)
    way = Revocable()
    with running(gateway_of(ways=[way])) as server:
        client = Connection(server.port, timeout=60)
        listen = {"notifications": {"resourceSubscriptions": ["echo://note"]}, "_meta": META}
        body = json.dumps(request("subscriptions/listen", listen)).encode()
        spoken = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "subscriptions/listen", "Accept": BOTH}
        spoken |= {"Content-Type": "application/json", "Authorization": "Bearer x"}
        client.ask("POST", "/mcp", body, spoken)
        assert client.head()[0] == 200
        events = client.events()
        next(events)
        way.known = False
        assert client.is_closed()
        client.close()
        assert server.ask("GET", "/healthz").status == 200
        assert server.bugs == []


def count_asked() -> int:
    return sum(type(each) is Asked for each in gc.get_objects())


def test_a_request_that_was_answered_is_gone_before_garbage_is_looked_for() -> None:
    """It held its right, and that the request: megabytes of forty requests stayed, and each one was garbage."""
    with running(gateway_of()) as server:
        gc.collect()
        gc.disable()
        try:
            for text in "abcd":
                assert server.post(request("echo", {"text": text}), Authorization=RIGHT).status == 200
            until(lambda: count_asked() == 0)
        finally:
            gc.enable()


class Revocable:
    """A credential that is good until somebody says otherwise."""

    known = True

    async def identify(self, bearer: str, headers: Any, attempt: Any) -> Visitor | None:
        return Visitor(Caller("key:x", surface="http"), "token") if self.known else None


def test_the_metrics_are_for_operators() -> None:
    way = Revocable()
    with running(gateway_of(ways=[way])) as server:
        refused = server.ask("GET", "/metrics", Authorization="Bearer x")
        assert refused.status == 403
        assert b"name key:x in http.operators" in refused.body


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource/mcp", "/.well-known/openid-configuration"])
def test_a_search_for_an_authorization_server_ends_where_there_is_none(path: str) -> None:
    """A 401 there made clients go on looking."""
    with running(gateway_of()) as server:
        assert server.ask("GET", path).status == 404
        assert server.ask("POST", "/register").status == 404


def test_the_endpoint_has_a_slash_too() -> None:
    with running() as server:
        assert server.ask("POST", "/mcp/", json.dumps(request("echo", {"text": "hi"})).encode(),
                          Content_Type="application/json").json()["result"]["text"] == "hi"  # fmt: skip


def tools(server: Any, **headers: str) -> set[str]:
    listed = server.post(request("tools/list"), **headers).json()
    return {tool["name"] for tool in listed["result"]["tools"]}


def test_a_request_can_ask_to_see_less_and_never_more() -> None:
    with running() as server:
        every = tools(server)
        reading = tools(server, X_MCP_Readonly="true")
        assert "count" in every
        assert "count" not in reading
        assert reading < every
        assert server.post(request("count"), X_MCP_Readonly="true").json()["error"]["code"] == -32601
        assert tools(server, X_MCP_Toolsets="echo") == every
        refused = server.post(request("tools/list"), X_MCP_Toolsets="nonsense")
        assert (refused.status, "echo" in refused.json()["error"]["message"]) == (400, True)
        assert server.post(request("tools/list"), X_MCP_Readonly="perhaps").status == 400


CONTRACT_ORDER = b'{"jsonrpc":"2.0","method":"echo","params":{"text":"x","id":1},"id":"the-call"}'


def test_every_refusal_echoes_the_id_and_says_its_message_in_the_data() -> None:
    addresses = read_lists(["127.0.0.1"], [], ["127.0.0.1"])[0]
    with running(gateway_of(per_minute=2, addresses=addresses, secrets=[b"s" * 32])) as server:
        large = b'{"jsonrpc":"2.0","id":"the-call","method":"echo","params":{"id":2,"x":"' + b"x" * LARGEST_BODY
        refusals = [
            (401, server.post(CONTRACT_ORDER)),
            (401, server.post(CONTRACT_ORDER, Authorization="Bearer wrong")),
            (401, server.post(CONTRACT_ORDER, Authorization=RIGHT)),  # not signed
            (403, server.post(CONTRACT_ORDER, Authorization=RIGHT, Host="evil.example")),
            (403, server.post(CONTRACT_ORDER, Authorization=RIGHT, X_Forwarded_For="203.0.113.9")),
            (400, server.post(CONTRACT_ORDER, Authorization=RIGHT, X_MCP_Readonly="perhaps")),
            (413, server.post(large, Authorization=RIGHT)),
            (415, server.post(CONTRACT_ORDER, Authorization=RIGHT, Content_Type="text/plain")),
        ]
    with running(gateway_of(per_minute=1)) as server:
        assert server.post(CONTRACT_ORDER, Authorization=RIGHT).status == 200
        refusals.append((429, server.post(CONTRACT_ORDER, Authorization=RIGHT)))
    for status, answer in refusals:
        said = answer.json()
        assert (answer.status, said["id"]) == (status, "the-call"), (status, said)
        assert said["error"]["data"]["status"] == status
        assert said["error"]["data"]["message"] == said["error"]["message"]
    assert 0 < refusals[-1][1].json()["error"]["data"]["retry_after"] <= 60


def test_a_refused_batch_has_no_id_and_nested_ids_are_not_taken_for_it() -> None:
    with running(gateway_of()) as server:
        assert server.post(b"[" + CONTRACT_ORDER + b"]").json()["id"] is None
        nested = b'{"jsonrpc":"2.0","params":{"l":[1],"id":7,"x":"' + b"x" * LARGEST_BODY + b'"},"id":8}'
        assert server.post(nested, Authorization=RIGHT).json()["id"] is None
        assert server.ask("GET", "/nothing", Authorization=RIGHT).json()["id"] is None


def test_a_refusal_does_not_wait_long_for_a_body_that_does_not_come() -> None:
    with running(gateway_of()) as server:
        connection = Connection(server.port)
        connection.send(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n{")
        answer = connection.answer()
        assert (answer.status, answer.json()["id"]) == (401, None)
        connection.close()


def test_who_waits_for_100_continue_is_refused_without_it() -> None:
    with running(gateway_of()) as server:
        connection = Connection(server.port)
        connection.send(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\nExpect: 100-continue\r\n\r\n")
        assert connection.answer().status == 401
        connection.close()
