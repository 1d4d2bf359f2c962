"""A refusal says its status, and what to do next in a header."""

from postil.surfaces.gateway.refused import NeedsCredential, Refused, Unavailable


def test_a_refusal_has_the_servers_code_unless_it_says_another() -> None:
    assert (Refused(403, "no").code, Refused(405, "no", -32600).code) == (-32000, -32600)
    assert Refused(403, "no").headers == ()


def test_what_is_away_says_when_to_try_again() -> None:
    assert (Unavailable("x").status, Unavailable("x").headers) == (503, [(b"retry-after", b"1")])
    assert Unavailable("x", 5).headers == [(b"retry-after", b"5")]


def test_a_missing_credential_is_challenged() -> None:
    refused = NeedsCredential("give one")
    assert (refused.status, refused.message) == (401, "Unauthorized: give one")
    assert refused.headers == [(b"www-authenticate", b'Bearer realm="postil"')]


def test_a_refusal_is_said_where_it_is_logged() -> None:
    assert str(Refused(403, "not from there")) == "not from there"
