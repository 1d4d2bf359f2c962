"""How long calls take, counted in buckets: cheap to note, bounded in size, and in the form that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds: a call in memory takes a tenth of the first, one that waits for a pipeline more than the last."""


class Histogram:
    """How many calls took how long."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def note(self, seconds: float) -> None:
        """Count one call."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        """How many calls were counted."""
        return sum(self.counts)

    def lines(self, name: str, labels: str) -> list[str]:
        """Returns the lines of a metric with these labels: buckets in order, sum and count."""
        lines: list[str] = []
        reached = 0
        for bound, count in zip((*BOUNDS, None), self.counts, strict=True):
            reached += count
            lines.append(f'{name}_bucket{{{labels},le="{"+Inf" if bound is None else bound}"}} {reached}')
        return [*lines, f"{name}_sum{{{labels}}} {self.total:.6f}", f"{name}_count{{{labels}}} {reached}"]
