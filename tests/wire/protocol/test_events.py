"""A batch in progress: one answer, in the order of its items, whatever the order in which they end."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from postil.wire.protocol.events import Batch


@given(st.permutations(range(6)), st.sets(st.integers(0, 5), max_size=5))
def test_the_whole_answer_comes_with_the_last_item_and_in_the_order_of_the_items(
    order: list[int], given_up: set[int]
) -> None:
    batch = Batch(6)
    *early, last = [batch.end(at, b"" if at in given_up else b"%d" % at) for at in order]
    assert set(early) == {b""}
    assert msgspec.json.decode(last) == [at for at in range(6) if at not in given_up]
    assert batch.missing == 0


def test_a_batch_of_which_everything_was_given_up_has_no_answer() -> None:
    batch = Batch(2)
    assert (batch.end(0), batch.end(1)) == (b"", b"")
    assert batch.missing == 0
