"""A text cut into rows: what is under what, where blocks end, what a row opens and names."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.anchor.model import Source
from postil.anchor.page import LONGEST_KEY, Page, find_word

CODE = """class A:
    def f(self, x):

        if x:
            return [
                1,
            ]

    def g(self):
        pass


top = 1
"""


def page(text: str, path: str = "") -> Page:
    return Page(Source(text, path))


def test_line_ends_and_marks_at_the_beginning_do_not_matter() -> None:
    assert page("\ufeffa\nb\n").rows == ["a", "b"]
    assert page("a\rb").rows == ["a", "b"]
    assert page("a\r\nb\r\n").between(0, 1) == "a\nb"
    assert page("").rows == [""]
    assert page("a\n\n").rows == ["a", ""]


def test_a_key_is_the_code_without_its_spaces_and_bounded() -> None:
    assert page("\t a  =\t1 ").keys == ["a=1"]
    assert len(page("x" * 1000).keys[0]) == LONGEST_KEY


def test_rows_are_under_what_they_are_indented_under_and_blank_ones_end_no_block() -> None:
    found = page(CODE)
    assert found.parents[:5] == [-1, 0, 1, 1, 3]
    assert found.ends[0] == 9
    assert found.ends[1] == 6
    assert found.ends[12] == 12
    assert found.ancestors(5) == [0, 1, 3, 4]
    assert found.children[0] == [1, 8]
    assert (found.before(8), found.after(1), found.before(1), found.after(8)) == (1, 8, -1, -1)


def test_a_brace_of_its_own_stands_for_the_row_above() -> None:
    found = page("int f()\n{\n    a();\n}\n")
    assert found.parents == [-1, -1, 0, -1]


def test_functions_come_from_symbols_and_else_from_indentation() -> None:
    assert page(CODE, "a.py").frames == [-1, 1, 1, 1, 1, 1, 1, -1, 8, 8, -1, -1, -1]
    assert page(CODE).frames[3] == 0
    assert page(CODE, "a.py").frame_end(1) == 6


def test_a_function_ends_with_its_bracket_however_its_head_is_laid_out_and_whatever_is_in_it() -> None:
    rows = [
        "function sum(",
        "  parts,",
        ") {",
        "  const add = () => {",
        "    note()",
        "  }",
        "  return add",
        "}",
        "last()",
    ]
    assert page("\n".join(rows), "a.ts").frame_end(0) == 7
    assert page("\n".join(rows), "a.ts").frame_end(3) == 5


def test_a_header_ends_where_its_brackets_are_balanced() -> None:
    found = page("call(a,\n     b)\nnext()\n")
    assert found.header(0) == ["call", "(", "a", ",", "b", ")"]
    assert (found.header_rows(0), found.header_rows(2)) == (2, 1)


def test_a_row_has_an_opening_and_a_name() -> None:
    found = page("    return value\nresult = f(1)\n}\n\n", "a.py")
    assert [found.opening(row) for row in range(4)] == ["return", "result", "}", ""]
    assert [found.name(row) for row in range(4)] == ["value", "result", "", ""]


@given(st.text(alphabet=" \t\n{}()ab=:", max_size=80))
def test_any_text_is_a_tree_of_rows(text: str) -> None:
    found = page(text)
    for row in range(len(found)):
        assert -1 <= found.parents[row] < row
        assert row <= found.ends[row] < len(found)
        assert found.header_rows(row) >= 1


def test_a_word_is_found_as_a_whole_and_once_a_row() -> None:
    text = page("name names\nrename name name\n\nother\nname")
    assert find_word(text, "name") == [0, 1, 4]
    assert find_word(text, "absent") == []


@pytest.mark.parametrize("above", ["# a\n", "@d\n"])
def test_what_every_row_above_a_declaration_belongs_to_is_found_in_linear_time(above: str) -> None:
    """Rows that each looked for it took 41 s for 3,000 comments in 48 kB."""
    held = page(above * 15_000 + "def f(): pass\n", "a.py")
    begun = process_time()
    assert {held.documented(row) for row in range(15_000)} == {15_000}
    assert max(len(held.comment_above(row)) for row in range(len(held))) <= 200
    assert process_time() - begun < 3
