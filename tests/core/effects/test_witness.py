"""What the audit says of a write."""

from __future__ import annotations

import pytest

from postil.core.effects.witness import LAST_MOMENT, Entry, Outcome, Report, Unended


def entry(outcome: Outcome = "", **more: object) -> Entry:
    return Entry(0.0, "local", "send", "f" * 64, outcome=outcome, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "ended"),
    [
        (entry(), "no end"),
        (entry(stored=True), "stored, without an end"),
        (entry("failed", stored=True), "failed"),
        (entry("ok"), "ok"),
    ],
)
def test_how_a_write_ended_is_said(one: Entry, ended: str) -> None:
    assert one.line()[-1] == ended


@pytest.mark.parametrize(("at", "year"), [(-1e300, "1970"), (1e300, "9999"), (LAST_MOMENT, "9999")])
def test_a_moment_that_cannot_be_is_shown_as_the_nearest_that_can(at: float, year: str) -> None:
    assert Entry(at, "local", "send", "f" * 64).line()[0].startswith(year)


def test_a_row_names_what_was_changed_before_what_came_out_of_it() -> None:
    assert entry(object="a.py", result="7").line()[3] == "a.py"
    assert entry(result="7").line()[3] == "7"
    assert entry().line()[3] == "f" * 12
    assert entry("unknown", result="CancelledError").line()[3:] == ("f" * 12, "unknown (CancelledError)")


def test_a_report_says_what_the_records_are_of() -> None:
    assert Report(6, 1, 0, [], [], 2).text().startswith("6 records of 2 writes in 1 chain (its beginning, effect")
    assert Report(3, 1, 0, [], [], 1).text().startswith("3 records of 1 write in 1 chain (")


def test_a_report_says_what_is_unended_and_whether_the_chains_are_whole() -> None:
    unended = [
        Unended(0.0, "local", "send", "a.py", stored=True, running=False),
        Unended(0.0, "local", "send", "", stored=False, running=False),
        Unended(0.0, "local", "send", "b.py", stored=False, running=True),
    ]
    assert Report(9, 2, 1, [], unended).text().splitlines() == [
        "9 records in 2 chains, 1 of before there were chains",
        "no end: its effect was stored: send by local a.py",
        "no end: whether it took effect is not known: send by local",
        "still running: send by local b.py",
        "The chains are whole",
    ]
    assert Report(9, 2, 0, ["record 3 was changed"], []).text().splitlines() == [
        "9 records in 2 chains",
        "broken: record 3 was changed",
    ]
    assert Report(1, 1, 0, [], []).text().splitlines()[0] == "1 record in 1 chain"
