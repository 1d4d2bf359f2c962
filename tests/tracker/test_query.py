"""Three syntaxes, one tree; SQL that means what the tree says; cursors that neither repeat nor skip."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.tracker import events as ev
from postil.tracker.index.pages import read_page
from postil.tracker.model import Entity
from postil.tracker.query.order import parse_order
from postil.tracker.query.parse import parse
from postil.tracker.query.tree import All, Any, Compare, Node, Not, QueryFault
from postil.tracker.store import Store

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("infix", "prefix"),
    [
        ('status == "open"', "(= status open)"),
        ("status = open and labels contains alpha", "(and (= status open) (contains labels alpha))"),
        ("not status == open or title contains 'x y'", '(or (not (= status open)) (contains title "x y"))'),
        ("labels in [a, b]", "(in labels a b)"),
        ("status in (draft, closed)", "(in status draft closed)"),
        ("labels != docs", "(!= labels docs)"),
        ("has_comments == yes", "(= has_comments true)"),
        ("updated > 1@host1", "(> updated_at 1@host1)"),
        ("(status == open)", "(= status open)"),
        ("not (status == open)", "(not (= status open))"),
        ("(not (status == open) and comments >= 2)", "(and (not (= status open)) (>= comments 2))"),
        (r'title == "a \"b\" \\ \n"', r'(= title "a \"b\" \\ \n")'),
    ],
)
def test_the_infix_and_the_prefix_syntax_make_one_tree(infix: str, prefix: str):
    assert parse(infix).tree == parse(prefix).tree


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


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("status == ", 10, "a value must follow"),
        ("", None, ""),
        ("statsu == open", 0, "did you mean `status`?"),
        ("status == opne", 10, "did you mean `open`?"),
        ("(= statsu open)", 3, "did you mean `status`?"),
        ("(foo status open)", None, ""),
        ("status > open", 0, "operator `GreaterThan` not allowed for field `status`"),
        ("(> status open)", 3, "operator `GreaterThan` not allowed for field `status`"),
        ("(and (= status open))", 1, "requires at least 2 operand(s)"),
        ("(= labels)", 9, "comparison operator `Eq` requires at least one value"),
        ('title == "abc', 9, "unterminated string"),
        ("status == open title == x", 15, "join conditions with and / or"),
        ("(status == open", 15, "missing `)`"),
        ("(= status open", 14, "missing `)`"),
        ("(= status open) x", 16, "unexpected text after"),
        ("created > yesterday", 10, "is not a moment"),
        ("comments > many", 11, "is not a number"),
        ("has_comments == banana", 16, "neither true nor false"),
        ("colour:red", 0, "unknown field `colour`"),
        ("stat == open", 0, "did you mean `status`?"),
        ("assign == ann", 0, "did you mean `assignee`?"),
        ("colour == red", 0, "known: title, author, text, id, kind, status,"),
        ("status open", 7, "an operator must follow `status`"),
        ("lable", 0, "did you mean `label`?"),
        ("status:", None, ""),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_was_meant(text: str, position: int | None, words: str):
    if not text:
        assert parse(text).tree == All()
        return
    with pytest.raises(QueryFault) as caught:
        parse(text)
    if position is not None:
        assert caught.value.position == position
    assert words in str(caught.value)


@given(st.text(max_size=60))
def test_no_text_does_more_harm_than_a_fault(text: str):
    try:
        parse(text)
        position = None
    except QueryFault as fault:
        position = fault.position
    assert position is None or 0 <= position <= len(text)


def test_deep_nesting_is_refused():
    with pytest.raises(QueryFault, match="nested too deeply"):
        parse("(" * 500 + "status == open" + ")" * 500)
    with pytest.raises(QueryFault, match="nested too deeply"):
        parse("(not " * 500 + "(= status open)" + ")" * 500)


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("labels", "field `labels` does not support sorting"),
        ("updatde", "did you mean `updated`?"),
        ("updated:down", "unknown direction"),
    ],
)
def test_a_bad_order_is_told(word: str, complaint: str):
    with pytest.raises(QueryFault, match=complaint.replace("?", r"\?")):
        parse_order([word])


# Against a naive evaluator

LABELS, PEOPLE, STATUSES = ["a", "b", "c"], ["Ann <ann@x>", "Bob <bob@y>"], ["open", "closed", "draft"]


def fill(store: Store, count: int, dice: random.Random) -> list[Entity]:
    ids = [ev.new_entity_id() for _ in range(count)]
    miles = [ev.new_entity_id() for _ in range(2)]
    with store.transaction() as tx:
        for i, mile in enumerate(miles):
            tx.write(ev.Created, mile, kind="milestone", title=f"Mile {i}")
        for id_ in ids:
            tx.write(
                ev.Created,
                id_,
                kind="issue",
                title=dice.choice(["Crash on start", "crash on exit", "Docs", "Zeta"]),
                status=dice.choice(STATUSES),
                description=dice.choice(["", "needs Words", "nothing"]),
                labels=tuple(sorted(dice.sample(LABELS, dice.randrange(3)))),
                milestone=dice.choice([None, *miles]),
                due=dice.choice([None, "2026-02-01", "2026-04-01"]),
                a=dice.choice(PEOPLE),
                ts=f"2026-0{dice.randrange(1, 4)}-0{dice.randrange(1, 10)}T00:00:00.000Z",
                assignees=tuple(dice.sample(["ann", "bob"], dice.randrange(2))),
            )
        for id_ in dice.sample(ids, count // 2):
            tx.write(ev.Commented, id_, c=ev.new_event_id(), body=dice.choice(["words here", "else"]))
    entities = [store.entity(id_) for id_ in [*miles, *ids]]
    return [entity for entity in entities if entity is not None]


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


def random_filter(dice: random.Random, depth: int = 0) -> str:
    if depth < 3 and dice.random() < 0.4:
        left, right = random_filter(dice, depth + 1), random_filter(dice, depth + 1)
        return dice.choice([f"({left} and {right})", f"({left} or {right})", f"not ({left})"])
    return dice.choice([
        f"status {dice.choice(['==', '!='])} {dice.choice(STATUSES)}",
        f"status in [{dice.choice(STATUSES)}, {dice.choice(STATUSES)}]",
        f"labels {dice.choice(['contains', '=', '!='])} {dice.choice(LABELS)}",
        f"labels in [{dice.choice(LABELS)}, zzz]",
        f"assignee {dice.choice(['contains', '!='])} {dice.choice(['ann', 'bob'])}",
        f"title {dice.choice(['contains', '~', '==', '!='])} {dice.choice(['Crash', 'crash', 'Docs', 'Zeta'])}",
        f"milestone {dice.choice(['==', '!='])} {dice.choice(['none', chr(34) + 'Mile 0' + chr(34)])}",
        f"author {dice.choice(['==', '!=', '~'])} {dice.choice(['Ann', 'bob@y', 'nobody'])}",
        f"created {dice.choice(['>', '<', '>=', '<=', '=='])} 2026-02{dice.choice(['', '-05'])}",
        f"due {dice.choice(['>', '<', '!='])} 2026-02-01",
        f"comments {dice.choice(['=', '>', '<='])} {dice.choice([0, 1])}",
        f"has_comments == {dice.choice(['true', 'no'])}",
        f"kind == {dice.choice(['issue', 'milestone'])}",
        f"text ~ {dice.choice(['WORDS', 'docs', 'nothing'])}",
    ])  # fmt: skip


def test_a_thousand_random_questions_get_the_naive_answer(store: Store):
    dice = random.Random(7)
    world = fill(store, 60, dice)
    for _ in range(1000):
        text = random_filter(dice)
        tree = parse(text).tree
        expected = {e.id for e in world if naive(tree, e, world)}
        found = read_page(store.index, None, text, (), 1000, None, True, NOW)
        assert {row.id for row in found.rows} == expected, text


SORTS: list[list[str]] = [
    [],
    ["updated:desc"],
    ["title", "created:desc"],
    ["status:desc", "comments", "title:desc"],
    ["due"],
]


@pytest.mark.parametrize("sort", SORTS)
def test_pages_put_together_are_the_whole_list_in_order(store: Store, sort: list[str]):
    fill(store, 57, random.Random(3))
    whole = [row.id for row in read_page(store.index, "issue", None, sort, 1000, None, True, NOW).rows]
    assert len(whole) == 57
    seen: list[str] = []
    cursor = None
    while True:
        part = read_page(store.index, "issue", None, sort, 10, cursor, True, NOW)
        seen += [row.id for row in part.rows]
        cursor = part.next_cursor
        if cursor is None:
            break
    assert seen == whole


@pytest.mark.parametrize("sort", SORTS)
def test_a_listing_neither_repeats_nor_skips_while_others_write(store: Store, sort: list[str]):
    dice = random.Random(11)
    fill(store, 60, dice)
    whole = [row.id for row in read_page(store.index, "issue", None, sort, 1000, None, False, NOW).rows]
    seen: list[str] = []
    cursor = None
    while True:
        part = read_page(store.index, "issue", None, sort, 7, cursor, False, NOW)
        seen += [row.id for row in part.rows]
        cursor = part.next_cursor
        if cursor is None:
            break
        with store.transaction() as tx:
            for id_ in dice.sample(whole, 5):
                tx.write(ev.Set, id_, f="title", value=dice.choice("AZmq"))
            tx.write(ev.Set, dice.choice(whole), f="status", value="closed")
            tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="New")
    assert seen == whole


def test_a_cursor_of_another_question_is_refused(store: Store):
    fill(store, 20, random.Random(1))
    first = read_page(store.index, "issue", None, (), 5, None, True, NOW)
    with pytest.raises(QueryFault, match="another filter"):
        read_page(store.index, "issue", "status == open", (), 5, first.next_cursor, True, NOW)


@pytest.mark.parametrize("cursor", ["abc", "AAAA", "[]", "🦄", "W10", "-1"])
def test_a_cursor_that_was_never_given_is_refused(store: Store, cursor: str):
    fill(store, 3, random.Random(1))
    with pytest.raises(QueryFault, match="invalid cursor"):
        read_page(store.index, "issue", None, (), 5, cursor, True, NOW)


def test_the_old_offsets_are_still_understood(store: Store):
    fill(store, 20, random.Random(1))
    whole = [row.id for row in read_page(store.index, "issue", None, (), 100, None, True, NOW).rows]
    assert [r.id for r in read_page(store.index, "issue", None, (), 5, "5", True, NOW).rows] == whole[5:10]
    assert [r.id for r in read_page(store.index, "issue", None, (), 5, "7:10", True, NOW).rows] == whole[10:15]


def test_a_cursor_outlives_the_cache(store: Store, repository: Path):
    fill(store, 20, random.Random(1))
    whole = [row.id for row in read_page(store.index, "issue", None, (), 100, None, True, NOW).rows]
    first = read_page(store.index, "issue", None, (), 5, None, True, NOW)
    store.index.forget()
    store.refresh()
    rest = read_page(store.index, "issue", None, (), 100, first.next_cursor, True, NOW)
    assert [row.id for row in rest.rows] == whole[5:]
