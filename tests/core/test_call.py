"""The call in progress: silent by default, and of one context alone."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

import pytest

from postil.core import call
from postil.core.call import Call, Caller, Level, Question
from postil.core.failure import Cancelled, Failure


def test_without_a_surface_a_call_listens_to_nobody() -> None:
    silent = copy_context().run(call.current)
    silent.progress(1, 2, "half")
    silent.log("error", "nobody hears it")
    silent.tell("X-Cache", "HIT")
    silent.check()
    with silent.waiting():
        pass
    assert (silent.caller.principal, silent.interactive, silent.person) == ("local", False, False)
    assert silent.trace == {}


def test_what_is_said_of_the_answer_is_kept_with_the_call() -> None:
    one = Call()
    one.labels.add("private")
    assert one.labels == {"private"}
    assert Call().labels == set()


def test_damage_is_told_as_an_error() -> None:
    class Heard(Call):
        """A call whose client hears what is logged."""

        def log(self, level: Level, data: object, logger: str = "") -> None:
            said.append((level, data))

    said: list[tuple[str, object]] = []
    Heard().tell_damage("two events cannot be read")
    assert said == [("error", "two events cannot be read")]


def test_a_call_is_entered_for_its_own_context_alone() -> None:
    mine = Call(Caller("me"))

    def inside() -> Call:
        call.enter(mine)
        return call.current()

    assert copy_context().run(inside) is mine
    assert call.current() is not mine


def test_a_cancelled_call_stops_at_the_next_check() -> None:
    given_up = Call()
    given_up.cancelled = True
    with pytest.raises(Cancelled):
        given_up.check()


def test_a_client_that_cannot_be_asked_says_so() -> None:
    with pytest.raises(Failure, match="cannot be asked"):
        asyncio.run(Call().ask({"q": Question("elicitation/create")}))


@pytest.mark.parametrize(("surface", "reveals"), [("library", True), ("shell", True), ("stdio", True), ("http", False)])
def test_only_over_http_no_path_of_this_machine_is_told(surface: str, reveals: bool) -> None:
    assert Call(Caller(surface=surface)).reveals_paths is reveals  # type: ignore[arg-type]


def test_a_path_is_taken_as_it_was_given_where_nobody_stands_in_a_folder() -> None:
    assert Call().resolve("src/../a.py", "/repo") == "src/../a.py"


def test_a_secret_that_the_caller_brought_is_not_shown() -> None:
    assert "hush" not in repr(Caller("me", credential="hush"))


def test_where_there_is_no_connection_an_answer_has_arrived() -> None:
    arrived: list[str] = []
    Call().when_delivered(lambda: arrived.append("confirmed"), lambda: arrived.append("lost"))
    assert arrived == ["confirmed"]


def test_the_author_is_who_was_verified_and_a_name_is_a_claim() -> None:
    assert Call().sign("claude") == "claude"
    remote = Call(Caller("gitlab:gitlab.com:42", surface="http"))
    assert remote.sign("claude") == "gitlab:gitlab.com:42 (claude)"
    assert remote.sign("") == "gitlab:gitlab.com:42"
    named = Call(Caller("key:9823c9ecaa2b3d12", surface="http", name="bob"))
    assert named.sign("") == named.sign("bob") == "key:9823c9ecaa2b3d12 (bob)"
    assert named.sign("ann") == "key:9823c9ecaa2b3d12 (bob as ann)"


def test_what_a_caller_signed_is_theirs_whatever_they_are_called_by_now() -> None:
    before, now = (Caller("key:9823c9ecaa2b3d12", surface="http", name=name) for name in ("bob", "robert"))
    signed = Call(before).sign("")
    assert now.signed(signed)
    assert now.signed(Call(before).sign("claude"))
    assert not Caller("key:9823c9ecaa2b3d1", surface="http").signed(signed)
    assert (Caller().signed(""), Caller().signed(signed), now.signed("")) == (True, False, False)


def test_two_principals_never_have_the_same_author() -> None:
    """Authors were cut: behind a long issuer everybody was the same."""
    issuer = "oauth:https://login.example.org/realms/" + "department-" * 6
    ada, ben = (Call(Caller(f"{issuer}:{name}", surface="http")) for name in ("ada", "ben"))
    assert ada.caller.principal[:100] == ben.caller.principal[:100]
    assert ada.sign("claude", 100) != ben.sign("claude", 100)
    assert len(ada.sign("claude", 100)) == len(ben.sign("", 100)) == 100
    assert ada.sign("claude", 100) == ada.sign("claude", 100)
    forged = Call(Caller(ada.sign("", 100), surface="http"))
    assert forged.sign("", 100) != ada.sign("", 100)


ODD = ("x", "<x", "x>", "<x>", "x (bob)", "x ", "x\n", "x\0", "x\u200b", "x…", "x…0123456789abcdef", "…")


@pytest.mark.parametrize("longest", [0, 30, 100])
def test_principals_that_differ_in_odd_characters_only_have_authors_of_their_own(longest: int) -> None:
    """Behind an authorization server people may have any name; the tracker took `<` and `>` out of it."""
    principals = [f"oauth:e:{name}" for name in ODD]
    principals += [Call(Caller(each, surface="http")).sign("", longest) for each in principals]  # forged
    held: dict[str, set[str]] = {}
    for principal in principals:
        for claimed in ("", "bob"):
            author = Call(Caller(principal, surface="http")).sign(claimed, longest)
            in_git = "".join(char for char in author if char not in "<>\n\r\0").strip()
            held.setdefault(in_git, set()).add(principal)
    assert [each for each in held.values() if len(each) > 1] == []
    assert held["oauth:e:x"] == held["oauth:e:x (bob)"] == {"oauth:e:x"}


def test_a_claim_that_is_too_long_is_cut_and_the_principal_kept() -> None:
    remote = Call(Caller("gitlab:gitlab.com:42", surface="http"))
    assert remote.sign("c" * 100, 100) == f"gitlab:gitlab.com:42 ({'c' * 76}…)"
    assert remote.sign("claude", 100) == "gitlab:gitlab.com:42 (claude)"
    assert remote.sign("claude", 22) == "gitlab:gitlab.com:42"
    whole = "gitlab:gitlab.com:42 (claude)"
    assert [remote.sign("claude", len(whole) - less) for less in (0, 1)] == [whole, "gitlab:gitlab.com:42 (clau…)"]
    assert Call().sign("c" * 100, 100) == "c" * 100
