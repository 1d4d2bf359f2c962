"""Cookies and one-time addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from postil.surfaces.gateway.refused import Unavailable
from postil.surfaces.page import browser_sessions
from postil.surfaces.page.browser_sessions import (
    BrowserSessions,
    InMemory,
    drop_cookie,
    is_form_of,
    name_cookie,
    write_cookie,
)
from postil.surfaces.page.shared_sessions import SecretSeal

pytestmark = pytest.mark.anyio
HOST = {b"host": b"127.0.0.1:3000"}


def cookie_of(header: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    return {**HOST, b"cookie": header[1].partition(b";")[0]}


async def test_an_address_lets_one_browser_in_once() -> None:
    sessions = BrowserSessions()
    token = await sessions.invite("bearer", "ann")
    looked = await sessions.look_at(token)
    assert looked is not None
    assert looked.whose == "ann"
    first = await sessions.redeem(token)
    assert first is not None
    assert (first.bearer, first.whose) == ("bearer", "ann")
    assert await sessions.redeem(token) is None
    assert await sessions.redeem("") is None


async def test_an_address_that_is_too_old_lets_nobody_in() -> None:
    now = [0.0]
    sessions = BrowserSessions(lambda: now[0])
    token = await sessions.invite("bearer", "ann")
    now[0] = browser_sessions.INVITATION_LIVES + 1
    assert await sessions.redeem(token) is None


async def test_a_cookie_is_found_again_and_ends() -> None:
    sessions = BrowserSessions()
    session = await sessions.open("bearer", "ann")
    headers = cookie_of(write_cookie(session, HOST, over_https=False))
    assert await sessions.find(headers) == session
    await sessions.end(session)
    assert await sessions.find(headers) is None
    assert not await sessions.is_open(session)


async def test_a_browser_that_was_idle_for_long_is_not_known() -> None:
    now = [0.0]
    sessions = BrowserSessions(lambda: now[0])
    headers = cookie_of(write_cookie(await sessions.open("bearer", "ann"), HOST, over_https=False))
    now[0] = browser_sessions.IDLE - 1
    assert await sessions.find(headers) is not None
    now[0] += browser_sessions.IDLE - 1  # it was used in between
    assert await sessions.find(headers) is not None
    now[0] += browser_sessions.IDLE + 1
    assert await sessions.find(headers) is None


async def test_a_page_that_follows_is_in_use() -> None:
    now = [0.0]
    sessions = BrowserSessions(lambda: now[0])
    session = await sessions.open("bearer", "ann")
    for _ in range(3):
        now[0] += browser_sessions.IDLE - 1
        assert await sessions.is_open(session)


async def test_the_cookie_is_strict_hidden_from_scripts_and_named_by_the_port() -> None:
    session = await BrowserSessions().open("bearer", "ann")
    written = write_cookie(session, HOST, over_https=False)[1].decode()
    assert written.startswith("postil-3000=")
    assert "HttpOnly" in written
    assert "SameSite=Strict" in written
    assert "Secure" not in written
    assert "; Secure" in write_cookie(session, HOST, over_https=True)[1].decode()
    assert name_cookie({b"host": b"postil.example"}) == "postil"
    assert b"Max-Age=0" in drop_cookie(HOST)[1]


async def test_the_cookie_of_another_port_is_not_ours() -> None:
    sessions = BrowserSessions()
    headers = cookie_of(write_cookie(await sessions.open("bearer", "ann"), HOST, over_https=False))
    assert await sessions.find({**headers, b"host": b"127.0.0.1:4000"}) is None


async def test_cookies_that_another_program_adds_lock_nobody_out() -> None:
    sessions = BrowserSessions()
    session, others = await sessions.open("bearer", "ann"), await sessions.open("other", "eve")
    own = f"postil-3000={session.id}"
    for tossed in ("postil-3000=junk", "postil-3000=", f"postil-3000={others.id}", "postil-3000=junk; " * 30):
        found = await sessions.find({**HOST, b"cookie": f"{tossed}; {own}".encode()})
        assert found is not None
        assert found.whose == "ann"
    found = await sessions.find({**HOST, b"cookie": f"{own}; postil-3000=junk".encode()})
    assert found is not None


async def test_of_one_person_the_oldest_browsers_and_addresses_make_room_and_of_others_none() -> None:
    sessions = BrowserSessions()
    others, first = await sessions.open("b", "bob"), await sessions.open("a", "ann")
    invited, others_token = await sessions.invite("a", "ann"), await sessions.invite("b", "bob")
    last = [await sessions.open("a", "ann") for _ in range(browser_sessions.MOST_SESSIONS)][-1]
    for _ in range(browser_sessions.MOST_INVITATIONS):
        await sessions.invite("a", "ann")
    assert not await sessions.is_open(first)
    assert await sessions.is_open(last)
    assert await sessions.is_open(others)
    assert await sessions.look_at(invited) is None
    assert await sessions.look_at(others_token) is not None


async def test_all_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_sessions, "MOST_KEPT", 10)
    sessions = BrowserSessions()
    first = await sessions.open("a", "0")
    for number in range(10):
        await sessions.open("a", str(number))
    assert not await sessions.is_open(first)


async def test_what_is_over_ends_nobody_elses_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_sessions, "MOST_KEPT", 60)
    sessions = BrowserSessions()
    others = await sessions.open("b", "bob")
    for _ in range(80):
        own = await sessions.redeem(await sessions.invite("a", "ann"))
        assert own is not None
        await sessions.end(own)
    assert await sessions.is_open(others)


async def test_who_left_is_not_let_in_by_a_page_that_was_still_being_made() -> None:
    sessions = BrowserSessions()
    session = await sessions.open("a", "ann")
    headers = cookie_of(write_cookie(session, HOST, over_https=False))
    slow = await sessions.find(headers)
    assert slow is not None
    await sessions.end(session)
    await sessions.say(slow, "Sent")
    assert await sessions.take_sentences(slow) == ["Sent"]
    assert await sessions.find(headers) is None
    assert not await sessions.is_open(slow)


@pytest.mark.parametrize("record", [b'{"id":1}', b'{"bearer":"\xff","id":"\xff"}', b'{"x":' + b"[" * 100_000])
async def test_a_session_that_cannot_be_read_lets_nobody_in(record: bytes) -> None:
    kept = InMemory(lambda: 0.0)
    sessions = BrowserSessions(lambda: 0.0, kept)
    session, token = await sessions.open("a", "ann"), await sessions.invite("a", "ann")
    await kept.keep(dict.fromkeys(tuple(kept._held), record), 9.0)  # pyright: ignore[reportPrivateUsage]
    assert await sessions.find(cookie_of(write_cookie(session, HOST, over_https=False))) is None
    assert await sessions.redeem(token) is None
    assert await sessions.is_open(await sessions.open("a", "ann"))  # and nobody is kept out


async def test_a_form_belongs_to_its_session() -> None:
    sessions = BrowserSessions()
    one, other = await sessions.open("a", "ann"), await sessions.open("a", "ann")
    assert is_form_of(one, one.form_token)
    assert not is_form_of(one, other.form_token)
    assert not is_form_of(one, b"")


async def test_sentences_wait_for_the_next_page_and_are_few() -> None:
    sessions = BrowserSessions()
    session = await sessions.open("a", "ann")
    for number in range(9):
        await sessions.say(session, f"said {number}")
    await sessions.say(session, "")
    assert await sessions.take_sentences(session) == ["said 5", "said 6", "said 7", "said 8"]
    assert await sessions.take_sentences(session) == []


class Away(InMemory):
    """A store that does not answer."""

    async def recall(self, *names: str) -> Sequence[bytes | None] | None:  # type: ignore[override]
        return None

    async def keep(self, values: Mapping[str, bytes], seconds: float) -> bool:
        return False


async def test_while_the_store_is_away_nobody_is_turned_out_and_nobody_comes_in() -> None:
    session = await BrowserSessions().open("a", "ann")
    away = BrowserSessions(kept=Away(lambda: 0.0))
    with pytest.raises(Unavailable):
        await away.find(cookie_of(write_cookie(session, HOST, over_https=False)))
    with pytest.raises(Unavailable):
        await away.open("a", "ann")
    with pytest.raises(Unavailable):
        await away.redeem("token")
    assert await away.is_open(session)  # a page that is open stays
    with pytest.raises(Unavailable):
        await away.end(session)


async def test_what_is_kept_in_a_shared_store_is_sealed_and_another_secret_opens_nothing() -> None:
    kept = InMemory(lambda: 0.0)
    seal = SecretSeal(bytes(32))
    sessions = BrowserSessions(lambda: 0.0, kept, seal)
    session, token = await sessions.open("the credential", "ann"), await sessions.invite("the credential", "ann")
    headers = cookie_of(write_cookie(session, HOST, over_https=False))
    held = b"".join(value for _, value in kept._held.values())  # pyright: ignore[reportPrivateUsage]
    for secret in (b"the credential", session.id.encode(), token.encode()):
        assert secret not in held
    assert await BrowserSessions(lambda: 0.0, kept, seal).find(headers) == session
    other = BrowserSessions(lambda: 0.0, kept, SecretSeal(b"x" * 32))
    assert await other.find(headers) is None
    assert await other.look_at(token) is None
