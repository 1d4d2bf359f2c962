"""Fields, their operators and values, and what was probably meant."""

from __future__ import annotations

import datetime

import pytest

from postil.tracker.query.sql import QueryContext, compile_condition
from postil.tracker.query.tree import (
    ALIASES,
    FIELDS,
    Compare,
    QueryFault,
    compare,
    find_field,
    is_nearly_field,
    parse_ago,
    parse_stamp,
    suggest,
)


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_names_a_field_that_exists(alias: str):
    assert find_field(alias.upper()) in FIELDS


@pytest.mark.parametrize(
    ("name", "op", "value"),
    [
        ("status", ">", "open"),
        ("comments", "=", "many"),
        ("updated", ">", "yesterday"),
        ("id", "=", "xyz"),
        ("has_comments", "=", "maybe"),
        ("kind", "=", "epic"),
        ("nope", "=", "x"),
    ],
)
def test_a_comparison_that_cannot_hold_is_refused_with_its_place(name: str, op: str, value: str):
    with pytest.raises(QueryFault) as fault:
        compare(name, op, [value], 3, 10)
    assert fault.value.position in (3, 10)
    assert fault.value.suggestion


def no_milestones(name: str) -> list[str]:
    return []


def test_a_status_that_is_not_known_is_a_mistake_unless_something_has_it():
    asked = compare("status", "=", ["opne"], 3, 10)
    assert asked.fault is not None
    assert (asked.fault.position, asked.fault.suggestion) == (10, "did you mean `open`?")
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    with pytest.raises(QueryFault, match="unknown status `opne`"):
        compile_condition(asked, QueryContext(now, no_milestones))
    assert compile_condition(asked, QueryContext(now, no_milestones, bool)).values == ("opne",)


def test_values_are_checked_into_the_form_that_is_stored():
    assert compare("STATUS", "in", ["Open", "CLOSED"], 0) == Compare("status", "in", ("open", "closed"))
    assert compare("id", "=", ["#ABC"], 0).values == ("abc",)
    assert compare("has_comments", "=", ["Yes"], 0).values == ("true",)


def test_a_swap_of_letters_is_one_mistake_and_a_far_word_lists_what_there_is():
    assert suggest("staus", FIELDS) == "did you mean `status`?"
    assert suggest("tsatus", FIELDS) == "did you mean `status`?"
    assert suggest("zzzzzz", ["open", "closed"]) == "known: open, closed"
    assert is_nearly_field("labelz")
    assert not is_nearly_field("elephant")


def test_spans_and_stamps_are_read():
    assert (parse_ago("2w"), parse_ago("12h"), parse_ago("2 w"), parse_ago("d")) == (1209600, 43200, None, None)
    assert (parse_stamp("12@abc"), parse_stamp("12@"), parse_stamp("@a")) == ((12, "abc"), (12, ""), None)
