"""The echo part as a stdio server: `python -m tests.wire.echo_server`, what the transport's tests run."""

from __future__ import annotations

from postil.core.registry import Registry
from postil.wire.server import UNITED, Face, Server
from postil.wire.transports.stdio import serve
from tests.core.echo import Echo

if __name__ == "__main__":
    face = Face("echo", "1.0.0", UNITED)
    serve(Server(Registry.of([("echo", Echo())], outputs=True), face))
