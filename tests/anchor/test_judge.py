"""How candidates are weighed: best first, no other said to be likelier, and likelihoods are likelihoods."""

from hypothesis import given, settings
from hypothesis import strategies as st

from postil.anchor.evidence import MEASURES
from postil.anchor.judge import (
    FINALISTS,
    GONE,
    RELATIVE,
    SURE,
    compare,
    describe_best,
    judge_again,
    rank,
)
from postil.anchor.model import MOST_CANDIDATES

ROWS = st.lists(
    st.lists(st.floats(0, 1, width=32), min_size=len(MEASURES), max_size=len(MEASURES)), min_size=1, max_size=12
)


def turn(measures: list[list[float]]) -> list[tuple[float, ...]]:
    """The measures of candidates, by measure."""
    return list(zip(*measures, strict=True))


@given(ROWS)
@settings(max_examples=50, deadline=None)
def test_the_first_is_the_likeliest_and_each_place_is_named_once(measures: list[list[float]]) -> None:
    ranked, told = rank(turn(measures))
    chances, places = [chance for chance, _ in ranked], [place for _, place in ranked]
    assert len(ranked) == min(len(measures), MOST_CANDIDATES)
    assert all(0 <= chance <= chances[0] <= 1 for chance in chances)
    assert len(set(places)) == len(places)
    assert set(places) <= set(range(len(measures)))
    assert len(told) == len(describe_best(turn(measures), [(0.0, 0)])) + 1


def test_nothing_is_ranked_where_nothing_is_found() -> None:
    assert rank([]) == ([], [])


@given(ROWS)
@settings(max_examples=50, deadline=None)
def test_only_the_leader_of_a_measure_is_ahead_in_it(measures: list[list[float]]) -> None:
    columns = compare(turn(measures))
    assert {len(column) for column in columns} == {len(measures)}
    assert len(columns) == len(MEASURES) + len(RELATIVE) + 1
    for column in range(len(MEASURES), len(MEASURES) + len(RELATIVE)):
        assert sum(value > 0 for value in columns[column]) <= 1


def test_one_alone_is_ahead_by_all_it_has() -> None:
    columns = compare([[0.5]] * len(MEASURES))
    assert columns[len(MEASURES) : -1] == [[0.5]] * len(RELATIVE)


def test_what_is_told_of_the_best_has_the_same_length_however_many_there_are() -> None:
    measures = [[0.5] * 3] * len(MEASURES)
    one, three = describe_best(measures, [(2.0, 0)]), describe_best(measures, [(99.0, 0), (1.0, 1), (0.0, 2)])
    assert len(one) == len(three)
    assert three[0] == 11.5, "a score is told only so far"


def test_the_borders_leave_room_for_a_person_to_decide() -> None:
    assert 0 < GONE < SURE < 1
    assert FINALISTS >= MOST_CANDIDATES


@given(st.lists(st.floats(-12, 12, width=32), min_size=30, max_size=30))
@settings(max_examples=100, deadline=None)
def test_what_is_judged_again_is_taken_left_to_a_person_or_gone_and_nothing_between(told: list[float]) -> None:
    chance = judge_again(told)
    assert 0 <= chance <= GONE / 2 or GONE <= chance <= SURE - 0.01 or SURE <= chance <= 1
