"""The words of every command there is: they are read or refused, and nothing can crash that."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.app import read_catalogue
from postil.core.catalogue import OperationEntry
from postil.core.failure import Failure
from postil.surfaces.shell.commands import SECRETS, Usage, Words, kebab, near

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
        value = [f"@{__file__}"] if name in SECRETS else value
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


# -- one command with every kind of argument --------------------------------------------------------------------------

SCHEMA = {
    "properties": {
        "paths": {"type": "array", "items": {"type": "string"}},
        "target": {"type": "string"},
        "line": {"type": "integer"},
        "share": {"type": "number"},
        "labels": {"type": "array", "items": {"type": "string", "enum": ["bug", "doc"]}},
        "all": {"type": "boolean", "default": False},
        "color": {"type": "boolean", "default": True},
        "no_cache": {"type": "boolean", "default": False},
        "filePath": {"type": "string"},
        "text": {"type": "string"},
        "extra": {"type": "object"},
        "ref": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}, {"type": "array"}]},
    },
    "required": ["target"],
}
ENTRY = OperationEntry(
    "try",
    "part",
    "group",
    "try",
    "writes",
    "Try",
    msgspec.Raw(msgspec.json.encode(SCHEMA)),
    shell="try",
    positional=("paths", "target"),
    flags={"line": "l", "all": "a", "color": "c"},
)


def read(*words: str) -> dict[str, Any]:
    return Words(ENTRY, "postil try").read(list(words))[0]


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["t"], {"target": "t"}),
        (["a", "b", "t"], {"paths": ["a", "b"], "target": "t"}),
        (["a", "--line", "3", "t"], {"paths": ["a"], "target": "t", "line": 3}),
        (["t", "-l", "-3"], {"target": "t", "line": -3}),
        (["t", "-l5"], {"target": "t", "line": 5}),
        (["t", "-l=5"], {"target": "t", "line": 5}),
        (["t", "-al5"], {"target": "t", "all": True, "line": 5}),
        (["-1", "t"], {"paths": ["-1"], "target": "t"}),
        (["-.5", "t"], {"paths": ["-.5"], "target": "t"}),
        (["-1 is wrong", "t"], {"paths": ["-1 is wrong"], "target": "t"}),
        (["--", "--all", "-"], {"paths": ["--all"], "target": "-"}),
        (["t", "--share", "0.5"], {"target": "t", "share": 0.5}),
        (["t", "--share", "2"], {"target": "t", "share": 2}),
        (["t", "--labels", "bug", "--labels=doc"], {"target": "t", "labels": ["bug", "doc"]}),
        (["t", "--no-color", "--no-cache"], {"target": "t", "color": False, "no_cache": True}),
        (["t", "--color"], {"target": "t", "color": True}),
        (["t", "--filePath", "x", "--file-path=y"], {"target": "t", "filePath": "y"}),
        (["t", "--text", "--unknown thing"], {"target": "t", "text": "--unknown thing"}),
        (["t", "--extra", '{"a": [1]}'], {"target": "t", "extra": {"a": [1]}}),
        (["t", "--ref", "12"], {"target": "t", "ref": 12}),
        (["t", "--ref", "12a"], {"target": "t", "ref": "12a"}),
        (["t", "--ref", "true"], {"target": "t", "ref": True}),
        (["t", "--ref", "[1]"], {"target": "t", "ref": [1]}),
        (["t", "--ref", "9" * 19], {"target": "t", "ref": "9" * 19}),
    ],
)
def test_words_become_arguments(words: list[str], arguments: dict[str, Any]) -> None:
    assert read(*words) == arguments


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["t", "--line"], "Argument -l/--line: expected one argument"),
        (["t", "--line", "--all"], "Argument -l/--line: expected one argument"),
        (["t", "--line", "x"], "Argument -l/--line: 'x' is not a whole number"),
        (["t", "--line", "1.5"], "Argument -l/--line: '1.5' is not a whole number"),
        (["t", "--share", "x"], "Argument --share: 'x' is not a number"),
        (["t", "--all=1"], "Argument -a/--all: ignored explicit argument '1'"),
        (["t", "--json=1"], "Argument --json: ignored explicit argument '1'"),
        (["t", "--no-all"], "There is no flag --no-all"),
        (["t", "--aal"], "There is no flag --aal. Did you mean '--all'?"),
        (["t", "-x"], "There is no flag -x"),
        (["--aal"], "The following arguments are required: TARGET"),
        (["t", "--extra", "{"], "extra is not JSON"),
    ],
)
def test_words_that_cannot_be_read_are_refused_in_their_own_terms(words: list[str], says: str) -> None:
    with pytest.raises(Usage) as refused:
        read(*words)
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "The following arguments are required: TARGET"),
        (
            {"target": "t", "labels": ["bug", "dco"]},
            "Argument --labels: 'dco' is none of bug, doc. Did you mean 'doc'?",
        ),
    ],
)
def test_what_the_operation_refused_is_said_in_the_terms_of_the_shell(given: dict[str, Any], says: str) -> None:
    with pytest.raises(Usage) as refused:
        Words(ENTRY, "postil try").check(given)
    assert refused.value.message == says
    assert refused.value.advice == "Run `postil try --help`"


@pytest.mark.parametrize(
    ("command", "words", "arguments"),
    [
        ("comments add", ["a.py:10", "why"], {"filePath": "a.py", "line": 10, "text": "why"}),
        ("comments add", ["a.py:10-12", "42"], {"filePath": "a.py", "line": 10, "endLine": 12, "text": "42"}),
        ("comments add", ["odd:10", "4", "why"], {"filePath": "odd:10", "line": 4, "text": "why"}),
        ("comments add", ["a.py", "10", "see b.py:3"], {"filePath": "a.py", "line": 10, "text": "see b.py:3"}),
        ("comments copy", ["c_1", "a.py:10"], {"copyOf": "c_1", "filePath": "a.py", "line": 10}),
        ("comments move", ["c_1", "a.py:10"], {"commentId": "c_1", "targetFile": "a.py", "targetLine": 10}),
        ("comments move", ["c_1", ":10"], {"commentId": "c_1", "targetFile": "", "targetLine": 10}),
        ("comments reply", ["c_1", "a.py:10"], {"commentId": "c_1", "text": "a.py:10"}),
    ],
)
def test_a_file_and_its_line_may_be_one_word(command: str, words: list[str], arguments: dict[str, Any]) -> None:
    entry = next(each for each in COMMANDS if each.shell == command)
    given = Words(entry, f"postil {command}").read(words)[0]
    assert {name: value for name, value in given.items() if name in arguments} == arguments
    assert len(given) == len(arguments)


@pytest.mark.parametrize(
    ("command", "words", "advice"),
    [
        ("comments add", ["a.py"], "Give FILE:LINE;"),
        ("comments move", ["c_1"], "Give FILE:LINE, or :LINE of its own file;"),
        ("comments move", ["c_1", "50"], "Give FILE:LINE, or :LINE of its own file;"),
        ("comments reply", ["c_1"], "Run `postil comments reply --help`"),
    ],
)
def test_who_gave_no_line_is_told_how_to_give_one(command: str, words: list[str], advice: str) -> None:
    entry = next(each for each in COMMANDS if each.shell == command)
    reader = Words(entry, f"postil {command}")
    with pytest.raises(Usage) as refused:
        reader.check(reader.read(words)[0])
    assert refused.value.advice.startswith(advice)


def test_the_common_flags_stand_anywhere() -> None:
    arguments, common = Words(ENTRY, "postil try").read(["--json", "t", "--no-input", "--idempotency-key", "-k"])
    assert (arguments, common) == ({"target": "t"}, (True, True, "-k"))


def test_prose_may_come_from_standard_input_and_other_words_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Grüße\n\n".encode())))
    assert read("-", "--text", "-") == {"target": "-", "text": "Grüße\n"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    with pytest.raises(Usage, match="UTF-8"):
        read("t", "--text", "-")


def test_a_secret_is_never_a_word_of_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everybody on the machine can list the words of a command."""
    words = ["5", "https://example.org", "--events", "push", "--token"]
    hook = Words(next(entry for entry in COMMANDS if entry.shell == "gitlab webhook"), "postil gitlab webhook")
    with pytest.raises(Usage, match="give @FILE, or - for standard input"):
        hook.read([*words, "hush"])
    (tmp_path / "secret").write_text("hush\n")
    assert hook.read([*words, f"@{tmp_path / 'secret'}"])[0]["token"] == "hush"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hush\n")))
    assert hook.read([*words, "-"])[0]["token"] == "hush"
    for entry in COMMANDS:
        for name in msgspec.json.decode(entry.command_schema).get("properties", {}):
            if re.search("token|secret|password", name):
                assert name in SECRETS, f"{entry.shell}: {name}"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--desc", "--description"),
        ("--descripton", "--description"),
        ("dco", "doc"),
        ("commit", ""),  # is not `comments`
        ("--yes", ""),
        ("--body", "--text"),
        ("--path", ""),  # is not `--author`
        ("de", ""),
    ],
)
def test_only_what_is_near_is_suggested(word: str, meant: str) -> None:
    known = ["--description", "--json", "--author", "--text", "doc", "comments", "status"]
    assert near(word, known) == (f". Did you mean {meant!r}?" if meant else "")
