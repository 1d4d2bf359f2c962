"""Serving over HTTP: the address, the way to authenticate, and the process that serves until a signal ends it."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from postil.core.failure import Failure
from postil.surfaces.gateway.audit import AuditLog
from postil.surfaces.gateway.compose import compose, gitlab_links, read_secret
from postil.surfaces.http.app import Door, HttpApp, Route
from postil.surfaces.http.hosts import LOOPBACK, Hosts, is_loopback, split_address
from postil.surfaces.http.metrics import Metrics
from postil.surfaces.setup.clients import http_snippets
from postil.wire.server import Server
from postil.wire.transports.http.endpoint import Receive, Scope, Send, respond
from postil.wire.transports.http.headers import Headers

if TYPE_CHECKING:
    from postil.settings.model import Settings
    from postil.surfaces.composition import Composition
    from postil.surfaces.gateway.gitlab_link import GitLabLinks


class CannotListen(Failure):
    """The address cannot be listened on."""

    exit_status = 4


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that the port is known before anyone can connect."""
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


def hosts_for(host: str, names: Iterable[str], origins: Iterable[str]) -> Hosts:
    """The names a server bound to this address answers to."""
    own = f"[{host}]" if ":" in host else host
    return Hosts([*LOOPBACK, own, *names], origins)


def run(server: Server, composed: Composition) -> NoReturn:
    """Serve over HTTP until a signal ends it; then the process ends, with 128 and the signal's number."""
    settings = composed.settings
    http = settings.http
    try:
        host, port = split_address(http.address)
    except ValueError as wrong:
        raise CannotListen(f"Cannot listen: {wrong}", advice="Give --http HOST:PORT") from None
    check_reach(host, settings)
    token = secrets.token_urlsafe(24)
    links = gitlab_links(composed)
    door, said = compose(composed, token, links)
    tls = tls_options(settings)
    listener = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"{'https' if tls else 'http'}://{shown}:{listener.getsockname()[1]}/mcp"
    say(f"serving {url}")
    if http.auth in ("", "local"):
        say(f"token {token}")
        for whom, snippet in http_snippets(url, token):
            say(f"for {whom}:\n  {snippet}")
    for sentence in said:
        say(f"warning: {sentence}")
    names, origins = http.allowed_hosts, http.allowed_origins
    if links is not None:
        # People open our page there; a proxy that speaks HTTPS makes the browser's origin another than what we see.
        own = urlsplit(settings.oauth.resource)
        names, origins = (*names, own.netloc), (*origins, f"{own.scheme}://{own.netloc}")
        server.page_for = lambda caller, what: links.address(caller) if what == "gitlab" else ""
    hosts = hosts_for(host, names, origins)
    server.witness = AuditLog(composed.state_database).write
    if composed.is_shared:
        # What may be away for a moment is asked first: no write, wherever it goes, is made that nobody could audit.
        server.ready = composed.state_database().version
        server.moments = composed.moments()
    serve(server, door, hosts, listener, routes=routes(composed, links), tls=tls, counts=composed.counts)


def routes(composed: Composition, links: GitLabLinks | None = None) -> dict[str, Route]:
    """The paths beside `/mcp` that these settings open."""
    opened: dict[str, Route] = {}
    settings = composed.settings
    if settings.http.auth == "oauth":
        from postil.surfaces.gateway import oauth

        document = oauth.metadata(settings.oauth)

        async def show(scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
            await respond(send, 200, document)

        opened[oauth.metadata_path(settings.oauth.resource)] = show
        opened["/.well-known/oauth-protected-resource"] = show
    if links is not None:
        from postil.surfaces.gateway import gitlab_link
        from postil.surfaces.gateway.addresses import read_lists

        security = settings.security
        lists, _ = read_lists(security.ip_whitelist, security.blocked_ips, settings.http.trusted_proxies)
        page = gitlab_link.ConnectPage(links, settings.gitlab, composed.moments(), lists)
        opened[gitlab_link.PATH] = page
    keys = [read_secret(path) for path in settings.security.webhook_key_files]
    if keys:
        from postil.surfaces.gateway.addresses import read_lists
        from postil.surfaces.gateway.webhooks import PATH, Verifier, WebhookReceiver

        security = settings.security
        lists, _ = read_lists(security.ip_whitelist, security.blocked_ips, settings.http.trusted_proxies)
        deliveries = composed.deliveries()
        opened[PATH] = WebhookReceiver(Verifier(keys), lambda: deliveries, composed.moments(), lists)
    return opened


def check_reach(host: str, settings: Settings) -> None:
    """Refuse to be reached from other machines without a named way to know who asks, and without HTTPS."""
    if is_loopback(host):
        return
    if settings.http.auth in ("", "local"):
        raise CannotListen(
            f"Will not listen on {host}, beyond this machine, without a way to know who asks",
            advice="Add --auth pat, key or oauth, or listen on 127.0.0.1",
        )
    http = settings.http
    if not (http.tls_cert or http.tls_key or http.trusted_proxies or http.behind_proxy):
        raise CannotListen(
            f"Will not listen on {host}, beyond this machine, without HTTPS: others on the way could read tokens",
            advice="Give --tls-cert and --tls-key, or say --behind-proxy if a proxy in front speaks HTTPS",
        )


def tls_options(settings: Settings) -> dict[str, Any]:
    """The certificate and its key for uvicorn; nothing where a proxy speaks HTTPS for us."""
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


def calls_made(server: Server) -> dict[str, float]:
    """The calls of each operation, for the metrics."""
    made = server.calls.items()
    return {f'postil_calls_total{{operation="{name}",outcome="{outcome}"}}': n for (name, outcome), n in made}


def say(sentence: str) -> None:
    """Tell the person who started the server."""
    sys.stderr.write(f"postil: {sentence}\n")
    sys.stderr.flush()


def serve(
    server: Server,
    door: Door | None,
    hosts: Hosts,
    listener: socket.socket,
    *,
    routes: Mapping[str, Route] | None = None,
    tls: dict[str, Any] | None = None,
    counts: Callable[[], dict[str, float]] | None = None,
) -> NoReturn:
    """Serve on a bound socket until a signal ends it; then the process ends."""
    import uvloop  # with the server, only where HTTP is served

    from postil.surfaces.http.server import HttpServer, raise_file_limit

    raise_file_limit()

    async def main() -> int:
        metrics = Metrics()
        metrics.sources.append(lambda: calls_made(server))
        counting = [getattr(each, "counts", None) for each in (door, *(routes or {}).values())]
        metrics.sources += [source for source in (*counting, counts) if source is not None]
        app = HttpApp(server, door=door, hosts=hosts, routes=routes, metrics=metrics)
        running = HttpServer(app, **(tls or {}))
        await running.serve(sockets=[listener])
        return 128 + running.ended_by if running.ended_by else 0

    status = uvloop.run(main())
    sys.stderr.flush()
    os._exit(status)  # a thread that never ends must not keep the process alive
