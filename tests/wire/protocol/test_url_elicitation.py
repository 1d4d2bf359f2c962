"""What a call lacks and only the person can give: each client is told where, in the way it knows."""

from __future__ import annotations

from typing import Any

import pytest

from postil.core.failure import Failure
from postil.wire.protocol.eras.era import FIRST, HANDSHAKE, NEWEST, STATELESS, Era
from postil.wire.protocol.events import Work
from postil.wire.protocol.failures import InputRequired, ProtocolFailure
from postil.wire.protocol.jsonrpc import Request
from postil.wire.protocol.url_elicitation import Page, ask_at_page

PAGE = Page("https://postil.example/connect", "Connect the account to go on")
OPENS: dict[str, Any] = {"elicitation": {"url": {}}}
FORMS_ONLY: dict[str, Any] = {"elicitation": {"form": {}}}


class NotConnected(Failure):
    """Lacks an account."""

    wants = "account"


def shape(profile: object, work: object, value: object) -> object:
    return value


def told(era: Era, capabilities: dict[str, Any], answers: dict[str, Any] | None = None) -> Exception:
    work = Work("tool", Request(1, "tools/call", {}), era, "x", {}, shape)
    work.meta = {"io.modelcontextprotocol/clientCapabilities": capabilities}
    work.answers = answers or {}
    return ask_at_page(work, capabilities, NotConnected("No account"), PAGE)


def test_a_stateless_client_is_asked_and_comes_back() -> None:
    asked = told(STATELESS, OPENS)
    assert isinstance(asked, InputRequired)
    assert asked.questions["account"].params == {"mode": "url", "message": PAGE.message, "url": PAGE.url}


def test_a_stateless_client_that_came_back_is_not_asked_again() -> None:
    assert isinstance(told(STATELESS, OPENS, {"account": {"action": "accept"}}), NotConnected)


def test_the_newest_handshake_has_an_error_of_its_own_for_it() -> None:
    asked = told(NEWEST, OPENS)
    assert isinstance(asked, ProtocolFailure)
    (elicitation,) = asked.details()["elicitations"]  # type: ignore[misc]
    assert (asked.code, elicitation["url"]) == (-32042, PAGE.url)
    assert vars(told(NEWEST, OPENS))["data"] != asked.data  # each has an id of its own


@pytest.mark.parametrize(
    ("era", "capabilities"), [(FIRST, OPENS), (HANDSHAKE["2025-06-18"], OPENS), (NEWEST, FORMS_ONLY), (STATELESS, {})]
)
def test_any_other_client_reads_the_address_in_the_advice(era: Era, capabilities: dict[str, Any]) -> None:
    failure = told(era, capabilities)
    assert isinstance(failure, NotConnected)
    assert failure.advice == f"{PAGE.message}: open {PAGE.url} in a browser, then call again."
