"""A filter's text, in whichever of the three syntaxes, to its tree."""

from __future__ import annotations

from typing import NamedTuple

from postil.tracker.query.tree import All, Node, QueryFault

_LONGEST = 8192


class Question(NamedTuple):
    """What is asked for, and the order if the filter named one (git-bug's `sort:`)."""

    tree: Node = All()
    sort: tuple[str, ...] = ()


def parse(text: str | None) -> Question:
    """Returns the question of a filter text; a blank one asks for everything."""
    if text is None or not text.strip():
        return Question()
    if len(text) > _LONGEST:
        raise QueryFault(f"the filter is longer than {_LONGEST} characters", _LONGEST, "shorten it")
    # Most lists have no filter: those do not pay for the three languages.
    from postil.tracker.query.sexpr import looks_like_sexpr, parse_sexpr

    if looks_like_sexpr(text):
        return Question(parse_sexpr(text))
    from postil.tracker.query.git_bug import looks_like_keys, looks_like_words, parse_keys

    if looks_like_keys(text) or looks_like_words(text):
        tree, sort = parse_keys(text)
        return Question(tree, tuple(sort))
    from postil.tracker.query.infix import parse_infix

    return Question(parse_infix(text))
