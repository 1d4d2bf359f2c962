"""The gateway as the settings want it: which ways to authenticate, which lists, which limits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from postil.core.failure import Failure
from postil.surfaces.gateway.addresses import read_lists
from postil.surfaces.gateway.auth import Bearers, LocalToken, Way
from postil.surfaces.gateway.gateway import Gateway
from postil.surfaces.gateway.limits import Limits
from postil.surfaces.gateway.signatures import Signatures

if TYPE_CHECKING:
    from postil.settings.model import Settings
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

    code = -32602
    exit_status = 2


def compose(composed: Composition, token: str, links: GitLabLinks | None = None) -> tuple[Gateway, list[str]]:
    """The gateway, and what the person who starts it should know."""
    settings = composed.settings
    security, http = settings.security, settings.http
    addresses, warnings = read_lists(security.ip_whitelist, security.blocked_ips, http.trusted_proxies)
    moments = composed.moments()
    limits = Limits(moments, per_minute=settings.limits.per_minute, in_flight=settings.limits.in_flight)
    secrets = [read_secret(path) for path in security.signing_key_files]
    if security.signature == "required" and not secrets:
        raise BadGateway(
            "security.signature is required, but there is no secret to check with",
            advice="Name a file with the shared secret in security.signing_key_files",
        )
    signatures = Signatures(security.signature, secrets, moments.first) if secrets else None
    return Gateway(
        _bearers(composed, token, links), limits=limits, addresses=addresses, signatures=signatures
    ), warnings


def _bearers(composed: Composition, token: str, links: GitLabLinks | None) -> Bearers:
    settings = composed.settings
    mode = settings.http.auth
    ways: list[Way] = []
    challenge = 'Bearer realm="postil"'
    if mode in ("", "local"):
        ways.append(LocalToken(token))
    if mode in ("", "pat"):
        ways.append(_gitlab_tokens(settings))
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


def gitlab_links(composed: Composition) -> GitLabLinks | None:
    """The tokens that OAuth users gave; none in another mode, or where GitLab is not offered."""
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


def _gitlab_tokens(settings: Settings) -> Way:
    from postil.surfaces.gateway.gitlab_tokens import GitLabTokens

    return GitLabTokens(settings.gitlab.url, settings.http.members, trust=settings.gitlab.trust)


def read_secret(path: str) -> bytes:
    """A secret from its file, without the newline that editors add."""
    path = os.path.expanduser(path)
    try:
        with open(path, "rb") as file:
            secret = file.read(4097).strip(b"\r\n")
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
