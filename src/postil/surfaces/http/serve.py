"""Serving over HTTP: the address, the way to authenticate, and the process that serves until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from postil.core.failure import Failure, InvalidArguments
from postil.surfaces.gateway.compose import Route, compose
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.http.app import HttpApp
from postil.surfaces.http.cors import Cors
from postil.surfaces.http.hosts import LOOPBACK, Hosts, check_hosts, is_loopback, split_address
from postil.surfaces.http.metrics import Metrics
from postil.surfaces.http.workspaces import Room, Workspaces
from postil.surfaces.setup.clients import http_snippets
from postil.wire.runtime.room import return_large_blocks
from postil.wire.server import Hooks, Server

if TYPE_CHECKING:
    from postil.settings.model import Settings
    from postil.surfaces.composition import Composition
    from postil.surfaces.http.access_log import AccessLog
    from postil.surfaces.http.server import HttpServer
    from postil.surfaces.page.site import Site
    from postil.surfaces.tracing import Tracing

SWITCH = 0.0002
"""Seconds that a thread at work keeps the interpreter while others want it: the event loop is one of them.

A thread that reads files gives it back often, and waits for it as often."""


class CannotListen(Failure):
    """The address cannot be listened on."""

    exit_status = 4


class NoAddress(InvalidArguments):
    """What was given is nowhere to listen."""

    def __init__(self, given: str) -> None:
        super().__init__(
            f"{given!r} is no address of this machine: it has no such IP address or name",
            advice="Give --http HOST:PORT, such as 127.0.0.1:3000, [::1]:3000 or :3000",
        )


def listen(host: str, port: int) -> socket.socket:
    """Returns a bound socket, so that the port is known before anyone can connect."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol by name: asyncio turns Nagle's delay off only where it sees that this is TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise CannotListen(
            f"Cannot listen on {host}:{port}: {error.strerror}", advice="Choose another address with --http HOST:PORT"
        ) from error
    return listener


def hosts_for(host: str, names: Iterable[str], origins: Iterable[str], fronted: Iterable[str] = ()) -> Hosts:
    """Returns the names that a server bound to this address answers to."""
    own = f"[{host}]" if ":" in host else host
    return Hosts([*LOOPBACK, own, *names], origins, fronted)


def warn_of_names(host: str, names: Iterable[str], *, behind_proxy: bool) -> str:
    """Returns what to say where others reach this server by a name that it does not know; nothing where all is well."""
    if any(names) or (is_loopback(host) and not behind_proxy):
        return ""
    own = "" if host in ("0.0.0.0", "::") else f" and {host}"  # noqa: S104 - told apart, not bound
    return (
        f"http.allowed_hosts is empty: requests for any other name than localhost{own} are refused (403). "
        "Name this server as its callers do: POSTIL_ALLOWED_HOSTS=postil.example.org"
    )


def warn_of_state(composed: Composition) -> str:
    """Returns what to say where replicas do not share their limits, or where what they share is not reached."""
    if composed.is_shared and not composed.settings.ephemeral_address:
        return "POSTIL_EPHEMERAL names no Redis: limits, nonces and sessions are each replica's own"
    try:
        composed.state_operations.check_ephemeral()
    except Failure as away:
        return away.message
    return ""


def say_address(url: str, token: str) -> None:
    """Say where it serves, once nothing can refuse the start any more; of a local server also how to reach it."""
    say(f"serving {url}")
    if not token:
        return
    say(f"token {token}")
    say("it ends with this process; for one that lasts, `postil key create NAME --workspace` and serve --auth key")
    for whom, snippet in http_snippets(url):
        say(f"for {whom}:\n  {snippet}")


