"""A webhook never points into a private network. S11."""

from __future__ import annotations

import pytest

from postil.core.failure import InvalidArguments
from postil.gitlab.policy import webhook_address
from postil.gitlab.policy.webhook_address import check_webhook_address, is_odd_host, is_public
from tests.emulator.app import Emulator
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://0.0.0.0/",
        "https://169.254.169.254/latest",
        "https://100.64.0.1/",
        "https://[::ffff:169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:7f00:1::]/",
        "https://192.88.99.1/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://localhost./",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://example.0x7f/",
        "https://[::7f00:1]/",
        "https://metadata.google.internal/",
        "https://printer.local/",
        "https://127%2e0%2e0%2e1/",
        "https://127.0.0.1%09/",
        "https://[::1%25lo]/",
        "https://[fe80::1%eth0]/",
        "https://[fec0::1]/",
        "https://[3fff::1]/",
        "https://[::ffff:0:127.0.0.1]/",
        "https://[4000::1]/",
        "https://ip6-localhost/",
        "https://metadata/",
        "https://kubernetes.default.svc/",
        "https://a,b.example/",
        "https://a..example/",
        "https://*.example/",
        "https://user:pw@93.184.216.34/",
        "https://",
        "https://a\nb/",
        "file:///etc/passwd",
    ],
)
async def test_a_webhook_never_points_inside(gitlab: Groups, emulator: Emulator, url: str) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.webhooks.configure_webhook(123, url, ["push"])
    assert emulator.seen == []


@pytest.mark.parametrize("host", ["example.com", "0x7f.example.com", "example.a0x7f", "example.x1", "93.184.216.34"])
def test_a_name_with_a_number_in_it_is_a_usual_name(host: str) -> None:
    assert not is_odd_host(host)


def test_public_addresses_are_public() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")
    assert is_public("::ffff:93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946%eth0")


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "::ffff:10.0.0.1",
        "fe80::1%eth0",
        "64:ff9b::1",
        "64:ff9b:1::1",
        "2002::1",
        "2001::1",
        "192.88.99.255",
        "224.0.0.1",
        "ff02::1",
        "233.252.0.1",
        "ff0e::1",
        "240.0.0.1",
    ],
)
def test_reserved_local_and_translated_addresses_are_not(address: str) -> None:
    assert not is_public(address)


class Names:
    """A resolver: names with their addresses; every other name does not resolve."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **known: list[str]) -> None:
        self.known, self.asked = known, list[tuple[str, int]]()
        monkeypatch.setattr(webhook_address.asyncio, "get_running_loop", lambda: self)

    async def getaddrinfo(self, host: str, port: int, *, type: int) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        self.asked.append((host, port))
        if host not in self.known:
            raise OSError("Name or service not known")
        return [(2, type, 6, "", (address, port)) for address in self.known[host]]


def check(url: str) -> str:
    """The address, checked without an event loop of its own: the resolver is ours."""
    checking = check_webhook_address(url)
    try:
        checking.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


async def test_every_address_of_a_name_must_be_public(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names(
        monkeypatch, **{"good.a": ["93.184.216.34", "2606:2800:220:1::1"], "mixed.a": ["93.184.216.34", "10.0.0.1"]}
    )
    assert check("https://good.a/hook") == "https://good.a/hook"
    assert check("https://good.a.:8443/") == "https://good.a.:8443/"
    with pytest.raises(InvalidArguments, match="private, local or reserved"):
        check("https://mixed.a/")
    assert names.asked == [("good.a", 443), ("good.a", 8443), ("mixed.a", 443)]


async def test_a_name_that_does_not_resolve_is_gitlabs_to_judge_and_localhost_is_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Names(monkeypatch)
    for url in ("https://nowhere.example/", "https://x.localhost.example/", "https://notlocalhost.example/"):
        assert check(url) == url
    for url in ("https://localhost/", "https://a.localhost/", "https://LOCALHOST./"):
        with pytest.raises(InvalidArguments):
            check(url)


async def test_an_address_is_https_plain_and_not_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch)
    longest = f"https://a.b/{'x' * 2036}"
    assert check(longest) == longest
    assert check("https://a.b/!") == "https://a.b/!"
    wrong = (
        longest + "x",
        "https://é/",
        "https://a/ b",
        "https://a\\b/",
        "https://a/\x1f",
        "https:///x",
        "https://a:port/",
    )
    for url in (*wrong, "ftp://a/", "https://u@a/", "https://[::1", ""):
        with pytest.raises(InvalidArguments, match="url must be an https address"):
            check(url)


async def test_a_host_that_the_operator_names_may_be_inside_and_plain_http() -> None:
    for url in ("http://hooks.corp.test/x", "https://10.0.0.7/x", "http://hooks/x"):
        assert await check_webhook_address(url, {"hooks.corp.test", "10.0.0.7", "hooks"}) == url
    for url in ("http://hooks.corp.test/x", "https://10.0.0.8/x"):
        with pytest.raises(InvalidArguments):
            await check_webhook_address(url, {"10.0.0.7"})
