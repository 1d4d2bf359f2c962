"""Whose credential this is: the first authenticator that knows it decides, and everything else is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from postil.core.call import Caller
from postil.surfaces.gateway.auth import LONGEST, Attempt, Bearers, LocalToken, WrongCredential
from postil.surfaces.gateway.refused import NeedsCredential
from postil.surfaces.gateway.visitor import Visitor


class Known:
    """Knows every credential that begins with its own letter."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self.asked: list[str] = []

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        self.asked.append(bearer)
        return Visitor(Caller(self.letter), bearer) if bearer.startswith(self.letter) else None


async def allowed() -> None:
    return


def identify(bearers: Bearers, given: bytes | None) -> Visitor:
    headers = {} if given is None else {b"authorization": given}
    return asyncio.run(bearers.identify(headers, allowed))


def test_the_first_authenticator_that_knows_a_credential_decides() -> None:
    first, second = Known("a"), Known("b")
    bearers = Bearers([first, second], hint="a token")
    assert identify(bearers, b"Bearer abc").caller.principal == "a"
    assert second.asked == []
    assert identify(bearers, b"Bearer bcd").caller.principal == "b"
    assert first.asked == ["abc", "bcd"]


@pytest.mark.parametrize("given", [b"Bearer abc", b"bearer abc", b"BEARER  abc", b" \tBearer\t abc \t"])
def test_the_scheme_is_read_without_regard_to_case_and_spaces(given: bytes) -> None:
    known = Known("a")
    if given.startswith(b" "):  # a tab does not end the scheme's name
        with pytest.raises(WrongCredential):
            identify(Bearers([known], hint=""), given)
        return
    assert identify(Bearers([known], hint=""), given).token == "abc"


def test_a_missing_credential_is_asked_for_and_is_no_wrong_one() -> None:
    with pytest.raises(NeedsCredential, match="a token of the team") as refused:
        identify(Bearers([], hint="a token of the team", challenge="Bearer x"), None)
    assert not isinstance(refused.value, WrongCredential)
    assert (refused.value.status, refused.value.headers) == (401, [(b"www-authenticate", b"Bearer x")])


@pytest.mark.parametrize("given", [b"", b"Bearer", b"Bearer ", b"Basic abc", b"abc"])
def test_what_is_no_bearer_is_wrong_and_nobody_is_asked_about_it(given: bytes) -> None:
    known = Known("a")
    with pytest.raises(WrongCredential) as refused:
        identify(Bearers([known], hint=""), given)
    assert known.asked == []
    assert b"invalid_token" not in refused.value.headers[0][1]


def test_a_credential_may_be_as_long_as_the_limit_and_no_longer() -> None:
    known = Known("a")
    bearers = Bearers([known], hint="")
    assert identify(bearers, b"Bearer " + b"a" * LONGEST).token == "a" * LONGEST
    with pytest.raises(WrongCredential):
        identify(bearers, b"Bearer " + b"a" * (LONGEST + 1))
    assert len(known.asked) == 1


def test_a_credential_that_nobody_knows_is_an_invalid_token() -> None:
    with pytest.raises(WrongCredential) as refused:
        identify(Bearers([Known("a")], hint=""), b"Bearer zzz")
    assert refused.value.headers == [(b"www-authenticate", b'Bearer realm="postil", error="invalid_token"')]


@pytest.mark.parametrize(("given", "known"), [("right", True), ("wrong", False), ("righ", False), ("rightt", False)])
def test_only_the_printed_token_is_the_local_user(given: str, known: bool) -> None:
    found = asyncio.run(LocalToken("right").identify(given, {}, allowed))
    assert (found is not None) is known
    if found is not None:
        assert (found.caller.principal, found.caller.surface) == ("local", "http")
        assert "right" not in found.token
