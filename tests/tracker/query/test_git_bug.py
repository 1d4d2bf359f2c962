"""git-bug's syntax of keys."""

from __future__ import annotations

from postil.tracker.query.parse import parse
from postil.tracker.query.tree import All, Any, Compare, Not


def test_key_queries_make_the_same_tree_and_may_name_an_order():
    question = parse('status:open label:"good first" -author:rene sort:edit-desc crash')
    assert question.sort == ("edit:desc",)
    assert isinstance(question.tree, All)
    assert set(question.tree.items) == {
        Compare("status", "=", ("open",)),
        Compare("labels", "contains", ("good first",)),
        Not(Compare("author", "~", ("rene",))),
        Compare("text", "~", ("crash",)),
    }


def test_bare_words_search_the_text():
    assert parse("crash on start").tree == parse('text ~ crash and text ~ on and text ~ "start"').tree
    assert parse('"good first"').tree == parse('text ~ "good first"').tree


def test_several_statuses_by_key_are_alternatives():
    assert parse("status:open status:draft").tree == Any(
        (Compare("status", "=", ("open",)), Compare("status", "=", ("draft",)))
    )