def run(server: Server, composed: Composition, idle: float = 0.0) -> NoReturn:
    """Serve over HTTP until a signal ends it; then the process ends, with 128 and the signal's number.

    Also after `idle` seconds without a request and without an open page, if that is not 0.
    """
    settings = composed.settings
    http = settings.http
    try:
        host, port = split_address(http.address)
    except ValueError:
        raise NoAddress(http.address) from None
    check_name(host, http.address)
    check_reach(host, settings)
    composed.state_operations.require_durable()
    check_hosts(http.allowed_hosts)
    cors = Cors(http.cors_origins)
    token = secrets.token_urlsafe(24)
    guard = compose(composed, token)
    tls = tls_options(settings)
    log = open_log(settings)
    listener = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"{'https' if tls else 'http'}://{shown}:{listener.getsockname()[1]}/mcp"
    peer = urlsplit(http.peer_address).netloc
    names = (*http.allowed_hosts, *guard.hosts, *([peer] if peer else []))
    origins = (*http.allowed_origins, *http.cors_origins, *guard.origins)
    hosts = hosts_for(host, names, origins, http.allowed_hosts)
    note_call = None
    if log is not None:
        from postil.surfaces.http.access_log import note_call
    tracing = open_traces(settings)
    hooks = Hooks(
        trace=tracing.run if tracing is not None else None,
        note_call=note_call,
        witness=composed.state_operations.audit(),
        page_for=guard.page_for,
        shared=composed.ephemeral() if settings.ephemeral_address else None,
    )
    base = url.removesuffix("/mcp")
    own = "" if host in ("0.0.0.0", "::") else base  # noqa: S104 - told apart, not bound
    server = server.with_hooks(hooks)
    if not server.face.contract:
        server = server.with_website(website_of(settings, own))
    workspaces = compose_workspaces(composed, server, hooks, http.peer_address or own)
    is_local = http.auth in ("", "local")
    say_address(url, token if is_local else "")
    for sentence in (
        *guard.warnings,
        warn_of_names(host, names, behind_proxy=http.behind_proxy),
        warn_of_state(composed),
    ):
        if sentence:
            say(f"warning: {sentence}")
    composed.state_operations.tell_outages(say)
    page = open_page(server, composed, guard.gateway, token if is_local else "", base)
    from postil.surfaces.page.running_server import Running, drop_note, write_note

    if is_local:
        write_note(settings, Running(os.getpid(), base, token))

    def at_end() -> None:
        if is_local:
            drop_note(settings, os.getpid())
        composed.state_operations.finish_writes(2.0)
        if tracing is not None:
            tracing.close()

    composed.state_operations.remove_leftovers()  # last: a refused start must not end beside a thread at work
    serve(
        server,
        guard.gateway,
        hosts,
        listener,
        routes=guard.routes,
        tls=tls,
        counts=composed.counts,
        check_writable=composed.state_operations.check_writable,
        cors=cors,
        two_addresses=http.sse,
        log=log,
        at_end=at_end,
        page=page,
        idle=idle,
        workspaces=workspaces,
    )


def website_of(settings: Settings, own: str) -> str:
    """Returns the address of the page as people reach it, where that is known; `own` is the one that is listened on."""
    if settings.website:
        return settings.website
    if settings.oauth.resource:
        named = urlsplit(settings.oauth.resource)
        return f"{named.scheme}://{named.netloc}/"
    http = settings.http
    if http.behind_proxy or http.trusted_proxies:  # it speaks HTTPS, and hands on the name that it was called by
        return f"https://{http.allowed_hosts[0]}/" if len(http.allowed_hosts) == 1 else ""
    return f"{own}/" if own else ""


def open_page(server: Server, composed: Composition, gateway: Gateway, token: str, base: str) -> Site:
    """Returns the web page of this server, and says where it is: for the local user an address that works once."""
    from postil.surfaces.page.browser_sessions import BrowserSessions
    from postil.surfaces.page.shared_sessions import share_sessions
    from postil.surfaces.page.site import Site  # beside `serve` over HTTP nobody needs it

    settings = composed.settings
    is_local = settings.http.auth in ("", "local")
    sessions = share_sessions(composed) if settings.ephemeral_address and not is_local else BrowserSessions()
    page = Site(
        server.narrow(composed.registry(brought=not is_local)),
        gateway,
        sessions,
        composed.ephemeral(),
        token,
        greet=lambda address: say(f"page {base}{address}"),
    )
    say(f"page {base}{asyncio.run(page.invite()) if token else '/'}")
    return page


def open_traces(settings: Settings) -> Tracing | None:
    """Returns what makes spans of calls, where the settings say so."""
    if not settings.telemetry.traces:
        return None
    from postil.surfaces.tracing import open_tracing  # OpenTelemetry, for this alone

    return open_tracing(settings.telemetry.traces)


def compose_workspaces(composed: Composition, server: Server, hooks: Hooks, address: str) -> Workspaces | None:
    """Returns the workspaces of the settings, which replicas forward to this address; None where there are none."""
    settings = composed.settings
    if not settings.workspaces:
        return None
    if not address and any(each.remote for each in settings.workspaces.values()):
        raise CannotListen(
            "Other replicas do not know where to reach this one: it listens on every address",
            advice="Name one as http.peer_address (POSTIL_PEER_ADDRESS), such as http://10.0.0.5:3000",
        )
    served = composed.workspaces(hooks, address)
    rooms = {name: Room(served[name], each) for name, each in settings.workspaces.items()}
    from postil import secret

    key = secret.subkey(secret.load(settings), "forwarding")
    return Workspaces(rooms, key, server.registry.find)


def check_name(host: str, address: str) -> None:
    """Raises NoAddress for a name that nobody knows: what is said about its reach would mislead."""
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise NoAddress(address) from None


