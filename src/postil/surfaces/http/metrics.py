"""What is counted, in the text form that Prometheus reads. Counters are plain integers: counting must cost nothing."""

from __future__ import annotations

from collections.abc import Callable


class Metrics:
    """The counts of one process."""

    def __init__(self) -> None:
        self.requests = 0
        self.refused: dict[int, int] = {}
        self.sources: list[Callable[[], dict[str, float]]] = []
        """Others who count: each answers names and values."""
        self.timed: list[Callable[[], list[str]]] = []
        """Others who measure times: each answers whole lines."""

    def text(self, **gauges: int) -> bytes:
        """Returns all of it."""
        lines = ["# TYPE postil_http_requests_total counter", f"postil_http_requests_total {self.requests}"]
        lines.append("# TYPE postil_http_refused_total counter")
        lines += [f'postil_http_refused_total{{status="{status}"}} {n}' for status, n in sorted(self.refused.items())]
        for name, value in gauges.items():
            lines += [f"# TYPE postil_http_{name} gauge", f"postil_http_{name} {value}"]
        counted = sorted(pair for source in self.sources for pair in source().items())
        described = ""
        for name, value in counted:
            metric = name.partition("{")[0]
            if metric != described:  # once for all of its labels
                described = metric
                lines.append(f"# TYPE {metric} {'counter' if metric.endswith('_total') else 'gauge'}")
            lines.append(f"{name} {value:.15g}")
        lines += [line for measured in self.timed for line in measured()]
        return ("\n".join(lines) + "\n").encode("ascii")
