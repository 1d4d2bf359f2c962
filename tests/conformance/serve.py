"""The fixture as a server: `python -m tests.conformance.serve [--http] [--part echo]`. Test-only: it has no token."""

from __future__ import annotations

import argparse
import sys

from postil.core.registry import Registry
from postil.wire.protocol.task_methods import EXTENSION
from postil.wire.server import UNITED, Face, Server


def main() -> int:
    """Serve the suite's fixture, or the small part of the core's tests, over stdio or HTTP."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", action="store_true", help="HTTP on a free port, printed when it listens")
    parser.add_argument("--part", choices=["fixture", "echo"], default="fixture")
    options = parser.parse_args()
    capabilities = {**UNITED, "prompts": {"listChanged": True}}  # the fixture's prompts do change
    face = Face("postil-conformance", "1.0.0", capabilities, extensions={EXTENSION: {}})
    server = Server(registry(options.part), face)
    if options.http:
        return over_http(server)
    from postil.wire.transports.stdio import serve

    return serve(server)


def over_http(server: Server) -> int:
    from postil.surfaces.http.serve import hosts_for, listen, serve

    listener = listen("127.0.0.1", 0)
    listener.listen()  # so that whoever reads the port can connect at once
    print(listener.getsockname()[1], flush=True)
    return serve(server, None, hosts_for("127.0.0.1", (), ()), listener)


def registry(part: str) -> Registry:
    if part == "echo":
        from tests.core.echo import Echo

        return Registry.of([("echo", Echo())])
    from tests.conformance.fixture import fixture

    return fixture()


if __name__ == "__main__":
    sys.exit(main())
