"""Address lists: from where requests may come. Blocked wins over allowed; a proxy's word counts only if it is trusted.

The operator names the one header that the proxies write. It is read from the right, where they write: the first address
that is none of them is the client. What stands further left was written by the client and is no evidence; nor is the
other header, and where it tells another story the request is refused.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from postil.core import codes
from postil.core.failure import Failure
from postil.surfaces.gateway.refused import Refused

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve: TypeAlias = Callable[[str], list[str]]

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}$)({_LABEL}\.)*{_LABEL}\.?", re.IGNORECASE)
# Never goes back: a client writes what it likes into such a header, and the whole server waits until it is read.
_PAIR = re.compile(r'\s*+([A-Za-z0-9-]++)\s*+=\s*+("?+)([A-Za-z0-9.:\[\]_%~-]*+)\2\s*+')
MOST_REMEMBERED = 4096


class BadAddress(Failure):
    """An entry of an address list that is none."""

    code = codes.INVALID_PARAMS
    exit_status = 2


class Addresses:
    """The lists, ready to be asked."""

    def __init__(
        self, allowed: list[Network], blocked: list[Network], proxies: list[Network], header: str = "x-forwarded-for"
    ) -> None:
        self._allowed, self._blocked, self._proxies = allowed, blocked, proxies
        self._header = header.encode("ascii")
        self._verdicts: dict[str, bool] = {}
        self.ask = bool(allowed or blocked)
        """Whether there is anything to decide."""

    def client(self, peer: str | None, headers: Mapping[bytes, bytes]) -> str | None:
        """Returns the address a request comes from: the peer's, or what trusted proxies say of theirs.

        Raises Refused where a trusted proxy's word cannot be understood, or the two headers contradict each other.
        """
        if peer is None or not self._proxies or not self._is_proxy(peer):
            return peer
        told = {name: read(headers[name].decode("latin-1")) for name, read in _READERS.items() if name in headers}
        if not told:
            return peer
        if self._header not in told or any(hops != told[self._header] for hops in told.values()):
            raise Refused(403, _CONTRADICTION.format(self._header.decode("ascii")))
        for hop in reversed(told[self._header]):
            if hop is None:
                raise Refused(403, _CONTRADICTION.format(self._header.decode("ascii")))
            if not self._is_proxy(hop):
                return hop
        return peer

    def check(self, peer: tuple[str, int] | None, headers: Mapping[bytes, bytes]) -> str:
        """Returns the address that a request comes from. Raises Refused where such requests are not served."""
        address = self.client(peer[0] if peer else None, headers)
        if self.ask and not self.admit(address):
            raise Refused(403, "Forbidden: requests from this address are not served")
        return address or ""

    def admit(self, client: str | None) -> bool:
        """Returns whether an address is served. Without one nobody is, once there are lists."""
        if client is None:
            return not self.ask
        verdict = self._verdicts.get(client)
        if verdict is None:
            verdict = self._decide(client)
            if len(self._verdicts) >= MOST_REMEMBERED:
                self._verdicts.clear()
            self._verdicts[client] = verdict
        return verdict

    def _decide(self, client: str) -> bool:
        address = read_address(client)
        if address is None or _within(address, self._blocked):
            return False
        return not self._allowed or _within(address, self._allowed)

    def _is_proxy(self, text: str) -> bool:
        address = read_address(text)
        return address is not None and _within(address, self._proxies)


def read_address(text: str) -> Address | None:
    """Returns an address as peers and proxies write it, with or without a port; IPv4 inside IPv6 is IPv4."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def read_lists(
    allowed: Iterable[str],
    blocked: Iterable[str],
    proxies: Iterable[str] = (),
    resolve: Resolve | None = None,
    header: str = "x-forwarded-for",
) -> tuple[Addresses, list[str]]:
    """The lists from settings, and warnings. An entry that is neither an address nor a network stops the start."""
    warnings: list[str] = []
    closed: list[Network] = []
    for entry in blocked:
        network = _network(entry)
        if network is not None:
            closed.append(network)
            continue
        if not _NAME.fullmatch(entry) or re.fullmatch(r"[\d.]+", entry):
            raise BadAddress(
                f"blocked_ips holds {entry!r}, which is no address, network or host name",
                advice="Give 203.0.113.7, 203.0.113.0/24 or bad.example",
            )
        found = [network for text in (resolve or lookup)(entry) if (network := _network(text)) is not None]
        if not found:
            warnings.append(f"blocked_ips holds {entry!r}, which cannot be resolved: it blocks nothing")
        closed += found
    lists = Addresses(_networks("ip_whitelist", allowed), closed, _networks("trusted_proxies", proxies), header)
    return lists, warnings


def lookup(name: str) -> list[str]:
    """Returns the addresses of a host name, none when it has none."""
    try:
        return sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None)})
    except (OSError, UnicodeError):
        return []


def _networks(setting: str, entries: Iterable[str]) -> list[Network]:
    networks: list[Network] = []
    for entry in entries:
        network = _network(entry)
        if network is None:
            raise BadAddress(
                f"{setting} holds {entry!r}, which is no address or network",
                advice="Write addresses (192.168.1.7) or networks (192.168.1.0/24)",
            )
        networks.append(network)
    return networks


def _network(entry: str) -> Network | None:
    try:
        network = ipaddress.ip_network(entry.strip(), strict=False)
    except ValueError:
        return None
    if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= 96:
        mapped = network.network_address.ipv4_mapped
        if mapped is not None:
            return ipaddress.ip_network(f"{mapped}/{network.prefixlen - 96}", strict=False)
    return network


def _within(address: Address, networks: list[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _hops(written: list[str]) -> list[str | None]:
    return [str(address) if (address := read_address(hop)) is not None else None for hop in written if hop.strip()]


def _fors(forwarded: str) -> list[str]:
    return [_for(element) for element in forwarded.split(",")]


def _for(element: str) -> str:
    """Returns what one proxy says of its peer.

    Beside it may stand what the client chose, such as a host: so nothing is read where a value holds more than names
    and addresses do. A comma in quotes, or `for=` in another value, would be the client's word.
    """
    pairs = [_PAIR.fullmatch(pair) for pair in element.split(";")]
    said = [pair[3] for pair in pairs if pair and pair[1].lower() == "for"]
    return said[0] if len(said) == 1 and all(pairs) else "unknown"


_READERS: dict[bytes, Callable[[str], list[str | None]]] = {
    b"x-forwarded-for": lambda text: _hops(text.split(",")),
    b"forwarded": lambda text: _hops(_fors(text)),
}
_CONTRADICTION = (
    "Forbidden: the proxy does not say in {} alone where the request comes from; "
    "let it write that header, blank the other one, and name it as http.forwarded_header"
)
