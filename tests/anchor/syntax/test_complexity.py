"""How many independent ways lead through a function."""

import pytest

from postil.anchor.syntax.complexity import complexities

pytestmark = pytest.mark.usefixtures("unhurried")


def test_complexity_counts_the_branches_of_each_function() -> None:
    text = """
def plain():
    return 1

def busy(a, b):
    if a and b or not a:
        for x in b:
            while x:
                x -= 1
    elif b:
        return [y for y in b if y]
    def inner():
        return 1 if a else 2
    try:
        pass
    except ValueError:
        pass
"""
    assert {each.function.name: each.cyclomatic for each in complexities(text, "python")} == {
        "plain": 1,
        "busy": 10,
        "inner": 2,
    }


def test_a_default_branch_is_not_counted() -> None:
    text = "func f(x int) {\n\tswitch x {\n\tcase 1:\n\t\ta()\n\tcase 2:\n\t\tb()\n\tdefault:\n\t\tc()\n\t}\n}\n"
    assert [each.cyclomatic for each in complexities(text, "go")] == [3]


def test_a_text_without_a_grammar_has_no_functions() -> None:
    assert complexities("if a: pass", None) == []
    assert complexities("a: 1", "yaml") == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "def f(a):\n    if a and a:\n        pass\n"),
        ("javascript", "function f(a) { if (a && a) { } }"),
        ("typescript", "function f(a: any) { if (a && a) { } }"),
        ("tsx", "function f(a: any) { if (a && a) { } }"),
        ("go", "func f(a bool) { if a && a { } }"),
        ("java", "class A { void f(boolean a) { if (a && a) { } } }"),
        ("rust", "fn f(a: bool) { if a && a { } }"),
        ("c", "void f(int a) { if (a && a) { } }"),
        ("cpp", "void f(int a) { if (a && a) { } }"),
        ("csharp", "class A { void F(bool a) { if (a && a) { } } }"),
        ("ruby", "def f(a)\n  if a && a\n  end\nend\n"),
        ("php", "<?php function f($a) { if ($a && $a) { } }"),
        ("kotlin", "fun f(a: Boolean) { if (a && a) { } }"),
        ("swift", "func f(a: Bool) { if a && a { } }"),
        ("scala", "def f(a: Boolean) = if (a) 1 else 2"),
        ("bash", "f() {\n  if a && a; then b; fi\n}\n"),
    ],
)
def test_branches_are_found_in_every_language(language: str, text: str) -> None:
    assert [each.cyclomatic for each in complexities(text, language)] == [2 if language == "scala" else 3]
