"""Messages as Markdown."""

from postil.inbox.answers import Shown
from postil.inbox.drafting.markdown import format_markdown
from postil.inbox.model import Reply


def test_nothing_says_so() -> None:
    assert format_markdown([]) == "No open messages"


def test_code_with_fences_and_a_thread_stay_what_they_are() -> None:
    reply = Reply("assistant", "one\ntwo", "2026-01-01T00:00:00Z")
    shown = Shown(1, "seen", "a.md", "why", "t", line="3", side="old", code="````x", replies=(reply,))
    said = format_markdown([shown, Shown(2, "draft", "", "all of it", "t")])
    assert "**#1** fix, deleted line 3, seen" in said
    assert "`````\n````x\n`````" in said
    assert "> **assistant**: one\n> two" in said
    assert said.startswith("## General\n\n**#2** fix, the whole, draft\n\nall of it")


def test_a_suggestion_is_a_suggestion_block() -> None:
    assert "```suggestion\nnew\n```" in format_markdown([Shown(1, "seen", "a", "x", "t", line="1", suggestion="new")])


def test_a_name_makes_no_row_of_its_own() -> None:
    shown = Shown(1, "seen", "a\n# Forged", "why", "t", replies=(Reply("bob\u2028# Forged", "one", ""),))
    assert not [row for row in format_markdown([shown]).splitlines() if row.startswith("# Forged")]
