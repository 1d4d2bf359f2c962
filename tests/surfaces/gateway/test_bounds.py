"""What the gateway remembers is bounded, and other edges at which a broken line went unnoticed."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from postil.core.call import Caller
from postil.settings.model import OAuthSettings
from postil.storage.memory import MemoryState
from postil.surfaces.gateway import addresses, gitlab_link
from postil.surfaces.gateway.access_keys import AccessKey, AccessKeys
from postil.surfaces.gateway.addresses import Addresses, read_lists
from postil.surfaces.gateway.refused import Refused


def lists(allowed: list[str], blocked: list[str]) -> Addresses:
    return read_lists(allowed, blocked, [], resolve=lambda name: [])[0]


def test_verdicts_on_addresses_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "MOST_REMEMBERED", 3)
    judge = lists(["10.0.0.0/8"], [])
    assert [judge.admit(f"10.0.0.{n}") for n in range(20)] == [True] * 20
    assert len(judge._verdicts) <= 3  # pyright: ignore[reportPrivateUsage] # memory is what this is about


@pytest.mark.parametrize(
    ("network", "client", "blocked"),
    [
        ("::ffff:10.1.0.0/112", "10.1.2.3", True),
        ("::ffff:10.1.0.0/112", "10.2.0.1", False),
        ("::ffff:0:0/96", "192.0.2.1", True),
        ("::ffff:10.1.2.3/112", "10.1.9.9", True),
        ("2001:db8::/97", "10.1.2.3", False),
        ("2001:db8::/97", "2001:db8::1", True),
    ],
)
def test_a_mapped_network_is_the_network_that_it_maps(network: str, client: str, blocked: bool) -> None:
    assert lists([], [network]).admit(client) is not blocked


def test_a_key_kept_by_an_older_version_may_nothing_that_it_does_not_say() -> None:
    old = msgspec.json.decode(b'{"id":"i","name":"n","digest":"d","created":1}', type=AccessKey)
    assert (old.workspace, old.read_only, old.sealed, old.must_sign) == (False, False, b"", False)


def test_a_bearer_that_is_no_key_of_ours_is_nobody() -> None:
    async def attempt() -> None:
        return

    keys = AccessKeys(MemoryState(), lambda: b"k" * 32)
    assert asyncio.run(keys.identify("glpat-somebody-elses", {}, attempt)) is None


def test_who_may_ask_for_a_link_is_known_of_the_last_callers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlab_link, "MOST_KNOWN", 2)
    settings = OAuthSettings(issuer="https://id.example", resource="https://postil.example/mcp")
    links = gitlab_link.GitLabLinks(settings, "https://gitlab.example", MemoryState(), lambda: b"k" * 32)
    for who in ("oauth:1", "oauth:2", "oauth:1", "oauth:3"):
        asyncio.run(links.token_of(who, {"preferred_username": "alice"}))
    assert [bool(links.address_for(Caller(f"oauth:{n}"))) for n in (1, 2, 3)] == [True, False, True]


def test_a_refusal_says_its_sentence_in_a_traceback_too() -> None:
    assert str(Refused(403, "Not from here")) == "Not from here"
