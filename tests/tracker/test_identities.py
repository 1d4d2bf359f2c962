"""Identities: who writes in a clone, as the contract's program lets people say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tracker.conftest import git
from tests.tracker.shell import answered, run, said
from tests.tracker.test_exchange import OLD, write_entity

ANN = ("--display-name", "Ann", "--email", "ann@example.org")
KEY = "0123456789ABCDEF0123456789ABCDEF01234567"


def author_of_a_new_issue(where: Path, *words: str) -> str:
    id_ = answered(where, *words, "create", "issue", "T")["id"]
    return answered(where, "log", id_)["events"][0]["author"]


def test_an_adopted_identity_writes_in_its_clone_until_another_author_is_named(repository: Path):
    made = answered(repository, "create", "identity", *ANN, "--login", "ann")
    assert (made["status"], made["display_name"], made["login"]) == ("pending_adoption", "Ann", "ann")
    assert author_of_a_new_issue(repository) == "Tester <tester@example.org>"
    adopted = answered(repository, "adopt", "identity", made["id"][:8], "--signature", "sig")
    assert (adopted["status"], adopted["adoption_signature"]) == ("adopted", "sig")
    assert author_of_a_new_issue(repository) == "Ann <ann@example.org>"
    assert author_of_a_new_issue(repository, "--author", "Bob", "--email", "b@x.org") == "Bob <b@x.org>"
    issue = answered(repository, "create", "issue", "T")["id"]
    assert answered(repository, "claim", issue)["who"] == "Ann"


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


def test_identities_of_the_old_git_mile_are_imported(repository: Path):
    write_entity(
        repository,
        [
            {"version": 1, "type": "created", "data": {"display_name": "Ann", "email": "a@x", "login": "ann"}},
            {"version": 1, "type": "adopted", "data": {"replica_id": "host1", "signature": "s"}},
            {"version": 1, "type": "protection_added", "data": {"protection": {"kind": "pgp", "fingerprint": KEY}}},
        ],
    )
    said(repository, "import", "--source", "git-mile")
    (one,) = answered(repository, "list", "identity")
    assert (one["id"], one["status"], one["email"], one["adopted_by"]) == (OLD, "protected", "a@x", "host1")
