"""Postil over HTTP with the GitLab part alone, every caller with a GitLab token of their own, on a free port."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from postil.core.call import Caller
from postil.core.registry import Registry
from postil.gitlab.service import GitLab
from postil.surfaces.http import HttpApp, Refused
from postil.surfaces.http_hosts import Hosts
from postil.wire.http import Scope
from postil.wire.http_headers import Headers
from postil.wire.server import UNITED, Face, Server
from tests.emulator.server import running


class BearerDoor:
    """Lets in whoever brings any bearer, and hands it on as the credential for GitLab."""

    async def admit(self, headers: Headers, scope: Scope) -> Caller:
        scheme, _, token = headers.get(b"authorization", b"").decode().partition(" ")
        if scheme != "Bearer" or not token:
            raise Refused(401, "Unauthorized")
        return Caller(principal=token, surface="http", credential=token)


@contextmanager
def postil(address: str) -> Generator[str]:
    """The endpoint of a server that speaks to the GitLab at this address."""
    part = GitLab(address, lambda: "")
    server = Server(Registry.of([("gitlab", part)]), Face("postil", "1", UNITED))
    app = HttpApp(server, door=BearerDoor(), hosts=Hosts(["127.0.0.1"]))
    with running(app, part.close) as base:
        yield f"{base}/mcp"
