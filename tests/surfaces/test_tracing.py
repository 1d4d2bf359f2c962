"""Spans of calls, as the real SDK of OpenTelemetry takes them, and the trace that is passed on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from postil.core import call
from postil.core.operation import reads
from postil.settings.model import BadSettings
from postil.surfaces.tracing import Tracing, open_tracing
from tests.core.echo import Counted
from tests.wire.http_client import META, Running, request, running

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


class Asking:
    """An operation that asks elsewhere."""

    def __init__(self) -> None:
        self.sent: Mapping[str, str] = {}

    @reads("passes_on")
    async def passes_on(self) -> Counted:
        """Remember which headers would be sent along"""
        self.sent = dict(call.current().trace)
        return Counted(1)


ASKING = Asking()
EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    with running(gitlab=ASKING, trace=Tracing(provider).run) as server:
        yield server


@pytest.fixture(autouse=True)
def forget() -> None:
    EXPORTER.clear()


def only_span() -> Any:
    (span,) = EXPORTER.get_finished_spans()
    return span


@pytest.mark.parametrize("where", ["header", "_meta"])
def test_a_call_is_a_span_of_its_clients_trace(server: Running, where: str) -> None:
    meta = {**META, "traceparent": PARENT} if where == "_meta" else META
    headers = {"traceparent": PARENT} if where == "header" else {}
    answer = server.call("tools/call", {"name": "passes_on", "_meta": meta}, **headers)
    assert answer.status == 200
    span = only_span()
    assert (span.name, span.kind) == ("tools/call passes_on", SpanKind.SERVER)
    assert f"{span.parent.span_id:016x}" == SPAN
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.attributes["gen_ai.tool.name"] == "passes_on"
    assert span.attributes["mcp.protocol.version"] == "2026-07-28"
    assert ASKING.sent["traceparent"] == f"00-{TRACE}-{span.context.span_id:016x}-01"


def test_a_failure_is_told_without_its_words(server: Running) -> None:
    server.call("tools/call", {"name": "fail", "arguments": {"what": "private words"}})
    span = only_span()
    assert span.status.status_code == StatusCode.ERROR
    assert span.attributes["error.type"] == "NotFound"
    assert "private words" not in span.to_json()
    assert not span.events


def test_a_call_without_a_trace_begins_one(server: Running) -> None:
    server.call("tools/call", {"name": "total", "_meta": {**META, "traceparent": "nonsense"}})
    assert only_span().parent is None


@pytest.mark.parametrize("where", ["header", "_meta"])
def test_without_spans_the_trace_is_passed_on_as_it_came(where: str) -> None:
    asking = Asking()
    with running(gitlab=asking) as server:
        meta = {**META, "traceparent": PARENT, "tracestate": "a=b"} if where == "_meta" else META
        headers = {"traceparent": PARENT, "tracestate": "a=b"} if where == "header" else {}
        server.call("tools/call", {"name": "passes_on", "_meta": meta}, **headers)
        assert asking.sent == {"traceparent": PARENT, "tracestate": "a=b"}
        server.post(request("tools/call", {"name": "passes_on"}))
        assert asking.sent == {}


def test_the_setting_makes_spans_or_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_tracing("") is None
    tracing = open_tracing("otlp")
    assert tracing is not None
    tracing.close()
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(BadSettings, match="not installed"):
        open_tracing("otlp")


def test_a_server_without_the_setting_never_imports_it(tmp_path: Path) -> None:
    sent = json.dumps(request("tools/call", {"name": "workspace_info", "_meta": {"traceparent": PARENT}})) + "\n"
    code = (
        "import sys; from postil.surfaces.shell.main import main\n"
        "sys.argv = ['postil', 'serve']\n"
        "try: main()\n"
        "finally: assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input=sent, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert json.loads(ran.stdout)["id"] == 1
    assert "AssertionError" not in ran.stderr
