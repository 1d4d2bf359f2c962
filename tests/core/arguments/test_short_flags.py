"""The short flags: a letter has one meaning, or the table says why it has two."""

from __future__ import annotations

import msgspec
import pytest

from postil.core.arguments.short_flags import LETTERS, SECOND, choose_letters
from postil.core.catalogue import Catalogue
from tests.tree import PACKAGE

COMMANDS = [
    entry
    for path in sorted((PACKAGE / "catalogue").glob("*.json"))
    if path.name != "commands.json"
    for entry in msgspec.json.decode(path.read_bytes(), type=Catalogue).operations
    if entry.shell
]


def test_every_letter_of_every_command_is_in_the_table():
    assert len(COMMANDS) > 100
    for entry in COMMANDS:
        for name, letter in entry.flags.items():
            assert name in LETTERS.get(letter, ()) or (letter, name) in SECOND, (entry.shell, letter, name)
        assert len(set(entry.flags.values())) == len(entry.flags), entry.shell


def test_two_meanings_of_a_letter_are_explained():
    first = {name: letter for letter, names in LETTERS.items() for name in names}
    assert len(first) == sum(map(len, LETTERS.values()))  # an argument has one letter
    assert not {name for _, name in SECOND} & first.keys()
    assert all(len(why) > 10 for why in SECOND.values())


@pytest.mark.parametrize(
    ("command", "letters"),
    [
        ("inbox send", {"comment": "c", "file": "f", "line": "l", "quiet": "q"}),
        ("inbox reply", {"text": "m"}),
        ("comments add", {"tag": "t", "author": "A"}),
        ("issue list", {"filter": "f", "limit": "L", "all": "a", "label": "l"}),
        ("issue close", {"message": "m", "author": "A"}),
        ("gitlab create-merge-request", {"title": "t", "source_branch": "H", "target_branch": "B", "reviewers": "r"}),
    ],
)
def test_commands_have_the_letters_that_git_and_gh_have(command: str, letters: dict[str, str]):
    entry = next(one for one in COMMANDS if one.shell == command)
    assert {name: entry.flags.get(name) for name in letters} == letters


def test_a_mark_comes_first_and_no_letter_is_given_twice():
    chosen = choose_letters(["milestone", "message", "comment", "text"], {"comment": "m"})
    assert chosen == {"comment": "m"}
    assert choose_letters(["milestone", "message"], {}) == {"milestone": "m"}
