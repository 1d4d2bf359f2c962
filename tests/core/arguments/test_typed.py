"""A command that is told holds others' words as words."""

from __future__ import annotations

import shlex

import pytest

from postil.core.arguments.typed import type_words


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (("c_1",), "c_1"),
        (("c_1", "a b.py", "3"), "c_1 'a b.py' 3"),
        (("x; rm -rf ~",), "'x; rm -rf ~'"),
        (("$(id)", "`id`"), "'$(id)' '`id`'"),
        (("--all",), "-- --all"),
        (("c_1", "-x"), "-- c_1 -x"),
        (("",), "''"),
    ],
)
def test_each_word_of_others_is_one_word_and_no_option(words: tuple[str, ...], typed: str) -> None:
    assert type_words(*words) == typed
    assert [word for word in shlex.split(typed) if word != "--"] == list(words)
