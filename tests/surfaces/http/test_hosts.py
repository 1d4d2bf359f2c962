"""Which names a server answers to, and from which pages it may be spoken to."""

from __future__ import annotations

import pytest

from postil.surfaces.http.hosts import LOOPBACK, MOST_REMEMBERED, Hosts, NoHost, check_hosts, is_loopback, split_address

HOSTS = Hosts([*LOOPBACK, "Postil.Example", "team.example:8443"], ["https://App.Example/"])


@pytest.mark.parametrize(
    ("host", "admitted"),
    [
        (b"127.0.0.1:3000", True),
        (b"localhost", True),
        (b"[::1]:3000", True),
        (b"POSTIL.example:1", True),
        (b"team.example:8443", True),
        (b"team.example:8444", False),
        (b"evil.example", False),
        (b"localhost.evil.example", False),
        (b"localhost:port", False),
        (b"localhost:123456", False),
        (b"user@localhost", False),
        (b"", False),
    ],
)
def test_only_our_own_names_are_served(host: bytes, admitted: bool) -> None:
    assert HOSTS.admit({b"host": host}, "http") is admitted


@pytest.mark.parametrize(
    ("origin", "admitted"),
    [
        (b"http://localhost:3000", True),
        (b"HTTP://LOCALHOST:3000", True),
        (b"https://localhost:3000", False),
        (b"http://localhost:3001", False),
        (b"https://app.example", True),
        (b"https://app.example.evil.example", False),
        (b"null", False),
        (b"", False),
    ],
)
def test_a_page_may_speak_to_us_from_the_same_place_or_if_it_is_named(origin: bytes, admitted: bool) -> None:
    assert HOSTS.admit({b"host": b"localhost:3000", b"origin": origin}, "http") is admitted


@pytest.mark.parametrize(
    ("host", "origin", "admitted"),
    [
        (b"postil.example", b"https://postil.example", True),
        (b"Postil.Example:8443", b"https://postil.example:8443", True),
        (b"postil.example", b"https://postil.example:8443", False),
        (b"postil.example", b"https://evil.example", False),
        (b"localhost:3000", b"https://localhost:3000", False),
        (b"evil.example", b"https://evil.example", False),
    ],
)
def test_a_proxy_may_speak_https_for_a_host_that_is_named(host: bytes, origin: bytes, admitted: bool) -> None:
    hosts = Hosts([*LOOPBACK, "postil.example"], (), fronted=["Postil.example"])
    assert hosts.admit({b"host": host, b"origin": origin}, "http") is admitted


def test_the_names_that_are_remembered_are_bounded_and_the_others_still_served() -> None:
    hosts = Hosts(["localhost"])
    for port in range(MOST_REMEMBERED * 2):
        assert hosts.admit({b"host": b"localhost:%d" % port}, "http")
    assert len(vars(hosts)["_known"]) == MOST_REMEMBERED


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("::1", True), ("127.9.9.9", True), ("127.0.0.1.evil.example", False), ("0.0.0.0", False)],
)
def test_what_can_only_be_reached_from_this_machine(host: str, local: bool) -> None:
    assert is_loopback(host) is local


@pytest.mark.parametrize(
    ("address", "split"),
    [
        ("", ("127.0.0.1", 3000)),
        (":80", ("127.0.0.1", 80)),
        ("0.0.0.0", ("0.0.0.0", 3000)),
        ("host:0", ("host", 0)),
        ("[::1]:65535", ("::1", 65535)),
        (" host:1 ", ("host", 1)),
    ],
)
def test_an_address_is_split_into_host_and_port(address: str, split: tuple[str, int]) -> None:
    assert split_address(address) == split


@pytest.mark.parametrize("address", ["host:65536", "::1:80", "host:x", "a:b:c", "host:123456"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        split_address(address)


@pytest.mark.parametrize("name", ["https://postil.example.org", "postil.example.org/", "*", "*.example.org", ""])
def test_a_name_that_no_request_can_have_stops_the_start(name: str) -> None:
    with pytest.raises(NoHost, match="is no host"):
        check_hosts(["postil.example.org", name])


def test_hosts_with_and_without_a_port_are_names() -> None:
    check_hosts(["postil.example.org", "Postil.Example.org:8443", "[::1]:3000", "10.0.0.1"])
