"""The echo part over HTTP in a process of its own: `python -m tests.wire.http_echo_server`. Prints its port."""

from __future__ import annotations

from postil.core.registry import Registry
from postil.surfaces.http.serve import hosts_for, listen, serve
from postil.wire.server import UNITED, Face, Server
from tests.core.echo import Echo

if __name__ == "__main__":
    listener = listen("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    registry = Registry.of([("echo", Echo())], outputs=True)
    serve(Server(registry, Face("echo", "1.0.0", UNITED)), None, hosts_for("127.0.0.1", (), ()), listener)
