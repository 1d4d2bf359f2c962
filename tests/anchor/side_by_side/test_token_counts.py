"""Splitting by a table finds what the patterns find."""

import pytest

from postil.anchor.side_by_side.token_counts import TOKEN, WORD, TokenCounts, split_rows

TEXTS = (
    "",
    "\n",
    "def a(b):\n    return b_1 + 20  # x.y\n\n",
    "a\tb\x0cc\x1cd\x00e\x7ff\r\ng",
    "größe = naïve + x²\nΣ\u2028next",
    "lone \ud800 surrogate()",
)


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_counted_as_the_pattern_finds_them(text: str) -> None:
    counts, tokens = TokenCounts(text), TOKEN.findall(text)
    assert {token: counts.count(token) for token in {*tokens, "absent", "@"}} == {
        token: tokens.count(token) for token in {*tokens, "absent", "@"}
    }


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_split_row_by_row(text: str) -> None:
    assert split_rows(text) == [WORD.findall(row) for row in text.split("\n")]
