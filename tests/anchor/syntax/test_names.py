"""A named thing is called the same, whether its text was read or not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from postil.anchor.model import Span
from postil.anchor.syntax.names import say_name
from postil.anchor.syntax.symbols import Symbol
from tests.needs import ROOT


@pytest.mark.parametrize(
    ("kind", "said"), [("method", "pay()"), ("constructor", "pay()"), ("class", "pay class"), ("symbol", "pay symbol")]
)
def test_what_can_be_called_has_parentheses_and_all_else_its_kind(kind: str, said: str) -> None:
    assert say_name("pay", kind) == Symbol("pay", kind, Span(1)).short == said


def test_a_list_of_comments_names_their_code_without_loading_a_grammar() -> None:
    asked = "import sys, postil.comments.operations.answers as a; a.describe_anchor(('pay',), 'Function', 3)"
    check = "assert 'postil.anchor.syntax.symbols' not in sys.modules, 'loaded'"
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", f"{asked}; {check}"], check=True, env=environ)
