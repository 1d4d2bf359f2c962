"""Undecided values are found, taken apart and decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tracker.programs import answered, git, run, said


@pytest.fixture
def disputed(repository: Path, tmp_path: Path) -> tuple[Path, str]:
    """A clone in which two people gave one issue different titles and descriptions at the same time."""
    hub, other = tmp_path / "hub.git", tmp_path / "other"
    git(tmp_path, "init", "--quiet", "--bare", str(hub))
    git(repository, "remote", "add", "origin", str(hub))
    id_ = answered(repository, "create", "issue", "First", "--description", "one line")["id"]
    said(repository, "push")
    git(tmp_path, "clone", "--quiet", str(hub), str(other))
    said(other, "pull")
    for clone, word in ((repository, "Mine"), (other, "Theirs")):
        said(
            clone, "--author", word, "--email", "x@y", "edit", id_, "--title", word, "--description", f"line of {word}"
        )
    said(other, "push")
    said(repository, "pull")
    return repository, id_


def lost_title(where: Path, id_: str) -> tuple[str, str]:
    shown = answered(where, "show", id_)
    (conflict,) = [one for one in shown["conflicts"] if one["field"] == "title"]
    return shown["title"], conflict["value"]


def test_undecided_values_are_listed_and_shown_with_how_to_decide(disputed: tuple[Path, str]):
    where, id_ = disputed
    (one,) = answered(where, "entity-debug", "list")["entities"]
    assert (one["id"], {lost["field"] for lost in one["conflicts"]}) == (id_, {"title", "description"})
    winner, loser = lost_title(where, id_)
    assert {winner, loser} == {"Mine", "Theirs"}
    assert f"git mile resolve {id_[:8]}" in said(where, "show", id_)
    assert [item["id"] for item in answered(where, "list", "issue", "conflicts > 0")["items"]] == [id_]
    beneath = answered(where, "entity-debug", "show", id_)
    assert len(beneath["writers"]) == 2
    assert {one["event"] for one in beneath["conflicts"]} <= {event["id"] for event in beneath["events"]}
    assert "undecided: title" in said(where, "entity-debug", "show", id_)


@pytest.mark.parametrize("strategy", ["ours", "theirs", "manual"])
def test_a_decision_holds_and_ends_the_dispute(disputed: tuple[Path, str], strategy: str):
    where, id_ = disputed
    winner, loser = lost_title(where, id_)
    (lost,) = [one for one in answered(where, "show", id_)["conflicts"] if one["field"] == "title"]
    words = ("--head", lost["event"]) if strategy == "manual" else ("--field", "title")
    assert answered(where, "resolve", id_, "--strategy", strategy, *words)["changed"] == ["title decided"]
    shown = answered(where, "show", id_)
    assert shown["title"] == (winner if strategy == "ours" else loser)
    assert [one["field"] for one in shown["conflicts"]] == ["description"]
    said(where, "entity-debug", "resolve", id_)
    assert "conflicts" not in answered(where, "show", id_)
    assert said(where, "entity-debug", "list") == "No entity has undecided values\n"


def test_a_decision_about_nothing_is_refused(disputed: tuple[Path, str]):
    where, id_ = disputed
    manual, head, due = ("--strategy", "manual"), ("--head", "x"), ("--field", "due")
    for words in (manual, head, (*manual, *head), due):
        assert run(where, "resolve", id_, *words).returncode == 2, words
        assert len(answered(where, "show", id_)["conflicts"]) == 2, words


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (("entity-debug", "show"), "ID"),
        (("protect", "identity", "abc"), "--pgp-fingerprint"),
        (("create", "issue"), "TITLE"),
        (("label", "issue", "--add", "x"), "ID"),
        (("comment", "issue"), "ID"),
    ],
)
def test_what_a_command_needs_is_asked_for_though_the_operation_could_do_without(
    repository: Path, words: tuple[str, ...], missing: str
):
    done = run(repository, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"arguments are required: {missing}" in done.stderr
