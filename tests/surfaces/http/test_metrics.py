"""What is counted, in the form that Prometheus reads."""

from postil.surfaces.http.metrics import Metrics


def test_every_metric_has_its_type_once_before_its_values() -> None:
    metrics = Metrics()
    metrics.requests = 3
    metrics.refused = {429: 2, 401: 1}
    metrics.sources.append(lambda: {'postil_calls_total{operation="b"}': 2, "postil_kept_bytes": 1.5})
    metrics.sources.append(lambda: {'postil_calls_total{operation="a"}': 7})
    assert metrics.text(streams=4).decode().splitlines() == [
        "# TYPE postil_http_requests_total counter",
        "postil_http_requests_total 3",
        "# TYPE postil_http_refused_total counter",
        'postil_http_refused_total{status="401"} 1',
        'postil_http_refused_total{status="429"} 2',
        "# TYPE postil_http_streams gauge",
        "postil_http_streams 4",
        "# TYPE postil_calls_total counter",
        'postil_calls_total{operation="a"} 7',
        'postil_calls_total{operation="b"} 2',
        "# TYPE postil_kept_bytes gauge",
        "postil_kept_bytes 1.5",
    ]


def test_large_counts_are_written_exactly_and_end_with_a_newline() -> None:
    metrics = Metrics()
    metrics.sources.append(lambda: {"postil_bytes_total": 123_456_789_012_345})
    assert metrics.text().endswith(b"postil_bytes_total 123456789012345\n")
