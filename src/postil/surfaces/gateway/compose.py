"""The gateway as the settings want it: which authenticators, which lists, which limits, and which pages beside it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from postil.core import codes
from postil.core.call import Caller
from postil.core.failure import Failure
from postil.surfaces.gateway.addresses import Addresses, read_lists
from postil.surfaces.gateway.auth import Authenticator, Bearers, LocalToken
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.named_callers import check_names, find_strangers
from postil.surfaces.gateway.quotas import Limits
from postil.surfaces.gateway.signatures import Signatures
from postil.wire.protocol.url_elicitation import Page
from postil.wire.transports.http.asked import Receive, Scope, Send, respond
from postil.wire.transports.http.headers import Headers
from postil.workspace.disk import read_named

if TYPE_CHECKING:
    from postil.settings.model import SecuritySettings
    from postil.surfaces.composition import Composition
    from postil.surfaces.gateway.gitlab_link import GitLabLinks

SHORTEST_SECRET = 16
HINTS = {
    "": "give the token that `postil serve` printed, or a GitLab token, as a bearer",
    "local": "give the token that `postil serve` printed as a bearer",
    "pat": "give a GitLab personal access token as a bearer",
    "key": "give an access key made by `postil key create` as a bearer",
    "oauth": "give a token issued for this server as a bearer",
}


class BadGateway(Failure):
    """A setting of the gateway that cannot be used."""

    code = codes.INVALID_PARAMS
    exit_status = 2


Route: TypeAlias = Callable[[Scope, Headers, Receive, Send], Awaitable[None]]
"""A path of its own, which decides itself who may use it."""


class Guard(NamedTuple):
    """What stands before a server over HTTP: who is let in, and the pages beside its endpoint."""

    gateway: Gateway
    routes: dict[str, Route]
    hosts: tuple[str, ...] = ()
    """Names that the pages are reached by, beside those of the settings."""
    origins: tuple[str, ...] = ()
    page_for: Callable[[Caller, str], Page | None] | None = None
    """Returns the page where a caller can give what only they have; None where there is none."""
    warnings: Sequence[str] = ()
    """What the person who starts the server should know."""


def compose(composed: Composition, token: str) -> Guard:
    """Returns the gateway and the pages as the settings want them."""
    settings = composed.settings
    security, http = settings.security, settings.http
    check_names(settings)
    addresses, warnings = read_lists(
        security.ip_whitelist, security.blocked_ips, http.trusted_proxies, header=http.forwarded_header
    )
    warnings = [*warnings, *find_strangers(settings), *_warn_of_readers(security)]
    ephemeral = composed.ephemeral()
    limits = Limits(ephemeral, per_minute=settings.limits.per_minute, in_flight=settings.limits.in_flight)
    secrets = [read_secret(path) for path in security.signing_key_files]
    if security.signature == "required" and not secrets:
        raise BadGateway(
            "security.signature is required, but there is no secret to check with",
            advice="Name a file with the shared secret in security.signing_key_files",
        )
    fresh = security.require_timestamp
    signatures = Signatures(security.signature, secrets, ephemeral.first, fresh=fresh) if secrets else None
    links = _gitlab_links(composed)
    bearers = _bearers(composed, token, links)
    gateway = Gateway(bearers, limits=limits, addresses=addresses, signatures=signatures, operators=http.operators)
    routes = _routes(composed, links, addresses)
    if links is None:
        return Guard(gateway, routes, warnings=warnings)

    def page_for(caller: Caller, what: str) -> Page | None:
        url = links.address_for(caller) if what == "gitlab" else ""
        return Page(url, "Connect your GitLab account to go on") if url else None

    # People open our page there; a proxy that speaks HTTPS makes the browser's origin another than what we see.
    own = urlsplit(settings.oauth.resource)
    return Guard(gateway, routes, (own.netloc,), (f"{own.scheme}://{own.netloc}",), page_for, warnings)


def _routes(composed: Composition, links: GitLabLinks | None, addresses: Addresses) -> dict[str, Route]:
    """Returns the paths beside `/mcp` that these settings open."""
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

        opened[gitlab_link.PATH] = gitlab_link.ConnectPage(links, settings.gitlab, composed.ephemeral(), addresses)
    keys = [read_secret(path) for path in settings.security.webhook_key_files]
    if keys:
        from postil.surfaces.gateway.webhooks import PATH, Verifier, WebhookReceiver

        deliveries = composed.deliveries()
        opened[PATH] = WebhookReceiver(Verifier(keys), lambda: deliveries, composed.ephemeral(), addresses)
    return opened


def _bearers(composed: Composition, token: str, links: GitLabLinks | None) -> Bearers:
    settings = composed.settings
    mode = settings.http.auth
    ways: list[Authenticator] = []
    challenge = 'Bearer realm="postil"'
    if mode in ("", "local"):
        ways.append(LocalToken(token))
    if mode in ("", "pat"):
        from postil.surfaces.gateway.gitlab_tokens import GitLabTokens

        gitlab, http = settings.gitlab, settings.http
        named = [name for each in settings.workspaces.values() for name in (*each.members, *each.readers)]
        ways.append(
            GitLabTokens(
                gitlab.url, http.members, trust=gitlab.trust, proxy=gitlab.proxy, callers=http.callers, named=named
            )
        )
    if mode == "key":
        from postil import secret
        from postil.surfaces.gateway.access_keys import AccessKeys

        ways.append(
            AccessKeys(composed.state_database(), lambda: secret.subkey(secret.load(settings), "stored-credentials"))
        )
    if mode == "oauth":
        from postil.surfaces.gateway.oauth import OAuthTokens, metadata_url

        if not settings.oauth.issuer or not settings.oauth.resource:
            raise BadGateway(
                "The mode oauth needs oauth.issuer and oauth.resource",
                advice="Name the authorization server, and this server's own address",
            )
        ways.append(OAuthTokens(settings.oauth, settings.http.members, links=links))
        challenge = f'Bearer resource_metadata="{metadata_url(settings.oauth.resource)}"'
    return Bearers(ways, hint=HINTS[mode], challenge=challenge)


def _gitlab_links(composed: Composition) -> GitLabLinks | None:
    """Returns the tokens that OAuth users gave; None in another mode, or where GitLab is not offered."""
    settings = composed.settings
    if settings.http.auth != "oauth" or not settings.oauth.resource or not settings.offer().includes_part("gitlab"):
        return None
    from postil import secret
    from postil.surfaces.gateway.gitlab_link import GitLabLinks

    return GitLabLinks(
        settings.oauth,
        settings.gitlab.url,
        composed.state_database(),
        lambda: secret.subkey(secret.load(settings), "gitlab-tokens"),
    )


def _warn_of_readers(security: SecuritySettings) -> list[str]:
    """Returns warnings of secrets that every user of this machine can read."""
    return [
        f"The secret {path} can be read by every user of this machine: chmod o-rwx {path}"
        for path in (*security.signing_key_files, *security.webhook_key_files)
        if _is_open_to_all(os.path.expanduser(path))
    ]


def _is_open_to_all(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & 0o006)
    except OSError:
        return False  # the reading says what is wrong with it


def read_secret(path: str) -> bytes:
    """Returns a secret from its file, without the newline that editors add."""
    path = os.path.expanduser(path)
    try:
        secret = read_named(path, 8192).strip(b"\r\n")
    except OSError as error:
        raise BadGateway(
            f"The secret {path} cannot be read: {error.strerror}", advice="Make the file, mode 0600"
        ) from error
    if not SHORTEST_SECRET <= len(secret) <= 4096:
        raise BadGateway(
            f"The secret in {path} is shorter than {SHORTEST_SECRET} bytes or longer than 4096",
            advice="Make one with: python3 -c 'import secrets; print(secrets.token_hex(32))'",
        )
    return secret
