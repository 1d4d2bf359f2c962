"""Circles are cut at the link made last, and nowhere else."""

from __future__ import annotations

import random
from itertools import pairwise

from postil.tracker.state.graph import cut_cycles, find_cycle_edges, find_path


def reachable(edges: list[tuple[str, str]], start: str) -> set[str]:
    seen: set[str] = set()
    stack = [start]
    while stack:
        for one, two in edges:
            if one == stack[-1] and two not in seen:
                seen.add(two)
                stack.append(two)
                break
        else:
            stack.pop()
    return seen


def test_cutting_leaves_no_circle_and_drops_no_edge_without_need():
    dice = random.Random(5)
    for _ in range(300):
        nodes = "abcdef"
        edges = list(dict.fromkeys((dice.choice(nodes), dice.choice(nodes)) for _ in range(dice.randrange(12))))
        kept, circles = cut_cycles(edges)
        assert all(node not in reachable(kept, node) for node in nodes)
        assert len(kept) + len(circles) == len(edges)
        for edge in set(edges) - set(kept):
            assert edge[0] == edge[1] or find_path(kept, edge[1], edge[0]) is not None


class Counted(str):
    """A node that counts how often one like it is looked up."""

    __slots__ = ()
    looked = 0

    def __hash__(self) -> int:
        Counted.looked += 1
        return super().__hash__()


def test_chains_and_rings_of_any_length_are_looked_through_once():
    names = [Counted(number) for number in range(2000)]
    for closed, edges in ((0, [*pairwise(names)]), (2000, [*pairwise(names), (names[-1], names[0])])):
        Counted.looked = 0
        assert len(find_cycle_edges(edges)) == closed
        assert Counted.looked < 50 * len(edges)
    Counted.looked = 0
    kept, circles = cut_cycles([*pairwise(names), (names[-1], names[0])])
    assert (len(kept), circles) == (1999, [[names[-1], *names]])
    assert Counted.looked < 50 * len(names)


def test_what_takes_too_many_steps_is_cut_without_a_look():
    names = [f"{number:03}" for number in range(300)]
    edges = [*reversed([*pairwise(names), (names[-1], names[0])])]
    kept, circles = cut_cycles(edges, most=1000)
    assert len(kept) + len(circles) == len(edges)
    assert all(len(circle) == 2 for circle in circles)
    assert cut_cycles(kept) == (kept, [])
    assert cut_cycles(edges)[1] == [[names[0], *names[1:], names[0]]]
