"""Where a webhook may point: never into the network that GitLab, or this server, stands in."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from postil.gitlab.failures import invalid

LONGEST = 2048
# Python 3.11 calls these global; they lead to private addresses by translation or are reserved.
_NOT_GLOBAL = tuple(ipaddress.ip_network(net) for net in ("2002::/16", "2001::/32", "3fff::/20", "192.88.99.0/24"))
_GLOBAL = ipaddress.ip_network("2000::/3")
"""Of IPv6 nothing else was ever given to the open internet."""
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.IGNORECASE)

_LOCAL = frozenset(
    {"local", "localhost", "localdomain", "internal", "intranet", "lan", "home", "corp", "arpa", "svc", "consul"}
)


async def check_webhook_address(url: str, allowed: Collection[str] = ()) -> str:
    """Return the address if it is https and every address its host resolves to is public.

    A host that the operator has `allowed` by name may be anywhere, and plain http.
    """
    if not url.isascii() or len(url) > LONGEST or any(ord(sign) <= 32 or sign == "\\" for sign in url):
        raise invalid("url", "must be an https address of at most 2048 plain characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 443
    except ValueError:
        raise invalid("url", "must be an https address") from None
    if parts.scheme not in ("https", "http") or not host or "@" in parts.netloc:
        raise invalid("url", "must be an https address without credentials")
    if host.rstrip(".") in allowed:
        return url
    is_name = _NAME.fullmatch(host) is not None  # what else a host may hold, resolvers read each in its own way
    if not (is_name or _is_address(host)) or is_odd_host(host.rstrip(".")):
        raise invalid("url", "must name a public host: no number in an odd spelling, no name of a local network")
    if parts.scheme != "https":
        raise invalid("url", "must be an https address without credentials")
    for address in await _resolve(host.rstrip("."), port):
        if not is_public(address):
            raise invalid("url", "must not lead to a private, local or reserved address")
    return url


def is_public(address: str) -> bool:
    """Whether this address is on the open internet, whichever way it is written."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if any(ip in net for net in _NOT_GLOBAL if net.version == ip.version) or (ip.version == 6 and ip not in _GLOBAL):
        return False
    return ip.is_global and not ip.is_multicast


def is_odd_host(host: str) -> bool:
    """Whether a host is a number in another spelling than usual (`0x7f.1`, `2130706433`), or a name of a local network.

    Resolvers differ in what they make of those, and GitLab's is not ours. On the open internet every name has a dot.
    """
    if _is_address(host):
        return False
    above, _, last = host.lower().rpartition(".")
    return not above or last in _LOCAL or last.isdigit() or last.startswith("0x")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


async def _resolve(host: str, port: int) -> list[str]:
    """Return every address of the host; none when it does not resolve, which is GitLab's to judge."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(entry[4][0]) for entry in found]
