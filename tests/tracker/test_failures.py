"""Failures speak as the contract's tools do, in its three codes."""

from __future__ import annotations

import json

from postil.core.codes import INVALID_PARAMS, INVALID_REQUEST, TRACKER_FAILED
from postil.tracker.failures import AmbiguousId, ClaimLost, InvalidParams, InvalidRequest, NoSuchEntity, ServerError


def test_the_content_of_a_failed_call_names_the_code_and_holds_the_advice():
    failure = InvalidParams("The title is empty", advice="Give one")
    said = {"error": {"code": "InvalidParams", "message": "The title is empty (Give one)"}}
    assert json.loads(failure.reply()) == said
    details = failure.details()
    assert details["isError"] is True
    assert details["content"] == [{"type": "text", "text": failure.reply()}]


def test_every_failure_has_one_of_the_contracts_codes():
    some = [NoSuchEntity("Issue", "x"), AmbiguousId("a", ["ab", "ac"]), ClaimLost("id", "ann", "soon")]
    assert {failure.code for failure in some} == {INVALID_PARAMS}
    assert (InvalidRequest("x").code, ServerError("x").code) == (INVALID_REQUEST, TRACKER_FAILED)


def test_a_long_id_is_cut_before_it_is_repeated():
    assert len(NoSuchEntity("Issue", "f" * 10_000).message) < 100


def test_a_bug_is_summed_up_in_one_line():
    failure = ServerError.of_bug(ValueError("two\nlines " + "x" * 500))
    assert failure.message.startswith("Internal error: ValueError: two lines x")
    assert "\n" not in failure.message
    assert len(failure.message) < 260
