"""Address lists: what is let in, and whose word about an address is believed."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.surfaces.gateway import addresses
from postil.surfaces.gateway.addresses import Addresses, BadAddress, read_address, read_lists
from postil.surfaces.gateway.refused import Refused


def lists(allowed: list[str], blocked: list[str], proxies: list[str] | None = None) -> Addresses:
    return read_lists(allowed, blocked, proxies or [], resolve=lambda name: [])[0]


@pytest.mark.parametrize(
    ("client", "admitted"),
    [
        ("192.168.1.7", True),
        ("10.200.0.1", True),
        ("192.168.2.1", False),
        ("::ffff:192.168.1.7", True),
        ("192.168.1.66", False),
        ("::ffff:192.168.1.66", False),
        ("not an address", False),
        (None, False),
    ],
)
def test_blocked_wins_over_allowed_and_mapped_addresses_are_what_they_map(client: str | None, admitted: bool) -> None:
    asked = lists(["192.168.1.0/24", "10.0.0.0/8"], ["192.168.1.66"])
    assert asked.admit(client) is admitted


def test_without_lists_everyone_is_admitted() -> None:
    assert not lists([], []).ask
    assert lists([], []).admit(None)


def test_a_host_name_is_resolved_and_an_unresolvable_one_is_a_warning() -> None:
    asked, warnings = read_lists([], ["bad.example", "malicious.ip.address"], [], resolve=fake_lookup)
    assert not asked.admit("203.0.113.9")
    assert asked.admit("203.0.113.10")
    assert len(warnings) == 1
    assert "'malicious.ip.address'" in warnings[0]


def fake_lookup(name: str) -> list[str]:
    return ["203.0.113.9"] if name == "bad.example" else []


@pytest.mark.parametrize("entry", ["no such/thing", "1.2.3", "999.1.1.1", "10.0.0.0/99", "", "a b", "http://x"])
def test_an_entry_that_is_nothing_stops_the_start_and_is_quoted(entry: str) -> None:
    with pytest.raises(BadAddress) as stopped:
        lists([], [entry])
    assert repr(entry) in stopped.value.message


@pytest.mark.parametrize("entry", ["bad.example", "1.2.3.4.5", "x", "::1/200"])
def test_the_list_of_the_allowed_holds_addresses_alone(entry: str) -> None:
    with pytest.raises(BadAddress, match="ip_whitelist"):
        lists([entry], [])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1.2.3.4:5678", "1.2.3.4"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ('"[2001:db8::1]"', "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
    ],
)
def test_addresses_are_read_as_proxies_write_them(text: str, read: str) -> None:
    assert read_address(text) == ipaddress.ip_address(read)


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        ("10.0.0.1", {b"x-forwarded-for": b"6.6.6.6, 203.0.113.5, 10.0.0.2"}, "203.0.113.5"),
        ("203.0.113.9", {b"x-forwarded-for": b"1.1.1.1"}, "203.0.113.9"),
        ("10.0.0.1", {}, "10.0.0.1"),
        ("10.0.0.1", {b"x-forwarded-for": b"10.0.0.3, 10.0.0.2"}, "10.0.0.1"),
        ("10.0.0.1", {b"forwarded": b"for=2.2.2.2", b"x-forwarded-for": b"2.2.2.2"}, "2.2.2.2"),
        ("::ffff:10.0.0.1", {b"x-forwarded-for": b"203.0.113.5"}, "203.0.113.5"),
        (None, {b"x-forwarded-for": b"1.1.1.1"}, None),
    ],
)
def test_only_a_trusted_proxy_is_believed_and_from_the_right(
    peer: str | None, headers: dict[bytes, bytes], client: str | None
) -> None:
    assert lists([], [], ["10.0.0.0/8"]).client(peer, headers) == client


@pytest.mark.parametrize(
    ("named", "headers"),
    [
        ("x-forwarded-for", {b"forwarded": b"for=10.0.0.7", b"x-forwarded-for": b"203.0.113.5"}),
        ("x-forwarded-for", {b"forwarded": b"for=10.0.0.7"}),
        ("x-forwarded-for", {b"x-forwarded-for": b"garbage"}),
        ("x-forwarded-for", {b"x-forwarded-for": b"1.1.1.1, unknown"}),
        ("forwarded", {b"forwarded": b"for=203.0.113.5", b"x-forwarded-for": b"10.0.0.7"}),
        ("forwarded", {b"x-forwarded-for": b"10.0.0.7"}),
        ("forwarded", {b"forwarded": b"for=_hidden"}),
    ],
)
def test_a_story_that_is_contradicted_or_not_understood_is_refused(named: str, headers: dict[bytes, bytes]) -> None:
    asked, _ = read_lists(["10.0.0.0/8"], ["203.0.113.0/24"], ["10.0.0.0/8"], resolve=lambda name: [], header=named)
    with pytest.raises(Refused) as refused:
        asked.check(("10.0.0.1", 1), headers)
    assert refused.value.status == 403
    assert named in refused.value.message


def test_the_standard_header_is_read_where_the_operator_names_it() -> None:
    asked, _ = read_lists([], [], ["10.0.0.0/8"], resolve=lambda name: [], header="forwarded")
    assert asked.client("10.0.0.1", {b"forwarded": b'for="[2001:db8::7]:99";proto=https'}) == "2001:db8::7"


@pytest.mark.parametrize(
    "beside",
    ['host="a,for=192.0.2.7"', 'host="for=192.0.2.7"', "by=_for=192.0.2.7", "xfor=192.0.2.7", "for=192.0.2.7",
     'host="a;for=192.0.2.7"', 'host="a\\",for=192.0.2.7"', "host=a b;for=192.0.2.7", 'host="a, for=192.0.2.7 ,b"'],
)  # fmt: skip
@pytest.mark.parametrize("order", ["for=203.0.113.5;{}", "{};for=203.0.113.5", "for=192.0.2.7, for=203.0.113.5;{}"])
def test_what_the_client_chose_within_a_proxy_word_is_not_its_address(beside: str, order: str) -> None:
    """A proxy may say of a request which host it named."""
    asked, _ = read_lists([], [], ["10.0.0.0/8"], resolve=lambda name: [], header="forwarded")
    with suppress(Refused):
        assert asked.client("10.0.0.1", {b"forwarded": order.format(beside).encode()}) == "203.0.113.5"


@pytest.mark.parametrize(
    "said",
    ["for=203.0.113.5;proto=https;host=example.org:8443;by=10.0.0.1", 'FOR = "203.0.113.5:99" ; host="example.org"',
     "for=garbage\", for=203.0.113.5", 'a="x;y, for=203.0.113.5;by=_gateway-1'],
)  # fmt: skip
def test_an_honest_proxy_is_understood_whatever_stands_to_its_left(said: str) -> None:
    asked, _ = read_lists([], [], ["10.0.0.0/8"], resolve=lambda name: [], header="forwarded")
    assert asked.client("10.0.0.1", {b"forwarded": said.encode()}) == "203.0.113.5"


@given(st.ip_addresses(), st.lists(st.ip_addresses(network="10.0.0.0/8"), max_size=3), st.text(max_size=30))
def test_what_the_client_wrote_to_the_left_changes_nothing(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
    proxies: list[ipaddress.IPv4Address | ipaddress.IPv6Address],
    forged: str,
) -> None:
    honest = ", ".join(map(str, [address, *proxies]))
    asked = lists([], [], ["10.0.0.0/8"])
    alone = asked.client("10.9.9.9", {b"x-forwarded-for": honest.encode()})
    if read_address(str(address)) in ipaddress.ip_network("10.0.0.0/8"):
        return
    spoofed = f"{forged.replace(',', '')}, {honest}".encode("utf-8", "replace")
    assert asked.client("10.9.9.9", {b"x-forwarded-for": spoofed}) == alone == str(read_address(str(address)))


@pytest.mark.parametrize("text", ["1.2.3.4[", "a[::1]", "1.2.3.4:5:6", "", '""', "[1.2.3.4"])
def test_what_only_looks_like_an_address_is_none_or_is_read_whole(text: str) -> None:
    assert read_address(text) in (None, ipaddress.ip_address("1.2.3.4"))
    assert read_address("a[::1]") is None


def test_a_verdict_is_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = lists([], ["203.0.113.9"])
    monkeypatch.setattr(addresses, "MOST_REMEMBERED", 2)
    for last in range(5):
        assert asked.admit(f"198.51.100.{last}")
        assert 1 <= len(vars(asked)["_verdicts"]) <= 2
    assert not asked.admit("203.0.113.9")
    assert not asked.admit("203.0.113.9")


@pytest.mark.parametrize(("peer", "client"), [(("203.0.113.8", 1), "203.0.113.8"), (None, "")])
def test_a_request_is_checked_by_where_it_comes_from(peer: tuple[str, int] | None, client: str) -> None:
    assert lists([], []).check(peer, {}) == client
    with pytest.raises(Refused) as refused:
        lists(["198.51.100.0/24"], []).check(peer, {})
    assert refused.value.status == 403


@pytest.mark.parametrize(
    ("entry", "client", "admitted"),
    [
        ("::ffff:0.0.0.0/96", "203.0.113.9", False),
        ("::ffff:0.0.0.0/95", "203.0.113.9", True),
        ("::ffff:203.0.113.0/120", "203.0.113.9", False),
        ("::ffff:203.0.113.0/120", "203.0.114.9", True),
    ],
)
def test_a_network_of_mapped_addresses_is_one_of_ipv4(entry: str, client: str, admitted: bool) -> None:
    assert lists([], [entry]).admit(client) is admitted
