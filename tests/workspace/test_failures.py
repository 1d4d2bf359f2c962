"""What goes wrong is said in words that can be shown and sent."""

import errno
import json
import os

import pytest

from postil.core.failure import Failure
from postil.tracker.failures import TooManyLogs
from postil.tracker.log.remotes import RemoteRefused
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
        failures.ObjectDamaged("log", 128, "fatal: no"),
    ]
    for failure in made:
        assert failure.advice, failure
        json.dumps([failure.message, failure.advice, failure.details()]).encode()
        failure.message.encode()


def test_git_fails_with_its_first_line_or_its_status() -> None:
    assert GitFailed("log", 128, "\nfatal: no\nmore").message == "git log failed: fatal: no"
    assert GitFailed("log", 3, " \n").message == "git log failed: exit status 3"
    assert len(GitFailed("log", 128, "x" * 5000).message) < 600
    assert (GitFailed("log", 3, "said").status, GitFailed("log", 3, "said").said) == (3, "said")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_where_git_finds_no_room_the_advice_is_to_make_some(number: int) -> None:
    said = f"fatal: unable to write loose object file: {os.strerror(number)}"
    assert GitFailed("hash-object", 128, said).advice.startswith("Free some space")
    assert "space" not in GitFailed("log", 128, "fatal: no").advice


def test_nobody_is_sent_to_plain_git_without_a_look_at_the_config() -> None:
    """It runs what the config of a hostile repository names, as fsmonitor does in `git diff`."""
    away = "fatal: could not fetch 0123 from promisor remote"
    for failure in (
        GitFailed("diff", 128, "fatal: no"),
        GitFailed("diff", 128, away),
        failures.explain_refusal("diff", 128, f"fatal: unable to read {'ab' * 20}"),
        failures.DamagedRepository(".git"),
        RemoteRefused("push", "origin", "fatal: no"),
        TooManyLogs("packed-refs", 5),
    ):
        assert ".git/config" in failure.advice, failure
        assert "`postil doctor`" in failure.advice, failure


@pytest.mark.parametrize(
    ("said", "is_damage"),
    [
        (f"fatal: unable to read {'d0' * 20}", True),
        (f"fatal: unable to read tree ({'d0' * 20})", True),
        (f"error: Could not read {'d0' * 20}\nfatal: Failed to traverse parents of commit {'d1' * 20}", True),
        (f"error: object file .git/objects/d0/12 is empty\nfatal: loose object {'d0' * 20} is corrupt", True),
        (f"fatal: could not fetch {'d0' * 20} from promisor remote\nfatal: unable to read {'d0' * 20}", False),
        ("fatal: unable to read askpass response", False),
        (f"fatal: bad object {'d0' * 20}", False),
    ],
)
def test_an_object_that_is_missing_is_damage(said: str, is_damage: bool) -> None:
    failure = failures.explain_refusal("diff", 128, said)
    assert failure.exit_status == (7 if is_damage else 1)
    assert isinstance(failure, failures.ObjectDamaged) == is_damage
