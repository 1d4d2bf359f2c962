"""What a request passes: its address, its credential, its signature, its limits and its scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from postil.core.call import Caller
from postil.storage.ephemeral import MemoryEphemeralStore
from postil.surfaces.gateway.addresses import read_lists
from postil.surfaces.gateway.auth import Attempt, WrongCredential
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.surfaces.gateway.signatures import Signatures
from postil.surfaces.gateway.visitor import Visitor
from postil.wire.protocol import jsonrpc
from tests.surfaces.gateway.gateways import RIGHT, gateway_of

HEADERS = {b"authorization": RIGHT.encode()}


def admit(gateway: Gateway, client: tuple[str, int] | None, headers: dict[bytes, bytes] | None = None) -> Visitor:
    return asyncio.run(gateway.admit(HEADERS if headers is None else headers, client))


def test_an_address_is_refused_before_its_credential_is_looked_at() -> None:
    gateway = gateway_of(addresses=read_lists([], ["203.0.113.9"])[0])
    assert admit(gateway, ("203.0.113.8", 1)).caller.principal == "local"
    with pytest.raises(Refused) as refused:
        admit(gateway, ("203.0.113.9", 1), {})
    assert refused.value.status == 403


@pytest.mark.parametrize(("operator", "let_in"), [("key:9823", True), ("key:bob", True), ("key:eve", False)])
def test_an_operator_is_named_by_the_principal_or_by_its_name(operator: str, let_in: bool) -> None:
    visitor = Visitor(Caller("key:9823", surface="http"), "token", names=frozenset({"key:bob"}))
    gateway = gateway_of(operators=[operator])
    if let_in:
        gateway.check_operator(visitor)
    else:
        with pytest.raises(Refused, match="for operators only"):
            gateway.check_operator(visitor)


def test_without_an_address_nobody_is_let_in_where_there_are_lists() -> None:
    with pytest.raises(Refused):
        admit(gateway_of(addresses=read_lists([], ["203.0.113.9"])[0]), None)
    assert admit(gateway_of(), None).caller.principal == "local"


def test_a_wrong_credential_is_counted_and_a_missing_one_is_not() -> None:
    gateway = gateway_of()
    with pytest.raises(Refused):
        admit(gateway, ("203.0.113.8", 1), {})
    assert gateway.counts()["postil_wrong_credentials_total"] == 0
    with pytest.raises(WrongCredential):
        admit(gateway, ("203.0.113.8", 1), {b"authorization": b"Bearer wrong"})
    assert gateway.counts()["postil_wrong_credentials_total"] == 1


def test_how_often_gitlab_was_asked_is_counted_where_anyone_asks_it() -> None:
    assert "postil_gitlab_verifications_total" not in gateway_of().counts()
    asking: Any = SimpleNamespace(asked=0)
    assert gateway_of(ways=[asking]).counts()["postil_gitlab_verifications_total"] == 0


def visitor(**given: Any) -> Visitor:
    return Visitor(Caller(), "t", **given)


def test_a_caller_that_must_sign_is_refused_where_there_is_no_secret() -> None:
    gateway = gateway_of()
    asyncio.run(gateway.check_signed(visitor(), {}, b""))
    with pytest.raises(Refused) as refused:
        asyncio.run(gateway.check_signed(visitor(must_sign=True), {}, b""))
    assert refused.value.status == 403


def test_a_caller_that_must_sign_is_asked_for_it_where_signing_is_a_choice() -> None:
    gateway = gateway_of()
    gateway.signatures = Signatures("optional", [b"s" * 32], MemoryEphemeralStore().first)
    asyncio.run(gateway.check_signed(visitor(), {}, b""))
    with pytest.raises(Refused) as refused:
        asyncio.run(gateway.check_signed(visitor(must_sign=True), {}, b""))
    assert refused.value.status == 401


WRITE: Any = SimpleNamespace(part="gitlab", effect="writes")
READ: Any = SimpleNamespace(part="gitlab", effect="reads")
OURS: Any = SimpleNamespace(part="inbox", effect="writes")
EVERYTHING = {"create_issue": WRITE, "get_issue": READ, "inbox_send": OURS}


def incoming(method: str, **params: Any) -> Any:
    return jsonrpc.parse(jsonrpc.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        (incoming("create_issue"), True),
        (incoming("tools/call", name="create_issue"), True),
        (incoming("get_issue"), False),
        (incoming("inbox_send"), True),
        (incoming("tools/call", name="get_issue"), False),
        (incoming("tools/call", name=5), False),
        (incoming("nothing"), False),
        ([incoming("create_issue")], False),  # inside of a batch it is unknown, as everywhere where it is hidden
    ],
)
def test_only_what_a_missing_scope_hides_is_refused_by_the_scopes_name(asked: Any, refused: bool) -> None:
    gateway = gateway_of()
    gateway.check_scope(visitor(), asked, EVERYTHING)
    if not refused:
        gateway.check_scope(visitor(needs="api"), asked, EVERYTHING)
        return
    with pytest.raises(Refused) as said:
        gateway.check_scope(visitor(needs="api"), asked, EVERYTHING)
    assert said.value.status == 403
    assert said.value.headers == [
        (b"www-authenticate", b'Bearer realm="postil", error="insufficient_scope", scope="api"')
    ]


class Answering:
    """A way in that answers as it is told."""

    def __init__(self, answer: Visitor | Refused) -> None:
        self.answer = answer

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        if isinstance(self.answer, Refused):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (visitor(), True),
        (WrongCredential("a token"), False),
        (Refused(403, "Forbidden"), False),
        (Unavailable("GitLab is away", 5), True),
    ],
)
def test_who_was_let_in_stays_known_until_somebody_says_otherwise(answer: Visitor | Refused, known: bool) -> None:
    gateway = gateway_of(ways=[Answering(answer)])
    assert asyncio.run(gateway.is_still_known(HEADERS)) is known
