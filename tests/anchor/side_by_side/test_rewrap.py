"""Formatters change the layout and not the code: every line is where its first word is."""

import pytest

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate, relocate_all

OLD = """import { readFile } from 'fs'

export function total (orders, rate, currency) {
  const chosen = orders.filter(order => order.price > rate).map(order => order.price)
  if (chosen.length === 0) { return 0 }
  return chosen.reduce((sum, price) => sum + price, 0).toFixed(2)
}
"""
NEW = """import { readFile } from "fs";

export function total(
    orders,
    rate,
    currency,
) {
    const chosen = orders
        .filter((order) => order.price > rate)
        .map((order) => order.price);
    if (chosen.length === 0) {
        return 0;
    }
    return chosen
        .reduce((sum, price) => sum + price, 0)
        .toFixed(2);
}
"""


def test_rewrapped_code_is_followed_line_by_line() -> None:
    found = relocate_all(Source(OLD, "a.js"), Source(NEW, "a.js"), [Span(line) for line in (1, 3, 4, 5, 6)])
    assert [each.span and each.span.start for each in found] == [1, 3, 8, 11, 14]
    assert "review" not in {each.state for each in found}


def test_and_back_again() -> None:
    found = relocate_all(Source(NEW, "a.js"), Source(OLD, "a.js"), [Span(line) for line in (1, 3, 5, 8, 9, 11, 12, 16)])
    assert [each.span and each.span.start for each in found] == [1, 3, 3, 4, 4, 5, 5, 6]


def test_a_file_joined_into_one_line_is_followed() -> None:
    found = relocate(OLD, " ".join(OLD.split()), Span(5), "a.js")
    assert found.span == Span(1, 1)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x" * 3_000_000, "y" * 3_000_000),
        ("a.b(c);" * 200_000, "a.b(d);" * 200_000),
        ("}\n" * 30_000, "}\n" * 29_000 + "{\n" * 500),
        ("x = 1\n" * 20_000 + "y = 2\n", "x = 1\n" * 19_000 + "z = 3\n"),
        ("  " * 5_000 + "a\n" + "b\n" * 50, "c\n" * 5_000),
        ("\n".join(" " * n + "if a:" for n in range(3_000)), "\n".join(" " * n + "if b:" for n in range(3_000))),
        ("\r" * 10_000, "\n" * 10_000),
    ],
    ids=["huge lines", "minified", "only braces", "one line repeated", "deep indent", "deep nesting", "bare returns"],
)
def test_odd_texts_are_answered_in_bounded_time(old: str, new: str) -> None:
    count = old.count("\n") + 1
    spans = [Span(1 + count * n // 7) for n in range(7)]
    for path in ("a.js", "a.unknown"):
        assert len(relocate_all(Source(old, path), Source(new, path), spans)) == 7


@pytest.mark.timeout(60)
def test_thirty_thousand_lines_with_a_thousand_comments_take_seconds() -> None:
    rows = [f"value_{n} = compute_{n % 97}({n}, other_{n % 13})" for n in range(30_000)]
    new = [row.replace("compute", "reckon") if n % 100 == 0 else row for n, row in enumerate(rows) if n % 150 != 75]
    found = relocate_all(
        Source("\n".join(rows), "a.py"), Source("\n".join(new), "a.py"), [Span(1 + 30 * n) for n in range(1000)]
    )
    right = sum(each.span is not None and f"value_{30 * n} " in each.new_text for n, each in enumerate(found))
    assert right >= 990
