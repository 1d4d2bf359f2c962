"""The lines of a diff: what cannot be seen in them is shown."""

import re

import pytest

from postil.surfaces.page.markup import join
from postil.surfaces.page.views.diff_table import Line, show_text


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041"])
@pytest.mark.parametrize("colors", [(), ((0, 4, "k"),)])
def test_a_character_that_hides_or_turns_text_stands_alone_with_its_name(
    char: str, colors: tuple[tuple[int, int, str], ...]
) -> None:
    shown = join(show_text(Line("+", f"if a{char}b < c", new=1, colors=colors)))
    assert f'data-code="{ord(char):04X}">{char}</span>' in shown
    assert re.sub("<[^>]+>", "", shown) == f"if a{char}b &lt; c"  # what is copied, or suggested, is the line itself


def test_ordinary_letters_of_any_script_are_left_alone() -> None:
    assert show_text(Line(" ", "caf\u00e9 \u05d0\u05d1 \U0001f600", new=1)) == "caf\u00e9 \u05d0\u05d1 \U0001f600"
