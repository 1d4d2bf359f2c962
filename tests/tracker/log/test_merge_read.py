"""Logs read side by side come in the order of their clocks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.tracker import events as ev
from postil.tracker.log import merge_read
from postil.tracker.log.format import LogCommit, LogDamaged, Segment
from postil.tracker.log.merge_read import LogSource, merge_in_order
from postil.workspace.git import run_git

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
        for _, event, _ in run
    ]
    assert [event.l for event in read] == sorted(clock for clocks in logs for clock in clocks)
    assert len({event.id for event in read}) == len(read) == len(held)


def test_lines_that_are_no_events_are_left_out_and_not_held(tmp_path: Path):
    good = commit("a", [1, 2])
    odd = LogCommit("b", "", None, 0, 1, 9, b"no event\n")
    held: list[bytes] = []
    sources = [LogSource([], [one], refuse) for one in random.Random(1).sample([good, odd], 2)]
    read = [
        event.l
        for run in merge_in_order(str(tmp_path), sources, lambda _, line: held.append(line))
        for _, event, _ in run
    ]
    assert read == [1, 2]
    assert len(held) == 2


@pytest.mark.parametrize("held", [32 << 20, 1000])
def test_segments_are_read_ahead_and_a_lost_one_among_them_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
):
    monkeypatch.setattr(merge_read, "_MOST_HELD", held)
    root = str(tmp_path)
    run_git(root, "init", "--quiet")
    lost = "1" * 40
    sources: list[LogSource] = []
    for log in range(3):
        segments: list[tuple[str, Segment]] = []
        for at in range(40):
            lines = commit(f"r{log}s{at}", [at * 30 + log + 1, at * 30 + log + 2]).lines
            oid = run_git(root, "hash-object", "-w", "--stdin", input=lines).decode().strip()
            segments.append((f"{log}.{at}", Segment(2 * at, 2, lost if (log, at) == (1, 7) else oid)))
        sources.append(LogSource(segments, [], lambda fault, segment: commit("found", [5000, 5001]).lines.split(b"\n")))
    monkeypatch.setattr(merge_read, "_AT_ONCE", 1 if held == 1000 else 1 << 15)  # an event at a time, or a segment
    held_lines: list[bytes] = []
    runs = merge_in_order(root, sources, lambda _, line: held_lines.append(line))
    read = [(clock, event.l, place) for run in runs for clock, event, place in run]
    assert [clock for clock, _, _ in read] == sorted(own for _, own, _ in read)
    assert len(read) == 3 * 40 * 2
    assert [place for _, _, place in read if place.startswith("1.")] == [
        f"1.{at}" for at in range(40) for _ in range(2) if at != 7
    ]
    assert sources[1].unread == ["1.7"]
    assert len(held_lines) == 2
    assert all(not source.arrived and not source.asked for source in sources)


def test_more_logs_than_git_may_be_asked_for_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(merge_read, "_UNANSWERED", 5)
    root = str(tmp_path)
    run_git(root, "init", "--quiet")
    sources: list[LogSource] = []
    for log in range(12):
        lines = commit(f"r{log}", [log + 1]).lines
        oid = run_git(root, "hash-object", "-w", "--stdin", input=lines).decode().strip()
        sources.append(LogSource([(f"{log}", Segment(0, 1, oid))], [], refuse))
    runs = merge_in_order(root, sources, lambda _, line: None)
    assert [clock for run in runs for clock, _, _ in run] == list(range(1, 13))


def test_lines_that_no_segment_holds_are_decoded_some_at_a_time():
    """All of them as events took thirty times their bytes."""
    source = LogSource([], [commit("a", list(range(1, 2001)))], refuse)
    held: list[bytes] = []
    runs = [[*run] for run in merge_in_order("/nowhere", [source], lambda _, line: held.append(line))]
    assert sum(map(len, runs)) == len(held) == 2000
    assert max(map(len, runs)) < 500
