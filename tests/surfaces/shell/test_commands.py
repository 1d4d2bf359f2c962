"""The words of every command there is: they are read or refused, and nothing can crash that."""

import contextlib
import io
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.app import read_catalogue
from postil.core.catalogue import OperationEntry
from postil.core.failure import Failure
from postil.surfaces.shell.commands import Words, kebab

COMMANDS = [entry for entry in read_catalogue().operations if entry.shell]


def named(entry: OperationEntry) -> str:
    return entry.shell


@pytest.mark.parametrize("entry", COMMANDS, ids=named)
def test_a_commands_words_are_plain(entry: OperationEntry) -> None:
    assert re.fullmatch(r"[a-z][a-z-]*( [a-z][a-z-]*){0,2}", entry.shell)
    fields = msgspec.json.decode(entry.command_schema).get("properties", {})
    assert set(entry.positional) <= set(fields)
    assert set(entry.flags) <= set(fields) - set(entry.positional)
    letters = list(entry.flags.values())
    assert len(set(letters)) == len(letters)
    assert "h" not in letters


@pytest.mark.parametrize("entry", COMMANDS, ids=named)
def test_words_that_may_be_left_out_are_left_to_the_operation(entry: OperationEntry) -> None:
    schema = msgspec.json.decode(entry.input_schema)
    needed = {name: schema["properties"][name] for name in schema.get("required", ())}
    words = [_fitting(needed[name]) for name in entry.positional if name in needed]
    words += [f"--{kebab(name)}={_fitting(field)}" for name, field in needed.items() if name not in entry.positional]
    reader = Words(entry, "postil")
    arguments = reader.read(words)[0]
    reader.check(arguments)
    assert set(arguments) == set(needed)


@pytest.mark.parametrize("entry", COMMANDS, ids=named)
def test_every_flag_is_known_as_the_help_shows_it_and_as_the_schema_has_it(entry: OperationEntry) -> None:
    for name, field in msgspec.json.decode(entry.command_schema).get("properties", {}).items():
        if name in entry.positional:
            continue
        value = [] if field.get("type") == "boolean" else [_fitting(field)]
        for flag in (f"--{kebab(name)}", f"--{name}", f"-{entry.flags[name]}" if name in entry.flags else f"--{name}"):
            assert list(Words(entry, "postil").read([flag, *value])[0]) == [name], flag


def _fitting(field: dict[str, Any]) -> str:
    """A word that this argument takes."""
    one = field.get("items", field)
    return str(one["enum"][0]) if "enum" in one else "{}" if one.get("type") == "object" else "1"


def test_no_command_is_the_beginning_of_another_that_could_be_its_argument() -> None:
    commands = {tuple(entry.shell.split()): entry for entry in COMMANDS}
    hidden = [
        words
        for words in commands
        for count in range(1, len(words))
        if words[:count] in commands and _takes(commands[words[:count]], words[count])
    ]
    assert hidden == []


def _takes(entry: OperationEntry, word: str) -> bool:
    """Whether a command takes this as its first word: `list issue` has its kinds, and `identity` is none of them."""
    properties: dict[str, Any] = msgspec.json.decode(entry.input_schema)["properties"]
    first: dict[str, Any] = properties[entry.positional[0]] if entry.positional else {}
    return "enum" not in first or word in first["enum"]


WORDS = st.one_of(
    st.sampled_from(["--", "-", "-h2", "--json", "--=", "=", "", "--no-input=1", "{", "[1]", "\u2028", "9" * 40, "-9"]),
    st.sampled_from(
        [f"--{kebab(name)}" for entry in COMMANDS for name in msgspec.json.decode(entry.input_schema)["properties"]]
    ),
    st.text(max_size=8).filter(lambda word: word not in ("-h", "--help") and not word.startswith("@")),
)


@given(st.sampled_from(COMMANDS), st.lists(WORDS, max_size=6))
def test_whatever_the_words_are_they_parse_or_are_refused(entry: OperationEntry, words: list[str]) -> None:
    ended: object = 0
    with contextlib.suppress(Failure), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"typed")))
        try:
            Words(entry, "postil").read(words)
        except SystemExit as help_shown:  # -h among the letters of a short flag
            ended = help_shown.code
    assert ended == 0
