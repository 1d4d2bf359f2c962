"""Short names tell comments apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postil.comments.sidecar.short_ids import is_named, is_short, shorten_ids

OURS = st.integers(10**18, 10**19 - 1).map(lambda number: f"c_{number}")
THEIRS = st.uuids(version=4).map(str)


@given(st.sets(OURS | THEIRS, max_size=40))
def test_a_short_name_is_one_of_exactly_one_comment(ids: set[str]) -> None:
    for identity, short in shorten_ids(ids).items():
        assert short == identity or is_short(short)
        assert short == identity or [each for each in ids if is_named(each, short)] == [identity]


def test_a_name_is_no_longer_than_it_must_be() -> None:
    ids = ["c_1730000000000111111", "c_1730000000000222222", "714694ea-d554-4c1d-8b0f-000000000000"]
    assert shorten_ids(ids) == {ids[0]: "1111", ids[1]: "2222", ids[2]: "7146"}
