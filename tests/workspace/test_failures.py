"""What goes wrong is said in words that can be shown and sent."""

import errno
import json
import os

import pytest

from postil.core.failure import Failure
from postil.workspace import failures
from postil.workspace.failures import GitFailed, UnsafePath, printable


@pytest.mark.parametrize(
    ("path", "shown"),
    [("plain/é", "plain/é"), ("bad\udcff", "bad\\xff"), ("\ud800", "\\ud800"), ("\udcc3\udca9", "é")],
)
def test_bytes_that_are_not_text_become_escapes(path: str, shown: str) -> None:
    assert printable(path) == shown


def test_every_failure_can_be_sent_as_json_and_says_what_to_do() -> None:
    odd = "a\udcff\ud800"
    made: list[Failure] = [
        failures.NoRepository(odd),
        failures.DamagedRepository(odd),
        failures.GitMissing(),
        failures.GitTimedOut("log", 60.0),
        UnsafePath(odd, "is empty"),
        failures.FileMissing(odd),
        failures.FileTooLarge(odd, 2, 1),
        failures.FileUnreadable(odd, "why"),
        failures.WriteFailed(odd, "why"),
        failures.LockBusy(odd, 1.5),
        GitFailed("log", 128, "fatal: no"),
    ]
    for failure in made:
        assert failure.advice, failure
        json.dumps([failure.message, failure.advice, failure.details()]).encode()
        failure.message.encode()


def test_git_fails_with_its_first_line_or_its_status() -> None:
    assert GitFailed("log", 128, "\nfatal: no\nmore").message == "git log failed: fatal: no"
    assert GitFailed("log", 3, " \n").message == "git log failed: exit status 3"
    assert (GitFailed("log", 3, "said").status, GitFailed("log", 3, "said").said) == (3, "said")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_where_git_finds_no_room_the_advice_is_to_make_some(number: int) -> None:
    said = f"fatal: unable to write loose object file: {os.strerror(number)}"
    assert GitFailed("hash-object", 128, said).advice.startswith("Free some space")
    assert "space" not in GitFailed("log", 128, "fatal: no").advice
