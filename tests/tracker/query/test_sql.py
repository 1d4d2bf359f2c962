"""Questions in SQL find what a naive reading of them finds."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

from postil.tracker.index.as_of import read_past_page
from postil.tracker.index.pages import read_page
from postil.tracker.model import Entity
from postil.tracker.query.parse import parse
from postil.tracker.query.tree import All, Any, Node, Not
from postil.tracker.store import Store
from tests.tracker.programs import git, said
from tests.tracker.questions import NOW, fill, random_filter
from tests.tracker.stores import create


def naive(node: Node, e: Entity, world: list[Entity]) -> bool:
    if isinstance(node, All):
        return all(naive(item, e, world) for item in node.items)
    if isinstance(node, Any):
        return any(naive(item, e, world) for item in node.items)
    if isinstance(node, Not):
        return not naive(node.item, e, world)
    op, values = node.op, node.values
    match node.field:
        case "labels" | "assignee":
            have = set(e.labels if node.field == "labels" else e.assignees)
            if op == "in":
                return bool(have & set(values))
            return have.isdisjoint(values) if op == "!=" else have.issuperset(values)
        case "has_comments":
            return (bool(e.comments) == (values[0] == "true")) == (op == "=")
        case "comments":
            return order(len(e.comments), op, int(values[0]))
        case "created_at":
            return order(e.created_ts[: len(values[0])], op, values[0])
        case "due":
            if op == "!=":
                return (e.due or "") != values[0]
            return e.due is not None and order(e.due, op, values[0])
        case "milestone":
            names = {m.title: m.id for m in world if m.kind == "milestone"}
            wanted = [None if v == "none" else names.get(v, "?") for v in values]
            return (e.milestone not in wanted) if op == "!=" else e.milestone in wanted
        case "author":
            name, _, mail = e.author.partition(" <")
            hit = any(v in (e.author, name, mail.rstrip(">")) for v in values)
            return texts(op, e.author, values, hit)
        case "text":
            return values[0].casefold() in "\n".join([e.title, e.description, *(c.body for c in e.comments)]).casefold()
        case field:
            have = str(getattr(e, field))
            return texts(op, have, values, have in values)


def texts(op: str, have: str, values: tuple[str, ...], equal: bool) -> bool:
    if op == "contains":
        return values[0] in have
    if op == "~":
        return values[0].lower() in have.lower()
    return not equal if op == "!=" else equal


def order(one: int | str, op: str, other: int | str) -> bool:
    return {
        "=": one == other,
        "!=": one != other,
        ">": str(one) > str(other),
        "<": str(one) < str(other),
        ">=": str(one) >= str(other),
        "<=": str(one) <= str(other),
    }[op]


def test_a_thousand_random_questions_get_the_naive_answer(store: Store):
    dice = random.Random(7)
    world = fill(store, 60, dice)
    for _ in range(1000):
        text = random_filter(dice)
        tree = parse(text).tree
        expected = {e.id for e in world if naive(tree, e, world)}
        found = read_page(store.index, None, text, (), 1000, None, True, NOW)
        assert {row.id for row in found.rows} == expected, text


def test_what_ignores_case_takes_letters_for_what_they_are_without_it(store: Store):
    """A capital ß is SS, so `strasse` is how both are written without case."""
    wanted = {create(store, title) for title in ("Straße 1", "STRASSE 2", "strasse 3")}
    create(store, "Strase 4")
    store.refresh()
    for text in ("title ~ strasse", "title ~ STRASSE", "title ~ straße", "text ~ strasse"):
        assert {row.id for row in read_page(store.index, None, text, (), 9, None, True, NOW).rows} == wanted, text


def test_letters_beyond_a_to_z_have_case_too(store: Store):
    ids = {create(store, "Über Straßen"), create(store, "überall")}
    create(store, "Uber")
    store.refresh()
    for text in ('title ~ "über"', "title ~ ÜBER", "text ~ ÜBER"):
        first = read_page(store.index, None, text, (), 1, None, True, NOW)
        assert first.next_cursor is not None
        create(store, "Über again")
        store.refresh()
        second = read_page(store.index, None, text, (), 9, first.next_cursor, True, NOW)  # as it was at the first page
        assert {row.id for row in (*first.rows, *second.rows)} == ids, text
        past = read_past_page(store, "issue", text, (), 9, True, (), "2999-01-01")
        assert ids < {row.id for row in past.rows}
        ids = {row.id for row in past.rows}


def test_me_is_the_one_who_asks(repository: Path):
    for title, words in (("Mine", ("--author", "Ann", "--email", "ann@example.org")), ("Other", ("--author", "Bob"))):
        said(repository, "create", "issue", title, *words)
    git(repository, "config", "user.name", "Ann")
    git(repository, "config", "user.email", "ann@example.org")
    ids = {title: said(repository, "list", title, "--format", "raw").split("\t")[0] for title in ("Mine", "Other")}
    said(repository, "assign", ids["Other"], "Ann")
    found = partial(said, repository, "list", "--format", "raw", "--columns", "title", "--filter")
    assert found("author == me") == "Mine\n"
    assert found("author != me") == "Other\n"
    assert found("assignee == me") == found("assignee:me") == "Other\n"
    assert found("assignee contains me") == found('assignee in [me, "nobody"]') == "Other\n"
    assert found("assignee != me") == "Mine\n"
