"""Which issues wait for which: paths, circles and how they are cut. Pure functions over edges."""

from __future__ import annotations

from collections.abc import Iterable

Edge = tuple[str, str]
"""(first, then): the first must be done before the other."""


def find_path(edges: Iterable[Edge], start: str, goal: str) -> list[str] | None:
    """Returns a shortest way along the edges, or None."""
    after: dict[str, list[str]] = {}
    for one, two in edges:
        after.setdefault(one, []).append(two)
    came: dict[str, str] = {start: ""}
    frontier = [start]
    while frontier:
        reached: list[str] = []
        for node in frontier:
            if node == goal:
                way = [node]
                while came[way[-1]]:
                    way.append(came[way[-1]])
                return way[::-1]
            for neighbour in sorted(after.get(node, ())):
                if neighbour not in came:
                    came[neighbour] = node
                    reached.append(neighbour)
        frontier = reached
    return None


def find_cycle_edges(edges: Iterable[Edge]) -> set[Edge]:
    """Returns the edges that lie on some circle, found by taking away ends until none is left."""
    left = set(edges)
    while True:
        starts, ends = {one for one, _ in left}, {two for _, two in left}
        kept = {edge for edge in left if edge[0] in ends and edge[1] in starts}
        if kept == left:
            return kept
        left = kept


def cut_cycles(edges: list[Edge]) -> tuple[list[Edge], list[list[str]]]:
    """Returns the edges without circles, given in the order they were made, and the circles that were cut.

    Concurrent writers can close a circle that none of them saw. The edge made last is ignored, everywhere the same.
    """
    suspects = find_cycle_edges(edges)
    if not suspects:
        return edges, []
    kept: list[Edge] = []
    circles: list[list[str]] = []
    for edge in edges:
        if edge in suspects:
            back = find_path([one for one in kept if one in suspects], edge[1], edge[0])
            if back is not None:
                circles.append([edge[0], *back])
                continue
        kept.append(edge)
    return kept, circles
