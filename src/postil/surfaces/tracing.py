"""Spans of OpenTelemetry: one for every call, child of the trace that its client named. The extra `telemetry`.

A span says which operation was called and how that ended, never an argument, an answer or a person's words. Where spans
go is OpenTelemetry's own business: its SDK reads `OTEL_EXPORTER_OTLP_ENDPOINT` and its other variables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from postil import __version__
from postil.core.failure import Failure, describe_install
from postil.settings.model import BadSettings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from postil.wire.runtime.wire_call import WireCall
    from postil.wire.runtime.work import Do


class Tracing:
    """Makes the spans of one server."""

    def __init__(self, provider: TracerProvider) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("postil", __version__)
        self._propagator = TraceContextTextMapPropagator()

    async def run(self, call: WireCall, do: Do) -> object:
        """Do the work of a call inside a span."""
        from opentelemetry.trace import SpanKind, StatusCode

        parent = self._propagator.extract(dict(call.trace))
        with self._tracer.start_as_current_span(
            _name(call),
            context=parent,
            kind=SpanKind.SERVER,
            attributes=_describe(call),
            record_exception=False,  # what it says may be somebody's words
            set_status_on_exception=False,
        ) as span:
            carrier: dict[str, str] = {}
            self._propagator.inject(carrier)
            call.trace = carrier
            try:
                return await do(call)
            except BaseException as fault:
                span.set_attribute("error.type", type(fault).__name__)
                if isinstance(fault, Failure):
                    span.set_attribute("rpc.response.status_code", str(fault.code))
                span.set_status(StatusCode.ERROR)
                raise

    def close(self) -> None:
        """Send what waits to be sent."""
        self._provider.shutdown()


def _name(call: WireCall) -> str:
    work = call.work
    return f"{work.request.method} {work.entry.name}" if work.entry is not None else work.request.method


def _describe(call: WireCall) -> dict[str, Any]:
    work = call.work
    described: dict[str, Any] = {
        "mcp.method.name": work.request.method,
        "mcp.protocol.version": work.era.version,
        "jsonrpc.request.id": str(work.request.id),
        "network.transport": "tcp" if call.caller.surface == "http" else "pipe",
    }
    if work.entry is not None:
        described |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": work.entry.name}
    return described


def open_tracing(traces: str) -> Tracing | None:
    """Returns what makes spans, as the settings want it. Raises BadSettings where the extra is missing."""
    if not traces:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise BadSettings(
            "telemetry.traces needs OpenTelemetry, which is not installed",
            advice=f"{describe_install('telemetry')}, or leave the setting out",
        ) from missing
    named = Resource.create({"service.name": "postil", "service.version": __version__})
    provider = TracerProvider(resource=named)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
