"""Who writes in this clone."""

from __future__ import annotations

from pathlib import Path

from tests.tracker.programs import answered
from tests.tracker.teams import ANN, author_of_a_new_issue


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