def check_reach(host: str, settings: Settings) -> None:
    """Refuse to be reached from other machines without a named way to know who asks, and without HTTPS.

    A proxy in front reaches this one from loopback too, so it must have a name wherever we listen.
    """
    http = settings.http
    if http.behind_proxy and not http.trusted_proxies:
        raise CannotListen(
            "Will not listen behind a proxy that has no name: every caller would have the proxy's address",
            advice="Name the proxy's address in http.trusted_proxies, or as POSTIL_TRUSTED_PROXIES",
        )
    if is_loopback(host):
        return
    if settings.http.auth in ("", "local"):
        raise CannotListen(
            f"Will not listen on {host}, beyond this machine, without a way to know who asks",
            advice="Add --auth pat, key or oauth, or listen on 127.0.0.1",
        )
    if not (http.tls_cert or http.tls_key or http.trusted_proxies or http.behind_proxy):
        raise CannotListen(
            f"Will not listen on {host}, beyond this machine, without HTTPS: others on the way could read tokens",
            advice="Give --tls-cert and --tls-key, or say --behind-proxy if a proxy in front speaks HTTPS",
        )


def tls_options(settings: Settings) -> dict[str, Any]:
    """Returns the certificate and its key for uvicorn; nothing where a proxy speaks HTTPS for us."""
    cert, key = settings.http.tls_cert, settings.http.tls_key
    if not cert and not key:
        return {}
    if not (cert and key):
        raise CannotListen("HTTPS needs both a certificate and its key", advice="Give --tls-cert and --tls-key")
    import ssl

    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise CannotListen(
            f"The certificate {cert} or its key {key} cannot be used: {error}", advice="Both are PEM files"
        ) from error
    return {"ssl_certfile": cert, "ssl_keyfile": key}


def count_calls(server: Server) -> dict[str, float]:
    """Returns how often each operation was called, for the metrics."""
    made = server.calls.items()
    return {f'postil_calls_total{{operation="{n}",outcome="{o}"}}': taken.count for (n, o), taken in made}


def time_calls(server: Server) -> list[str]:
    """Returns how long calls took, for the metrics: of each operation and outcome."""
    lines: list[str] = []
    for (name, outcome), taken in sorted(server.calls.items(), key=lambda pair: pair[0]):
        lines += taken.lines("postil_call_seconds", f'operation="{name}",outcome="{outcome}"')
    return ["# TYPE postil_call_seconds histogram", *lines] if lines else []


def open_log(settings: Settings) -> AccessLog | None:
    """Returns the access log, where the settings want one."""
    if not settings.http.access_log:
        return None
    from postil import secret
    from postil.surfaces.http.access_log import AccessLog

    key = secret.subkey(secret.load(settings), "access-log")
    return AccessLog(os.path.expanduser(settings.http.access_log), key)


def say(sentence: str) -> None:
    """Tell the person who started the server."""
    sys.stderr.write(f"postil: {sentence}\n")
    sys.stderr.flush()


def serve(
    server: Server,
    gateway: Gateway | None,
    hosts: Hosts,
    listener: socket.socket,
    *,
    routes: Mapping[str, Route] | None = None,
    tls: dict[str, Any] | None = None,
    counts: Callable[[], dict[str, float]] | None = None,
    check_writable: Callable[[], None] | None = None,
    cors: Cors | None = None,
    two_addresses: bool = False,
    log: AccessLog | None = None,
    at_end: Callable[[], None] | None = None,
    page: Site | None = None,
    idle: float = 0.0,
    workspaces: Workspaces | None = None,
) -> NoReturn:
    """Serve on a bound socket until a signal ends it; then the process ends."""
    from postil.core.startup import end_start
    from postil.surfaces.http.server import HttpServer, raise_file_limit

    raise_file_limit()
    sys.setswitchinterval(SWITCH)
    end_start()

    async def main() -> int:
        metrics = Metrics()
        metrics.sources.append(lambda: count_calls(server))
        metrics.timed.append(lambda: time_calls(server))
        counting = [getattr(each, "counts", None) for each in (gateway, *(routes or {}).values())]
        metrics.sources += [source for source in (*counting, counts) if source is not None]
        app = HttpApp(
            server,
            gateway=gateway,
            hosts=hosts,
            routes=routes,
            metrics=metrics,
            check_writable=check_writable,
            cors=cors,
            two_addresses=two_addresses,
            page=page,
            log=log,
            workspaces=workspaces,
        )
        return_large_blocks()
        running = HttpServer(app, **(tls or {}))
        ending = asyncio.create_task(_end_when_idle(app, running, idle)) if idle else None
        await running.serve(sockets=[listener])
        if ending is not None:
            ending.cancel()
        return 128 + running.ended_by if running.ended_by else 0

    status = _run(main())
    if at_end is not None:
        at_end()
    if log is not None:
        log.close()
    sys.stderr.flush()
    os._exit(status)  # a thread that never ends must not keep the process alive


async def _end_when_idle(app: HttpApp, running: HttpServer, seconds: float) -> None:
    """End the server when nobody has asked for anything for so long, and nothing is open."""
    while not running.should_exit:
        await asyncio.sleep(min(30.0, seconds / 4))
        if app.idle_for() >= seconds:
            running.end()


def _run(serving: Coroutine[Any, Any, int]) -> int:
    """Run the server on uvloop where the extra `gateway` is installed, else on asyncio's own loop."""
    try:
        import uvloop  # with the server, only where HTTP is served
    except ImportError:
        return asyncio.run(serving)
    return uvloop.run(serving)
