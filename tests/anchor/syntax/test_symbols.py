"""The symbol a line belongs to, in every language with a grammar, and how people are told of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.anchor.model import Span
from postil.anchor.syntax import languages
from postil.anchor.syntax.languages import LANGUAGES
from postil.anchor.syntax.symbols import (
    MOST_CONTAINERS,
    Symbol,
    innermost,
    owners,
    problem_at,
    symbol_at,
    symbols,
    syntax_problems,
)

pytestmark = pytest.mark.usefixtures("unhurried")

AUTH = """export class AuthService {
  // checks it
  validatePassword(password: string): boolean {
    return this.compare(password);
  }
}

function comparePasswords(a: string, b: string) {
  return a === b;
}

const limit = 5;
"""


def test_a_line_of_a_method_belongs_to_the_method_in_its_class() -> None:
    found = symbol_at(AUTH, "typescript", 4)
    assert found is not None
    assert (found.label, found.short, found.phrase) == (
        "validatePassword() in AuthService",
        "validatePassword()",
        "function 'validatePassword'",
    )


def test_the_comment_above_a_method_belongs_to_it() -> None:
    found = symbol_at(AUTH, "typescript", 2)
    assert found is not None
    assert found.name == "validatePassword"


def test_the_first_line_of_a_class_belongs_to_the_class() -> None:
    found = symbol_at(AUTH, "typescript", 1)
    assert found is not None
    assert (found.label, found.phrase) == ("AuthService class", "class 'AuthService'")


def test_a_line_outside_all_definitions_has_no_symbol() -> None:
    assert symbol_at(AUTH, "typescript", 12) is None
    assert symbol_at(AUTH, None, 4) is None


SAMPLES = {
    "python": ("class A:\n    @cached\n    def f(self):\n        pass\n", "A class, f() in A"),
    "javascript": ("class A {\n  f() {}\n}\nconst h = (x) => x;\n", "A class, f() in A, h()"),
    "typescript": ("interface I { x: number }\nexport const h = async (x) => x;\n", "I interface, h()"),
    "tsx": ("const C = () => <div>hi</div>;\n", "C()"),
    "go": ("package a\ntype T struct { a int }\nfunc (t *T) M() {}\nfunc F() {}\n", "T struct, M() in T, F()"),
    "java": ("class A {\n  A() {}\n  void m() {}\n}\n", "A class, A() in A, m() in A"),
    "rust": ("struct S { a: i32 }\nimpl S {\n  fn m(&self) {}\n}\n", "S struct, S type, m() in S"),
    "c": ("struct s { int a; };\nstatic int *f(int x) { return 0; }\nstruct s g;\n", "s struct, f()"),
    "cpp": ("class A {\n  void m() {}\n};\nvoid A::k() {}\n", "A class, m() in A, k() in A"),
    "csharp": ("class A {\n  void M() {}\n}\n", "A class, M() in A"),
    "ruby": ("class A\n  def f\n  end\nend\n", "A class, f() in A"),
    "php": ("<?php\nclass A { function m() {} }\nfunction f() {}\n", "A class, m() in A, f()"),
    "kotlin": ("class A {\n  fun m() {}\n}\n", "A class, m() in A"),
    "swift": ("struct S {\n  func m() {}\n}\n", "S struct, m() in S"),
    "scala": ("object O {\n  def f(x: Int) = x\n}\n", "O object, f() in O"),
    "bash": ("f() {\n  echo\n}\n", "f()"),
    "sql": ("CREATE TABLE users (id int);\n", "users table"),
    "html": ('<div id="main">\n<p>x</p>\n</div>\n', "main element"),
    "css": (".a > b { color: red }\n", ".a > b rule"),
    "yaml": ("a:\n  b: 1\n", "a key, b key in a"),
    "toml": ("[a.b]\ny = 2\n", "a.b table, y key in a.b"),
    "json": ('{"a": {"b": 1}}', "a key, b key in a"),
    "markdown": ("# One\ntext\n## Two\nmore\n", "One section, Two section in One"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_names_its_definitions(language: str) -> None:
    text, labels = SAMPLES[language]
    assert ", ".join(symbol.label for symbol in symbols(text, language)) == labels


def test_a_syntax_error_matters_only_to_its_own_function() -> None:
    text = "def good():\n    return 1\n\n\ndef bad():\n    return )(\n"
    problems, named = syntax_problems(text, "python"), symbols(text, "python")
    assert problem_at(problems, named, 2) is None
    found = problem_at(problems, named, 6)
    assert found is not None
    assert found.span.start == 6


@pytest.mark.parametrize(
    ("text", "language", "name", "line"),
    [
        ("x = 1  # note\ndef f():\n    pass\n", "python", "f", 2),
        ("x = 1  # note\n# of f\ndef f():\n    pass\n", "python", "f", 2),
        ("x = 1\n# of f\ndef f():\n    pass\n", "python", "f", 2),
        ("# a\n# b\ndef f():\n    pass\n", "python", "f", 1),
        ("class A { // note\n  f() {}\n}\n", "javascript", "f", 2),
        ("int a; /* the\n a */\nvoid f() {}\n", "c", "f", 3),
        ("/* one */ // two\nvoid f() {}\n", "c", "f", 1),
        ("int a; /* one */ // two\nvoid f() {}\n", "c", "f", 2),
    ],
)
def test_a_comment_at_the_end_of_a_row_of_code_is_not_of_what_follows(
    text: str, language: str, name: str, line: int
) -> None:
    (found,) = [each for each in symbols(text, language) if each.name == name]
    assert found.span.start == line


def test_a_function_below_very_many_comments_begins_at_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 kB of them took 4 s: each asked the parser for the one before, which walks over all."""
    monkeypatch.setattr(languages, "_lifted", [True])
    text = "x = 1\n" + "//\n" * 12_000 + "function a() {}\n"
    (found,) = symbols(text, "javascript")
    assert (found.span.start, found.line) == (2, 12_002)


def test_definitions_are_told_apart_to_a_depth() -> None:
    text = "".join(f"<a id=n{level}>\n" for level in range(200))
    found = symbols(text + "</a>\n" * 200, "html")
    assert len(found) == MOST_CONTAINERS + 1
    assert len(found[-1].containers) == MOST_CONTAINERS


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12))))
def test_the_owner_of_each_line_is_the_innermost_that_covers_it(spans: list[tuple[int, int]]) -> None:
    found = [Symbol(str(number), "class", Span(start, start + more)) for number, (start, more) in enumerate(spans)]
    found.sort(key=lambda symbol: (symbol.span.start, -symbol.span.last))
    assert owners(found, 15)[1:] == [innermost(found, line) for line in range(1, 16)]
    assert owners(found, 15)[0] is None
