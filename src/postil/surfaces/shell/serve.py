"""`postil serve`: over stdio, or over HTTP. Which parts, which tools, and how it introduces itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from postil.surfaces.shell.argv import Globals

if TYPE_CHECKING:
    from postil.surfaces.composition import Compose
    from postil.wire.transports.timeouts import Timeouts

FACES = {
    "inbox": "lazygit-mcp-bridge",
    "comments": "paired-comments-mcp-server",
    "tracker": "git-mile",
}
"""The parts that, served alone, are exactly one old contract."""


def serve(words: list[str], program: str, compose: Compose, options: Globals) -> int:
    """Serve one client on stdin and stdout until it ends, or many over HTTP until a signal does."""
    from postil.settings.load import load

    given = _given(words, program) if words else {}
    settings = load(flags={**options.flags, **_layer(given)}, file=given.get("config", options.config))
    for warning in settings.warnings:
        from postil.surfaces.shell.output import warn

        warn(warning)
    alone = given["parts"][0] if len(given.get("parts", ())) == 1 else ""
    composed = compose(settings)
    if alone == "tracker" and program == "postil":
        alone = ""  # its contract is `git mile mcp-server`'s; here people want to write as well
    server = composed.server(alone if alone in FACES else "", over_http="address" in given)
    if "address" in given:
        from postil.surfaces.http.serve import run as serve_http  # uvicorn and uvloop, for this alone

        serve_http(server, composed, given.get("idle", 0.0))
    if program == "postil" and not alone:
        _tell_person()
    from postil.core.startup import end_start, import_without

    import_without("asyncio", "ssl")  # 9 ms; only GitLab is spoken to by TLS, and asks for it
    from postil.wire.transports.stdio import serve as serve_stdio

    end_start()
    if not settings.telemetry.traces:
        return serve_stdio(server, _timeouts(given))
    from postil.surfaces.tracing import open_tracing  # OpenTelemetry, for this alone
    from postil.wire.server import Hooks

    tracing = open_tracing(settings.telemetry.traces)
    assert tracing is not None
    try:
        return serve_stdio(server.with_hooks(Hooks(trace=tracing.run)), _timeouts(given))
    finally:
        tracing.close()


def _tell_person() -> None:
    """Say on a terminal what is waited for: a person who types the command alone would see nothing at all."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("Waiting for an assistant on standard input. `postil init` lets yours start this by itself;\n")
        sys.stderr.write("`postil serve --http` serves many, `postil open` shows the page. Ctrl-C ends it.\n")


def _timeouts(given: dict[str, Any]) -> Timeouts | None:
    """Returns how long to wait for the client and what to log, where a flag says so."""
    asked = {name: given[name] for name in ("handshake", "idle", "level") if name in given}
    if not asked:
        return None
    from postil.wire.transports.timeouts import Timeouts

    return Timeouts(**asked)


def _layer(given: dict[str, Any]) -> dict[str, Any]:
    """Returns the flags as settings. `--http` alone leaves the address to the settings."""
    layer = {
        name: given[name]
        for name in ("parts", "read_only", "allow_tools", "deny_tools", "toolsets", "structured")
        if name in given
    }
    http = {name: given[name] for name in ("address", "auth", "tls_cert", "tls_key", "behind_proxy") if given.get(name)}
    return {**layer, "http": http} if http else layer


def _given(words: list[str], program: str) -> dict[str, Any]:
    """Returns the flags, as a layer of settings."""
    import argparse  # a server started without flags does not pay for it

    from postil.surfaces.shell.commands import Usage, near
    from postil.surfaces.shell.flags import Parser
    from postil.surfaces.shell.serve_flags import PARTS, add_stdio_flags

    parser = Parser(
        prog={"postil": "postil serve", "git mile": "git mile mcp-server"}.get(program, program),
        description="Serve assistants over stdio, or with --http over HTTP",
        argument_default=argparse.SUPPRESS,
    )
    add_stdio_flags(parser)
    parser.add_argument(
        "--http", nargs="?", const="", dest="address", metavar="HOST:PORT", help="default 127.0.0.1:3000; endpoint /mcp"
    )
    parser.add_argument(
        "--auth", choices=("local", "pat", "key", "oauth"), help="how callers over HTTP prove who they are"
    )
    parser.add_argument("--tls-cert", dest="tls_cert", metavar="FILE", help="serve HTTPS with this certificate")
    parser.add_argument("--tls-key", dest="tls_key", metavar="FILE", help="the certificate's key")
    parser.add_argument(
        "--behind-proxy", action="store_true", dest="behind_proxy", help="HTTPS is spoken by a proxy in front"
    )
    if program == "git mile":
        parser.add_argument(
            "--protocol", choices=("v1",), help="the contract's protocol, 2024-11-05: there is no other"
        )
    parser.add_argument("--config", metavar="FILE", help="use this settings file")
    given = vars(parser.parse_args(words))
    if "address" in given and given.keys() & {"handshake", "level"}:
        raise Usage("--handshake-timeout and --log-level speak of stdio", advice="Leave out --http")
    for part in given.get("parts", ()):
        if part not in PARTS:
            raise Usage(f"There is no part {part!r}{near(part, PARTS)}", advice=f"Parts are {', '.join(PARTS)}")
    return given
