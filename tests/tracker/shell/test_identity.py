"""Identities on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tracker.programs import answered, git, run, said
from tests.tracker.teams import ANN, author_of_a_new_issue

KEY = "0123456789ABCDEF0123456789ABCDEF01234567"


def test_identities_are_listed_and_are_no_issues(repository: Path):
    answered(repository, "create", "identity", *ANN, "--adopt", "--protect-pgp", KEY)
    answered(repository, "identity", "create", "--display-name", "Bob", "--email", "bob@example.org", program="main")
    listed = answered(repository, "list", "identity")
    assert [(one["display_name"], one["status"]) for one in listed] == [
        ("Ann", "protected"),
        ("Bob", "pending_adoption"),
    ]
    table = said(repository, "list", "identity").splitlines()
    assert table[0].split() == ["ID", "STATUS", "ADOPTED_BY", "DISPLAY", "NAME"]
    assert answered(repository, "list", "issue", "--all")["items"] == []


def test_a_key_is_noted_once_and_only_for_who_is_adopted(repository: Path, tmp_path: Path):
    id_ = answered(repository, "create", "identity", *ANN)["id"]
    early = run(repository, "protect", "identity", id_, "--pgp-fingerprint", KEY)
    assert (early.returncode, "adopted" in early.stderr) == (2, True)
    answered(repository, "adopt", "identity", id_)
    (tmp_path / "key.asc").write_text("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
    words = ("protect", "identity", id_, "--pgp-fingerprint", KEY.lower(), "--armored-key", str(tmp_path / "key.asc"))
    assert answered(repository, *words)["protections"] == [KEY]
    events = len(answered(repository, "log", id_)["events"])
    assert answered(repository, *words)["status"] == "protected"
    assert len(answered(repository, "log", id_)["events"]) == events


@pytest.mark.parametrize(
    "words",
    [
        ("--display-name", "", "--email", "a@b"),
        ("--display-name", "Ann", "--email", "nobody"),
        ("--display-name", "Ann", "--email", "<a@b>"),
        (*ANN, "--adopt", "--protect-pgp", "xyz"),
        (*ANN, "--protect-pgp", KEY),
        (*ANN, "--protect-pgp-armored", "no-such-file"),
    ],
)
def test_an_identity_that_is_none_is_refused_and_writes_nothing(repository: Path, words: tuple[str, ...]):
    assert run(repository, "create", "identity", *words).returncode == 2
    assert git(repository, "for-each-ref") == ""


def test_an_identity_that_another_clone_adopted_is_not_adopted_again(repository: Path, tmp_path: Path):
    id_ = answered(repository, "create", "identity", *ANN, "--adopt")["id"]
    git(tmp_path, "clone", "--quiet", str(repository), "other")
    said(tmp_path / "other", "pull")
    refused = run(tmp_path / "other", "adopt", "identity", id_)
    assert (refused.returncode, "is adopted by the clone" in refused.stderr) == (6, True)
    assert author_of_a_new_issue(tmp_path / "other") == "Tester <tester@example.org>"
