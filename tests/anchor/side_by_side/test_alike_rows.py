"""One of many alike rows that another one replaced is not that one, edited: its own words tell."""

from __future__ import annotations

import pytest

from postil.anchor.model import Source, Span
from postil.anchor.page import Page
from postil.anchor.relocate import relocate, relocate_all
from postil.anchor.side_by_side.alike_rows import find_lost_words

ROUTES = """\
from shop import views

ROUTES = [
    ("/", views.index),
    ("/cart", views.cart),
    ("/admin", views.admin),
    ("/orders", views.orders),
    ("/login", views.login),
]


def find_route(path):
    return dict(ROUTES).get(path)
"""
IMPORTS = """\
import contextvars
import os
import socket
import sys


def main():
    return os.getpid()
"""
MEMBERS = """\
class Color(Enum):
    RED = auto()
    GREEN = auto()
    BLUE = auto()
    BLACK = auto()


BEST = Color.BLUE
"""
NEEDS = """\
{
  "dependencies": {
    "chalk": "^4.1.0",
    "debug": "^4.3.1",
    "semver": "^7.3.0",
    "which": "^2.0.2"
  }
}
"""


@pytest.mark.parametrize(
    ("text", "path", "row", "now"),
    [
        (ROUTES, "routes.py", '("/admin", views.admin)', '("/faq", views.faq)'),
        (IMPORTS, "main.py", "import contextvars", "import threading"),
        (MEMBERS, "color.py", "GREEN = auto()", "PURPLE = auto()"),
        (NEEDS, "package.json", '"semver": "^7.3.0"', '"mime": "^3.0.0"'),
    ],
)
def test_an_entry_that_another_one_replaced_is_left_to_a_person(text: str, path: str, row: str, now: str) -> None:
    line = text[: text.index(row)].count("\n") + 1
    found = relocate(text, text.replace(row, now), Span(line), path)
    assert found.state == "review"


@pytest.mark.parametrize(
    ("text", "path", "row", "now"),
    [
        (ROUTES, "routes.py", '("/admin", views.admin)', '("/admin", views.admin_home)'),
        (ROUTES, "routes.py", '("/admin", views.admin)', '("/admins", views.admins)'),
        (IMPORTS, "main.py", "import contextvars", "import contextvars as vars"),
        (MEMBERS, "color.py", "GREEN = auto()", "GREEN = enum.auto()"),
        (NEEDS, "package.json", '"semver": "^7.3.0"', '"semver": "^7.5.4"'),
    ],
)
def test_an_entry_that_was_edited_keeps_its_comment(text: str, path: str, row: str, now: str) -> None:
    line = text[: text.index(row)].count("\n") + 1
    found = relocate(text, text.replace(row, now), Span(line), path)
    assert (found.state, found.span) == ("modified", Span(line, line))


def test_a_field_that_was_renamed_wherever_it_is_used_keeps_its_comment() -> None:
    old = (
        "class Writer {\n  private final File folder;\n  private final Lock lock;\n  private final Clock clock;\n\n"
        "  void open() {\n    use(folder);\n    start(folder, lock);\n    end(folder, clock);\n  }\n}\n"
    )
    new = old.replace("File folder", "Place target").replace("folder", "target")
    found = relocate_all(Source(old, "Writer.java"), Source(new, "Writer.java"), [Span(2)])
    assert (found[0].state, found[0].span) == ("modified", Span(2, 2))


def test_a_row_that_lost_words_and_got_none_is_no_other_entry() -> None:
    old = Page(Source("    a(one, two);\n    b(three, four);\n    c(five, six);\n"))
    assert find_lost_words(old, 1, Page(Source("    x(y, z);\n")), 0) == {"three", "four"}
    assert find_lost_words(old, 1, Page(Source("    b();\n")), 0) == set()


def test_a_row_beside_which_none_is_alike_loses_nothing() -> None:
    old = Page(Source("if ready:\n    start(now)\n    return total / count\n"))
    assert find_lost_words(old, 1, Page(Source("    finish(later)\n")), 0) == set()


def test_the_bodies_of_small_functions_are_no_entries() -> None:
    old = "".join(f"def add_{number}(value):\n    return value + {number}\n\n" for number in range(5))
    found = relocate(old, old.replace("+ 2", "+ 20"), Span(8))
    assert (found.state, found.span) == ("modified", Span(8, 8))


def test_a_word_that_only_grew_is_left() -> None:
    old = Page(Source("  a = make.getTestMethod();\n  b = make.getTestInstance();\n  c = make.invoke(a, instance);\n"))
    assert find_lost_words(old, 1, Page(Source("  d = make.getRequiredTestInstance();\n")), 0) == set()
