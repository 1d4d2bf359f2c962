"""The echo tool on Postil's core and wire, started as `postil serve` is: from a catalogue written beforehand."""

from __future__ import annotations

import sys
from pathlib import Path

from postil.core.startup import import_without, prepare

CATALOGUE = Path(__file__).with_name("echo.json")


def make(part: str, group: str) -> object:
    from bench.servers.echo import Echo

    return Echo()


def main() -> int:
    prepare()  # as the executable does
    import msgspec

    from postil.core.catalogue import Catalogue
    from postil.core.registry import Registry
    from postil.wire.server import UNITED, Face, Server

    catalogue = msgspec.json.decode(CATALOGUE.read_bytes(), type=Catalogue)
    server = Server(Registry(catalogue, make), Face("echo", "1", UNITED))
    if "--http" in sys.argv:
        from postil.surfaces.http.serve import hosts_for, listen
        from postil.surfaces.http.serve import serve as serve_http

        listener = listen("127.0.0.1", 0)
        listener.listen()
        print(listener.getsockname()[1], file=sys.stderr, flush=True)
        return serve_http(server, None, hosts_for("127.0.0.1", (), ()), listener)
    import_without("asyncio", "ssl")  # as `postil serve` does
    from postil.wire.transports.stdio import serve

    return serve(server)


if __name__ == "__main__":
    sys.exit(main())
