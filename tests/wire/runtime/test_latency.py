"""How long calls take: buckets that add up, and the form that Prometheus reads."""

from __future__ import annotations

import re

from postil.core.registry import Registry
from postil.surfaces.http.serve import count_calls, time_calls
from postil.wire.runtime.latency import BOUNDS, Histogram
from postil.wire.server import UNITED, Face, Server


def test_every_call_is_in_its_bucket_and_in_all_above() -> None:
    taken = Histogram()
    for seconds in (0.0, BOUNDS[0], BOUNDS[0] * 1.01, 0.3, 1000.0):
        taken.note(seconds)
    lines = taken.lines("m", 'a="b"')
    counts = [int(line.rsplit(" ", 1)[1]) for line in lines if "_bucket" in line]
    assert counts == sorted(counts)
    assert (counts[0], counts[1], counts[-1], taken.count) == (2, 3, 5, 5)
    assert lines[0] == f'm_bucket{{a="b",le="{BOUNDS[0]}"}} 2'
    assert lines[len(BOUNDS)] == 'm_bucket{a="b",le="+Inf"} 5'
    assert lines[-1] == 'm_count{a="b"} 5'
    assert float(re.split(" ", lines[-2])[1]) == round(1000.3 + BOUNDS[0] * 2.01, 6)


def test_calls_are_timed_by_operation_and_outcome_alone() -> None:
    server = Server(Registry.of([]), Face("echo", "1.0.0", UNITED))
    heard: list[tuple[str, str, int]] = []
    assert time_calls(server) == []
    for outcome, code in (("ok", 0), ("ok", 0), ("failed", -32602)):
        server.note_call("list_issues", outcome, code, 0.02)
        heard.append(("list_issues", outcome, code))
    lines = time_calls(server)
    assert lines[0] == "# TYPE postil_call_seconds histogram"
    assert len(lines) == 1 + 2 * (len(BOUNDS) + 3)
    assert 'postil_call_seconds_count{operation="list_issues",outcome="ok"} 2' in lines
    assert count_calls(server) == {
        'postil_calls_total{operation="list_issues",outcome="ok"}': 2,
        'postil_calls_total{operation="list_issues",outcome="failed"}': 1,
    }
