"""Sums of trees, all trees at once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from postil.anchor.weights.forest import Forest, Trees
from scripts.forest import Tree, plant

TREES: list[Tree] = [
    (0, 0.5, (1, 2.0, -0.25, 0.5), 0.125),
    (1, 2.0, 0.75, (0, 0.25, -1.0, (2, 0.0, 0.001, 0.002))),
    (2, -1.0, 0.5, -0.5),
    0.25,
]
ROWS = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.3, 0.5, 0.7, 2.0, 3.0]), min_size=3, max_size=3)


def walk(tree: Tree, row: list[float]) -> float:
    while isinstance(tree, tuple):
        feature, border, left, right = tree
        tree = left if row[feature] <= border else right
    return tree


def forest(trees: list[Tree]) -> Forest:
    return Forest(Trees(*plant(trees)))


@given(ROWS)
@settings(max_examples=200, deadline=None)
def test_a_row_is_worth_what_walking_the_trees_says(row: list[float]) -> None:
    asked = forest(TREES)
    assert asked.add(asked.narrow(row)) == round(sum(walk(tree, row) for tree in TREES), 3)


@given(st.lists(ROWS, min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_rows_together_leave_what_each_leaves(rows: list[list[float]]) -> None:
    asked = forest(TREES)
    assert asked.narrow_all(list(zip(*rows, strict=True))) == [asked.narrow(row) for row in rows]


@given(ROWS, st.integers(0, 3))
@settings(max_examples=100, deadline=None)
def test_what_is_told_in_two_pieces_leaves_the_same(row: list[float], cut: int) -> None:
    asked = forest(TREES)
    assert asked.narrow(row[:cut]) & asked.narrow(row[cut:], cut) == asked.narrow(row)


@given(ROWS)
@settings(max_examples=100, deadline=None)
def test_the_first_trees_add_up_what_all_narrowed(row: list[float]) -> None:
    asked, first = forest(TREES), Trees(*plant(TREES[:2]))
    assert asked.begin(first.leaves, first.least).add(asked.narrow(row)) == round(
        sum(walk(tree, row) for tree in TREES[:2]), 3
    )
