"""Names in rows."""

import pytest

from postil.core.others.one_line import on_one_line


@pytest.mark.parametrize(("text", "line"), [("a b", "a b"), ("", ""), ("a\r\n::error::b\u2028c", "a ::error::b c")])
def test_a_text_on_one_line_has_no_other_row(text: str, line: str) -> None:
    assert on_one_line(text) == line
