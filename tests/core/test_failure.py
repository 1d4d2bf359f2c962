"""A failure knows its code, its exit status, its words and its advice; the drawn tree is the tree there is."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from postil.core import codes, failure
from postil.core.failure import Extra, Failure, InternalError, NeedsExtra, NotFound

DRAWN = re.findall(r"[├└]── (\w+) +([A-Z_]+) +exit (\d+)", failure.__doc__ or "")


@pytest.mark.parametrize(("name", "code", "status"), DRAWN)
def test_the_drawn_tree_is_true(name: str, code: str, status: str) -> None:
    kind: type[Failure] = getattr(failure, name)
    assert (kind.code, kind.exit_status) == (getattr(codes, code), int(status))
    assert kind.__bases__ == (Failure,)


def test_every_failure_of_the_core_is_drawn() -> None:
    assert {name for name, _, _ in DRAWN} == {
        kind.__name__ for kind in Failure.__subclasses__() if kind.__module__ == failure.__name__
    }


def test_the_advice_is_said_after_the_fault_and_beside_its_facts() -> None:
    fault = NotFound("There is no file a.py", advice="Look elsewhere", path="a.py")
    assert (fault.name, fault.text(), fault.reply()) == (
        "NotFound",
        "There is no file a.py\nLook elsewhere",
        fault.text(),
    )
    assert fault.details() == {"path": "a.py", "suggestion": "Look elsewhere"}
    assert (NotFound("x").text(), NotFound("x").details()) == ("x", {})


def test_what_is_told_of_a_failure_does_not_change_it() -> None:
    fault = NotFound("x", path="a.py")
    fault.details()["path"] = "b.py"
    assert fault.data == {"path": "a.py"}


def test_a_bug_is_answered_in_general_words() -> None:
    assert InternalError.of_bug(ValueError("the password is hush")).message == "Internal error"


def test_a_missing_library_is_named_with_its_extra() -> None:
    with pytest.raises(NeedsExtra) as caught, Extra("gateway", "The mode `oauth`"):
        import_module("no_such_library")
    assert caught.value.message == "The mode `oauth` needs the extra 'gateway'"
    assert caught.value.advice == "Install it with: pip install '.[gateway]' in a checkout of Postil"
    with pytest.raises(ValueError, match="other"), Extra("gateway", "It"):
        raise ValueError("other")


def test_a_sentence_has_a_bound_and_says_what_it_left_out() -> None:
    said = Failure("x" * 900_000).message
    assert len(said) < failure.LONGEST + 50
    assert said.endswith("… (898000 more characters)")
    assert Failure("y" * failure.LONGEST).message == "y" * failure.LONGEST


def test_a_name_in_a_failure_makes_no_line_of_its_own() -> None:
    fault = NotFound("a\nForged is not there", advice="Look at a\nForged\nthen go on", path="a\nForged")
    assert fault.text() == "a Forged is not there\nLook at a Forged\nthen go on"
    assert fault.details()["path"] == "a\nForged", "programs get it as it is"
    assert NotFound("one\ntwo", found="\n").message == "one\ntwo"
    long = f"{'a' * (failure.LONGEST - 10)}\nForged is not there"
    assert "\n" not in Failure(f"{long} as a file", path=long).message, "also of a name of which not all is shown"
