"""Logs read side by side come in the order of their clocks."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from postil.tracker import events as ev
from postil.tracker.log.format import LogCommit, LogDamaged, Segment
from postil.tracker.log.merge_read import LogSource, merge_in_order

ENTITY = ev.new_entity_id()


def commit(replica: str, clocks: list[int]) -> LogCommit:
    lines = b"".join(
        ev.encode(ev.Set(ent=ENTITY, id=f"{replica}{n}", r=replica, n=n, l=clock, f="title")) + b"\n"
        for n, clock in enumerate(clocks, 1)
    )
    return LogCommit(replica, "", None, 0, len(clocks), max(clocks, default=0), lines)


def refuse(fault: LogDamaged, _: Segment) -> list[bytes]:
    raise AssertionError(fault)


@given(st.lists(st.lists(st.integers(1, 1000), max_size=20), max_size=4))
def test_every_event_comes_once_and_no_clock_goes_back(logs: list[list[int]]):
    sources = [LogSource([], [commit(f"r{i}", sorted(clocks))], refuse) for i, clocks in enumerate(logs)]
    held: list[tuple[str, bytes]] = []
    read = [
        event
        for run in merge_in_order("/nowhere", sources, lambda id_, line: held.append((id_, line)))
        for event, _ in run
    ]
    assert [event.l for event in read] == sorted(clock for clocks in logs for clock in clocks)
    assert len({event.id for event in read}) == len(read) == len(held)


def test_lines_that_are_no_events_are_left_out_and_not_held(tmp_path: Path):
    good = commit("a", [1, 2])
    odd = LogCommit("b", "", None, 0, 1, 9, b"no event\n")
    held: list[bytes] = []
    sources = [LogSource([], [one], refuse) for one in random.Random(1).sample([good, odd], 2)]
    read = [
        event.l for run in merge_in_order(str(tmp_path), sources, lambda _, line: held.append(line)) for event, _ in run
    ]
    assert read == [1, 2]
    assert len(held) == 2
