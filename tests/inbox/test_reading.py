"""The pure parts: lines, diffs, the screen of lazygit, and the binding that is written for it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.inbox.answers import read_ago
from postil.inbox.diff import hunks
from postil.inbox.failures import BadLine
from postil.inbox.lazygit import BINDINGS, BadKey, binding
from postil.inbox.lazygit_check import unsafe_lines
from postil.inbox.legacy import parse
from postil.inbox.model import line_text, span_of
from postil.inbox.screen import selected_line

DIFF = """diff --git a/f b/f
index 1..2 100644
--- a/f
+++ b/f
@@ -1,4 +1,4 @@ def top
 one
-two
+TWO
 three
 four
@@ -10,6 +10,8 @@
 ten
+added
+added more
 eleven
-twelve
 thirteen
\\ No newline at end of file
"""
PUBLISHED = """
customCommands:
- key: "<c-y>"
  context: "staging"
  description: "Send comment to AI assistant"
  prompts:
  - {type: "input", title: "Comment:"}
  command: 'lazygit-mcp-bridge send --file "{{ .SelectedPath }}" --comment "{{ index .PromptResponses 0 }}"'
"""


@given(st.integers(1, 10**9 - 1), st.integers(0, 1000))
def test_a_span_is_read_back_as_it_was_written(start: int, more: int) -> None:
    span = (start, min(start + more, 10**9 - 1))
    assert span_of(line_text(span)) == span


@given(st.text(max_size=12))
def test_any_text_is_a_line_or_a_clear_refusal(text: str) -> None:
    try:
        span = span_of(text)
    except BadLine:
        return
    assert span is None or 1 <= span[0] <= span[1]


def test_hunks_know_the_lines_of_both_sides() -> None:
    first, second = hunks(DIFF)
    assert first.covers((2, 2), "new")
    assert not first.covers((9, 9), "new")
    assert second.covers((12, 12), "old")
    assert [(line.sign, line.old, line.new) for line in first.lines][1:3] == [("-", 2, 0), ("+", 0, 2)]
    assert first.text() == "@@ -1,4 +1,4 @@ def top\n one\n-two\n+TWO\n three\n four"


def test_changed_blocks_name_the_lines_to_choose() -> None:
    blocks = [(line, shown.text) for hunk in hunks(DIFF) for line, shown in hunk.changed_blocks()]
    assert blocks == [("2", "TWO"), ("11-12", "added"), ("14", "twelve")]


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader_of_diffs(text: str) -> None:
    for hunk in hunks(text):
        hunk.text()


def screen(selected: int, width: int = 60) -> str:
    """A screen as lazygit draws it: files on the left, the diff on the right, one row selected."""
    rows = DIFF.splitlines()[4:-1]
    drawn = ["┌─Files────┐┌─Unstaged changes" + "─" * 40 + "┐"]
    for number, row in enumerate(rows):
        shown = f"{row[:width]:<{width}}"
        right = f"\x1b[44m{shown}\x1b[0m" if number == selected else f"\x1b[32m{shown}\x1b[39m"
        drawn.append(f"│ M f      ││{right}│")
    return "\n".join(drawn)


@pytest.mark.parametrize(("selected", "line"), [(3, "2"), (1, "1"), (8, "11"), (9, "12"), (10, "13")])
def test_the_selected_line_is_read_from_the_screen(selected: int, line: str) -> None:
    found = selected_line(screen(selected), hunks(DIFF))
    assert found is not None
    assert found[0] == line


def test_equal_rows_are_told_apart_by_the_rows_around_them() -> None:
    diff = hunks("@@ -1,3 +1,5 @@\n a\n+same\n b\n+same\n c\n")
    rows = ["@@ -1,3 +1,5 @@", " a", "+same", " b", "+same", " c"]
    drawn = "\n".join(
        f"│\x1b[44m{row:<20}\x1b[0m│" if number == 4 else f"│{row:<20}│" for number, row in enumerate(rows)
    )
    assert selected_line(drawn, diff) == ("4", "+same")


def test_a_screen_without_a_selection_answers_nothing() -> None:
    assert selected_line(screen(99), hunks(DIFF)) is None
    assert selected_line("", hunks(DIFF)) is None
    assert selected_line(screen(3), []) is None


def test_every_template_of_the_binding_that_reaches_a_shell_is_quoted() -> None:
    text = binding()
    commands = re.findall(r"^ +command: '(.*)'$", text, re.MULTILINE)
    assert len(commands) == 2 * sum(one.lines for one in BINDINGS) + sum(not one.lines for one in BINDINGS)
    for command in commands:
        templates = re.findall(r"\{\{(.*?)\}\}", command)
        assert templates
        assert all(template.endswith("| quote") for template in templates)
    assert unsafe_lines(text) == []
    assert [context in text for context in ("staging", "patchBuilding", "commits")] == [True] * 3


@pytest.mark.parametrize("key", ["", '"', "<c-y>\n", "ab", "<c y>", "\\"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(BadKey):
        binding(key)


def test_the_published_block_is_known_to_be_unsafe() -> None:
    assert unsafe_lines(PUBLISHED) == [8]
    assert unsafe_lines(PUBLISHED.replace("}}", "| quote }}").replace('"{{', "{{").replace('}}"', "}}")) == []


def test_a_command_over_several_lines_is_read_too() -> None:
    folded = "customCommands:\n  - key: x\n    command: >-\n      postil inbox send\n      --comment {{.Form.C}}\n"
    assert unsafe_lines(folded) == [3]
    assert unsafe_lines(folded.replace("}}", " | quote}}")) == []


@given(st.binary(max_size=200))
def test_no_content_of_the_old_file_breaks_its_reader(content: bytes) -> None:
    parse(content)


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        (-5, "read just now"),
        (30, "read 30 s ago"),
        (125, "read 2 min ago"),
        (7300, "read 2 h ago"),
        (300000, "read 3 days ago"),
    ],
)
def test_the_age_of_a_reading_is_said_in_words(ago: float, said: str) -> None:
    assert read_ago(10_000_000.0, 10_000_000.0 + ago) == said
    assert read_ago(0, 5) == "no assistant has read yet"
