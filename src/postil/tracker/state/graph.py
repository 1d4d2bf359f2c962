"""Which issues wait for which: paths, circles and how they are cut. Pure functions over edges."""

from __future__ import annotations

import sys
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence

Edge = tuple[str, str]
"""(first, then): the first must be done before the other."""
MOST_STEPS = 1_000_000
"""Steps along edges that circles are looked for with. Only a log that nobody typed takes more."""


def find_path(edges: Iterable[Edge], start: str, goal: str) -> list[str] | None:
    """Returns a shortest way along the edges, or None."""
    after: dict[str, list[str]] = {}
    for one, two in edges:
        after.setdefault(one, []).append(two)
    for some in after.values():
        some.sort()
    return _walk(after, start, goal, sys.maxsize)[0]


def _walk(after: Mapping[str, Sequence[str]], start: str, goal: str, most: int) -> tuple[list[str] | None, int]:
    """Returns a shortest way, or None, and how many steps that took. None is not sure where they are `most` or more."""
    came: dict[str, str] = {start: ""}
    frontier = [start]
    steps = 0
    while frontier and steps < most:
        reached: list[str] = []
        for node in frontier:
            if node == goal:
                way = [node]
                while came[way[-1]]:
                    way.append(came[way[-1]])
                return way[::-1], steps
            neighbours = after.get(node, ())
            steps += 1 + len(neighbours)
            for neighbour in neighbours:
                if neighbour not in came:
                    came[neighbour] = node
                    reached.append(neighbour)
        frontier = reached
    return None, steps


def find_cycle_edges(edges: Iterable[Edge]) -> set[Edge]:
    """Returns the edges that lie on some circle: those between nodes that can reach each other. Linear (Tarjan)."""
    found = set(edges)
    after: dict[str, list[str]] = {}
    for one, two in found:
        after.setdefault(one, []).append(two)
    seen: dict[str, int] = {}
    lowest: dict[str, int] = {}
    group: dict[str, int] = {}
    waiting: list[str] = []
    for start, first in after.items():
        way = [(start, iter(first))] if start not in seen else []
        while way:
            node, left = way[-1]
            if node not in seen:
                seen[node] = lowest[node] = len(seen)
                waiting.append(node)
            for other in left:
                if other not in seen:
                    way.append((other, iter(after.get(other, ()))))
                    break
                if other not in group:
                    lowest[node] = min(lowest[node], seen[other])
            else:
                way.pop()
                if way:
                    lowest[way[-1][0]] = min(lowest[way[-1][0]], lowest[node])
                if lowest[node] == seen[node]:
                    while node not in group:
                        group[waiting.pop()] = seen[node]
    return {(one, two) for one, two in found if group[one] == group[two]}


def cut_cycles(edges: list[Edge], most: int = MOST_STEPS) -> tuple[list[Edge], list[list[str]]]:
    """Returns the edges without circles, given in the order they were made, and the circles that were cut.

    Concurrent writers can close a circle that none of them saw. The edge made last is ignored, everywhere the same;
    and after so many steps each that may close one, which is then told by its two ends.
    """
    suspects = find_cycle_edges(edges)
    if not suspects:
        return edges, []
    kept: list[Edge] = []
    circles: list[list[str]] = []
    after: dict[str, list[str]] = {}
    for edge in edges:
        if edge in suspects:
            back, steps = _walk(after, edge[1], edge[0], most)
            most -= steps
            if back is not None or most <= 0:
                circles.append([edge[0], *(back or [edge[1]])])
                continue
            insort(after.setdefault(edge[0], []), edge[1])
        kept.append(edge)
    return kept, circles
