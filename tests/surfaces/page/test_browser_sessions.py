"""Cookies and one-time addresses."""

from __future__ import annotations

from postil.surfaces.page import browser_sessions
from postil.surfaces.page.browser_sessions import BrowserSessions, drop_cookie, is_form_of, name_cookie, write_cookie

HOST = {b"host": b"127.0.0.1:3000"}


def cookie_of(header: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    return {**HOST, b"cookie": header[1].partition(b";")[0]}


def test_an_address_lets_one_browser_in_once() -> None:
    sessions = BrowserSessions()
    token = sessions.invite("bearer")
    first = sessions.redeem(token)
    assert first is not None
    assert first.bearer == "bearer"
    assert sessions.redeem(token) is None
    assert sessions.redeem("") is None


def test_an_address_that_is_too_old_lets_nobody_in() -> None:
    now = [0.0]
    sessions = BrowserSessions(lambda: now[0])
    token = sessions.invite("bearer")
    now[0] = browser_sessions.INVITATION_LIVES + 1
    assert sessions.redeem(token) is None


def test_a_cookie_is_found_again_and_ends() -> None:
    sessions = BrowserSessions()
    session = sessions.open("bearer")
    headers = cookie_of(write_cookie(session, HOST, over_https=False))
    assert sessions.find(headers) is session
    sessions.end(session)
    assert sessions.find(headers) is None
    assert not sessions.is_open(session)


def test_a_browser_that_was_idle_for_long_is_not_known() -> None:
    now = [0.0]
    sessions = BrowserSessions(lambda: now[0])
    headers = cookie_of(write_cookie(sessions.open("bearer"), HOST, over_https=False))
    now[0] = browser_sessions.IDLE + 1
    assert sessions.find(headers) is None


def test_the_cookie_is_strict_hidden_from_scripts_and_named_by_the_port() -> None:
    session = BrowserSessions().open("bearer")
    written = write_cookie(session, HOST, over_https=False)[1].decode()
    assert written.startswith("postil-3000=")
    assert "HttpOnly" in written
    assert "SameSite=Strict" in written
    assert "Secure" not in written
    assert "; Secure" in write_cookie(session, HOST, over_https=True)[1].decode()
    assert name_cookie({b"host": b"postil.example"}) == "postil"
    assert b"Max-Age=0" in drop_cookie(HOST)[1]


def test_the_cookie_of_another_port_is_not_ours() -> None:
    sessions = BrowserSessions()
    headers = cookie_of(write_cookie(sessions.open("bearer"), HOST, over_https=False))
    assert sessions.find({**headers, b"host": b"127.0.0.1:4000"}) is None


def test_the_oldest_browsers_make_room() -> None:
    sessions = BrowserSessions()
    first = sessions.open("bearer")
    for _ in range(browser_sessions.MOST_SESSIONS):
        sessions.open("bearer")
    assert not sessions.is_open(first)


def test_a_form_belongs_to_its_session() -> None:
    sessions = BrowserSessions()
    one, other = sessions.open("a"), sessions.open("a")
    assert is_form_of(one, one.form_token)
    assert not is_form_of(one, other.form_token)
    assert not is_form_of(one, b"")


def test_sentences_wait_for_the_next_page_and_are_few() -> None:
    sessions = BrowserSessions()
    session = sessions.open("a")
    for number in range(9):
        sessions.say(session, f"said {number}")
    sessions.say(session, "")
    assert session.says == ["said 5", "said 6", "said 7", "said 8"]
