"""Circles are cut at the link made last, and nowhere else."""

from __future__ import annotations

import random

from postil.tracker.state.graph import cut_cycles, find_path


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
