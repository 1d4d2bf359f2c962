"""Which names this server answers to: the Host and Origin of every request, against DNS rebinding and other sites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from postil.core import codes
from postil.core.failure import Failure

DEFAULT_PORT = 3000
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?")
_ADDRESS = re.compile(r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])(:\d{1,5})?")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MOST_REMEMBERED = 64


class NoHost(Failure):
    """A name in the settings that no request can have as its Host."""

    code = codes.INVALID_PARAMS
    exit_status = 2


def check_hosts(names: Iterable[str]) -> None:
    """Raises NoHost where a name is none: every request would be refused, and nobody would know why."""
    for name in names:
        if not _HOST.fullmatch(name.lower()):
            raise NoHost(
                f"http.allowed_hosts names {name[:100]!r}, which is no host",
                advice="Name it without https:// and path, and without patterns: postil.example.org, or with a port",
            )


class Hosts:
    """The names that may stand in Host. An Origin must be that same place, or be named.

    Where the operator named the host (`fronted`), that place may also be the HTTPS of a proxy in front of us.
    """

    def __init__(self, names: Iterable[str], origins: Iterable[str] = (), fronted: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._fronted = frozenset(name.lower() for name in fronted)
        self._known: set[bytes] = set()

    def admit(self, headers: Mapping[bytes, bytes], scheme: str) -> bool:
        """Returns whether a request with these headers is for this server and from a place that may speak to it."""
        host = headers.get(b"host", b"").strip(b" \t")
        if host not in self._known:
            if not self._is_ours(host.decode("latin-1").lower()):
                return False
            if len(self._known) < MOST_REMEMBERED:
                self._known.add(host)
        origin = headers.get(b"origin")
        if origin is None:
            return True
        stated = origin.strip(b" \t").decode("latin-1").lower()
        place = host.decode("latin-1").lower()
        if stated == f"{scheme}://{place}" or stated in self._origins:
            return True
        return stated == f"https://{place}" and _is_among(place, self._fronted)

    def _is_ours(self, host: str) -> bool:
        return _is_among(host, self._names)


def _is_among(host: str, names: frozenset[str]) -> bool:
    found = _HOST.fullmatch(host)
    # A name without a port stands for any port: a tunnel may lead here from another one.
    return found is not None and (host in names or found[1] in names)


def is_by_address(headers: Mapping[bytes, bytes]) -> bool:
    """Returns whether a request names an address instead of a host, and no page of a browser sent it."""
    host = headers.get(b"host", b"").strip(b" \t").decode("latin-1")
    return b"origin" not in headers and _ADDRESS.fullmatch(host) is not None


def is_loopback(host: str) -> bool:
    """Returns whether an address can only be reached from this machine."""
    return host in ("localhost", "::1", "[::1]") or re.fullmatch(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}", host) is not None


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, `HOST`, `:PORT` or `[v6]:PORT`; ValueError says what is wrong."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::(\d{1,5}))?", address.strip())
    if found is None or (found[2] and int(found[2]) > 65535):
        raise ValueError(f"not an address of the form HOST:PORT: {address!r}")
    return found[1].strip("[]") or "127.0.0.1", int(found[2]) if found[2] else DEFAULT_PORT
