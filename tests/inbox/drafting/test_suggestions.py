"""A suggestion in the place of its lines, or a refusal."""

from pathlib import Path

import pytest

from postil.inbox.drafting.suggestions import apply_suggestion, describe_change
from postil.inbox.failures import FitsNoMore, NoSuggestion
from postil.inbox.model import Message, Place
from postil.workspace.repository import Repository, find_repository
from tests.workspace.repositories import new_repository

TEXT = b"one\ntwo\nthree\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return find_repository(str(new_repository(tmp_path / "r", a__txt=TEXT.decode())))


def make(suggestion: str | None, line: str = "2", side: str = "new") -> Message:
    return Message(1, Place("a.txt", line, "old" if side == "old" else "new"), "x", "t", suggestion=suggestion)


def test_it_takes_the_place_of_its_lines(repository: Repository) -> None:
    assert apply_suggestion(repository, make("2\n2b"), TEXT) == b"one\n2\n2b\nthree\n"
    assert apply_suggestion(repository, make(""), TEXT) == b"one\nthree\n"


def test_what_has_no_lines_or_no_text_is_refused(repository: Repository) -> None:
    for message in (make(None), make("x", "")):
        with pytest.raises(NoSuggestion):
            apply_suggestion(repository, message, TEXT)


def test_what_does_not_fit_is_refused(repository: Repository) -> None:
    with pytest.raises(FitsNoMore):
        apply_suggestion(repository, make("x", side="old"), TEXT)
    with pytest.raises(FitsNoMore):
        apply_suggestion(repository, make("x"), None)
    (Path(repository.root) / "a.txt").write_text("one\ntwo!\nthree\n")
    with pytest.raises(FitsNoMore):
        apply_suggestion(repository, make("x"), TEXT)


def test_a_change_is_shown_as_a_diff(repository: Repository) -> None:
    assert describe_change(repository, make(None), TEXT) == ""
    (Path(repository.root) / "a.txt").write_text("one\ntwo, and more of it\nthree\n")
    assert "+two, and more of it" in describe_change(repository, make(None), TEXT)


@pytest.mark.parametrize(
    ("line", "now", "shown"),
    [
        ("2", "one\nsomething else entirely\nand more\nthree\n", ["-two", "+something else entirely", "+and more"]),
        ("2", "one\nthree\n", ["-two"]),
        ("1", "something else entirely\ntwo\nthree\n", ["-one", "+something else entirely"]),
        ("3", "one\ntwo\nwholly other words\n", ["-three", "+wholly other words"]),
    ],
)
def test_lines_that_were_replaced_whole_show_what_stands_in_their_place(
    repository: Repository, line: str, now: str, shown: list[str]
) -> None:
    """The commonest outcome of a fix was shown as: the lines are gone."""
    (Path(repository.root) / "a.txt").write_text(now)
    rows = describe_change(repository, make(None, line), TEXT).split("\n")
    assert [row for row in rows if row[:1] in "+-"] == shown


def test_where_no_neighbour_is_left_the_lines_are_gone(repository: Repository) -> None:
    source = Path(repository.root) / "a.txt"
    source.write_text("nothing\nof it\nstands here\n")
    assert describe_change(repository, make(None), TEXT) == "the lines are gone"
    source.unlink()
    assert describe_change(repository, make(None), TEXT) == "the lines are gone"


def test_many_equal_lines_are_compared_at_once(repository: Repository) -> None:
    """Two files of a thousand equal lines took 10 s, and twice as many eight times as long."""
    before = ("x\n" * 5_000 + "two\n" + "x\n" * 5_000).encode()
    (Path(repository.root) / "a.txt").write_text("x\ny\n" * 9_000)
    assert describe_change(repository, make(None, "5001"), before)
    large = make(None, "1-10001")
    assert describe_change(repository, large, before)


def test_a_suggestion_is_looked_for_in_many_equal_lines_at_once(repository: Repository) -> None:
    (Path(repository.root) / "a.txt").write_text("x\n" * 40_000)
    with pytest.raises(FitsNoMore):
        apply_suggestion(repository, make("x\n" * 20_000 + "y"), TEXT)
