"""The words of one command become the arguments of its operation.

What the words are is read from the catalogue; what the values mean is checked by the operation itself, once. Only when
it refuses them are the words looked at again, to say it in the terms of the command line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn, cast

import msgspec

from postil.core import limits
from postil.core.arguments.file_line import split_place
from postil.core.catalogue import OperationEntry
from postil.core.failure import InvalidArguments
from postil.core.others.unreadable import UNREADABLE
from postil.workspace.disk import read_named

Schema = dict[str, Any]
SECRETS = frozenset({"token"})
TEXTS = frozenset(
    {"text", "comment", "body", "description", "content", "message", "note", "reason", "reply", "summary"}
)
"""Arguments that hold prose: `-` for one of them means standard input."""
PLACES = {"filePath": "line", "targetFile": "targetLine"}
"""Arguments that name a file, and the one behind each that names its line: one word (`FILE:LINE`) may give both."""
SWITCHES = ("--json", "--no-input")
KEY = "--idempotency-key"


class Usage(InvalidArguments):
    """The command line cannot be understood."""


class Common(NamedTuple):
    """The flags that every command has."""

    as_json: bool = False
    no_input: bool = False
    key: str = ""


class Words:
    """The words behind a command, read one after the other.

    Every flag is taken in the spelling of the shell (`--file-path`) and in that of the tool's schema (`--filePath`).
    A flag that takes a value takes the next word whatever it begins with, unless that is a flag of this command: so a
    remark such as "-1 is wrong here" needs no quoting of its own.
    """

    def __init__(self, entry: OperationEntry, program: str) -> None:
        self.entry, self.program = entry, program
        schema: Schema = msgspec.json.decode(entry.shell_schema or entry.input_schema)
        self.fields: dict[str, Schema] = schema.get("properties", {})
        self.required: list[str] = schema.get("required", [])

    def read(self, words: list[str]) -> tuple[dict[str, Any], Common]:
        """Returns the arguments and the common flags. Raises Usage. Prints the help, and ends, where that is asked."""
        given: dict[str, Any] = {}
        plain: list[str] = []
        unknown: list[str] = []
        rest = words[::-1]
        while rest:
            word = rest.pop()
            if word == "--":
                plain += reversed(rest)
                break
            if word[:1] != "-" or len(word) == 1 or " " in word.partition("=")[0] or _NUMBER.fullmatch(word):
                plain.append(word)
            elif not self._flag(word, rest, given):
                unknown.append(word)
        common = Common(given.pop("--json", False), given.pop("--no-input", False), given.pop(KEY, ""))
        unknown += self._place(plain, given)
        if unknown:
            self.check(given)  # what is missing is said first
            self._refuse_unknown(unknown)
        return given, common

    def _flag(self, word: str, rest: list[str], given: dict[str, Any]) -> bool:
        """Read a flag, with its value from the rest. Returns whether there is such a flag."""
        flag, joined, value = word.partition("=")
        name = self._argument(flag)
        if not name and word[1] != "-" and len(word) > 2:  # -l5, or -ab for -a -b
            name, joined, value = self._argument(word[:2]), "=", word[2:]
            if name and self._kind(name) == "boolean":
                rest.append(f"-{value}")
                joined = ""
        if not name:
            return False
        kind = self._kind(name)
        if kind == "boolean":
            if joined:
                raise self.fault(f"argument {self.shown(name)}: ignored explicit argument {value!r}")
            if name == "--help":
                self._show_help()
            given[name] = not flag.startswith("--no-") or name in SWITCHES or kebab(name) == flag[2:]
            return True
        if not joined:
            if not rest or (rest[-1][:1] == "-" and self._argument(rest[-1])):
                raise self.fault(f"argument {self.shown(name)}: expected one argument")
            value = rest.pop()
        if name == KEY:
            given[name] = value
        elif kind == "array":
            given.setdefault(name, []).append(self._value(name, value))
        else:
            given[name] = self._value(name, value)
        return True

    def _argument(self, flag: str) -> str:
        """Returns the argument that a flag stands for; a common flag stands for itself."""
        if flag[:2] != "--":
            if flag == "-h":
                return "--help"
            return next((name for name, letter in self.entry.flags.items() if flag == f"-{letter}"), "")
        if flag in SWITCHES or flag == "--help" or (flag == KEY and self.entry.effect != "reads"):
            return flag
        spoken = flag[2:]
        first, *others = spoken.split("-")
        for name in (spoken, spoken.replace("-", "_"), first + "".join(word.capitalize() for word in others)):
            if name in self.fields and name not in self.entry.positional:
                return name
        denied = self._argument(f"--{spoken[3:]}") if first == "no" and others else ""
        return denied if denied in self.fields and self.fields[denied].get("default") is True else ""

    def _kind(self, name: str) -> str:
        return kind_of(self.fields[name]) if name in self.fields else "string" if name == KEY else "boolean"

    def _place(self, words: list[str], given: dict[str, Any]) -> list[str]:
        """Give the words without a flag to the arguments that take them. Returns those that nothing takes."""
        names = self.entry.positional
        words = self._split_places(words, given)
        for place, name in enumerate(names):
            needed = sum(other in self.required for other in names[place + 1 :]) if len(names) > 1 else 0
            free = len(words) - (needed if name not in self.required else 0)
            if free <= 0:
                continue
            if kind_of(self.fields[name]) == "array":
                count = max(len(words) - needed, 1)
                given[name] = [self._value(name, word) for word in words[:count]]
                words = words[count:]
            else:
                given[name] = self._value(name, words[0])
                words = words[1:]
        return words

    def _split_places(self, words: list[str], given: dict[str, Any]) -> list[str]:
        """Returns the words with `FILE:LINE` and `FILE:10-12` as a file and its line; the end of a range is given."""
        names = self.entry.positional
        for at, name in enumerate(names[: len(words)]):
            file, line, end = split_place(words[at])
            is_pair = line and names[at + 1 : at + 2] == (PLACES.get(name),)
            # With all its words there, a number behind it is the line: a name may hold a colon.
            if is_pair and not (len(words) >= len(names) and words[at + 1 :][:1] and words[at + 1].isdecimal()):
                if end and "endLine" in self.fields:
                    given.setdefault("endLine", end)
                return [*words[:at], file, str(line), *words[at + 1 :]]
        return words

    def _value(self, name: str, word: str) -> Any:
        field = self.fields[name]
        try:
            return read_value(name, field.get("items", field) if kind_of(field) == "array" else field, word)
        except ValueError as wrong:
            raise self.fault(f"argument {self.shown(name)}: {wrong}") from None

    def check(self, given: dict[str, Any]) -> None:
        """Raise Usage, in the words of the command line, when an argument is missing or is none of its choices."""
        missing = [name for name in self.required if name not in given]
        if missing:
            order = [*self.entry.positional, *self.fields]
            shown = ", ".join(self.shown(name) for name in sorted(missing, key=order.index))
            also = ""
            if pair := next((pair for pair in PLACES.items() if pair[1] in missing and pair[0] in self.required), None):
                also = "Give FILE:LINE" + (", or :LINE of its own file" if pair[0] == "targetFile" else "")
            raise self.fault(f"the following arguments are required: {shown}", also)
        for name, value in given.items():
            field = self.fields[name]
            choices: list[object] = field.get("items", field).get("enum", [])
            for one in cast("list[object]", value) if isinstance(value, list) else [value]:
                if choices and isinstance(one, str) and one not in choices:
                    among = f"{one!r} is none of {', '.join(map(str, choices))}{near(one, map(str, choices))}"
                    raise self.fault(f"argument {self.shown(name)}: {among}")

    def _refuse_unknown(self, words: list[str]) -> NoReturn:
        flag = words[0].partition("=")[0]
        if flag[:1] == "-":
            if bare := next((name for name in self.entry.positional if flag == f"--{kebab(name)}"), ""):
                raise self.fault(f"There is no flag {flag}: {self.shown(bare)} is given without one")
            flags = [f"--{kebab(name)}" for name in self.fields if name not in self.entry.positional]
            raise self.fault(f"There is no flag {flag}{near(flag, [*flags, *SWITCHES, KEY, '--help'])}")
        raise self.fault(f"unrecognized arguments: {' '.join(words)}")

    def shown(self, name: str) -> str:
        """Returns an argument as the command line has it: TEXT, or -l/--line."""
        if name not in self.fields:
            return "-h/--help" if name == "--help" else name
        if name in self.entry.positional:
            return kebab(name).upper()
        short = self.entry.flags.get(name)
        return f"-{short}/--{kebab(name)}" if short else f"--{kebab(name)}"

    def fault(self, message: str, advice: str = "") -> Usage:
        """Returns the failure for words that cannot be understood."""
        help_ = f"`{self.program} --help` says more" if advice else f"Run `{self.program} --help`"
        return Usage(message[:1].upper() + message[1:], advice=f"{advice}; {help_}" if advice else help_)

    def _show_help(self) -> NoReturn:
        from postil.surfaces.shell.flags import parser_of  # argparse, for its layout alone

        parser_of(self.entry, self.program).print_help()
        raise SystemExit(0)


_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
"""A negative number is no flag: no command has a digit for one."""


def kind_of(field: Schema) -> str:
    """Returns the JSON type of an argument; `any` where it has several."""
    kind = field.get("type")
    if isinstance(kind, str):
        return kind
    if "enum" in field:
        return "string"
    kinds = {str(option.get("type")) for option in field.get("anyOf", ())}
    kinds.discard("null")
    return "array" if kinds == {"array"} else "any"


def read_value(name: str, field: Schema, word: str) -> Any:
    """Returns one word as a JSON value of the schema's type. Raises ValueError with a sentence."""
    kind = kind_of(field)
    if name in SECRETS:
        return _read_secret(name, word)
    if kind in ("integer", "number"):
        try:
            return int(word)
        except ValueError:
            pass
        try:
            return float(word if kind == "number" else "none")
        except ValueError:
            raise ValueError(f"{word!r} is not a {'whole ' * (kind == 'integer')}number") from None
    if kind in ("object", "array"):
        return read_json(word, kebab(name))
    if kind == "any":
        return _one_of_several(name, field, word)
    return read_stdin() if word == "-" and name in TEXTS and "enum" not in field else word


def _read_secret(name: str, word: str) -> str:
    """Returns a secret from standard input or a file: everybody on this machine can read a command line."""
    if word == "-":
        return read_stdin().strip()
    if not word.startswith("@"):
        raise ValueError("give @FILE, or - for standard input: others can read a command line")
    try:
        return read_named(word[1:], limits.HEAD).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"{word[1:]} cannot be read: {error}", advice="Name a file that holds the secret") from None


def _one_of_several(name: str, field: Schema, word: str) -> Any:
    """Returns a whole number, a structure or true/false where the schema has it, else the text."""
    kinds = {str(option.get("type")) for option in field.get("anyOf", ())}
    if "integer" in kinds and re.fullmatch(r"-?\d{1,18}", word):
        return int(word)
    if kinds & {"object", "array"} and word[:1] in "{[":
        return read_json(word, kebab(name))
    if "boolean" in kinds and word in ("true", "false"):
        return word == "true"
    return word


def read_json(word: str, name: str) -> Any:
    """Returns JSON given as a word, as `@file`, or as `-` for standard input."""
    if word == "-":
        word = read_stdin()
    elif word.startswith("@"):
        try:
            word = read_named(word[1:], limits.STANDARD_INPUT).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Usage(
                f"{word[1:]} cannot be read: {error}", advice="Give the JSON itself, or an existing file"
            ) from None
    try:
        return msgspec.json.decode(word)
    except UNREADABLE as error:
        raise Usage(f"{name} is not JSON: {error}", advice='Quote it for the shell: \'{"key": "value"}\'') from None


def read_stdin() -> str:
    """Returns all of standard input, which has to be UTF-8."""
    try:
        said = sys.stdin.buffer.read(limits.STANDARD_INPUT + 1)
        if len(said) > limits.STANDARD_INPUT:
            raise Usage(f"Standard input has more than {limits.STANDARD_INPUT} bytes", advice="Give less at once")
        return said.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        raise Usage("Standard input is not UTF-8 text", advice="Convert it, for example with iconv") from None


def kebab(name: str) -> str:
    """Returns `filePath` and `file_path` as the shell says them: `file-path`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", name).replace("_", "-").lower()


def near(word: str, known: Iterable[str]) -> str:
    """Returns a question that names the nearest known word, or an empty text where none is near."""
    from difflib import get_close_matches

    bare = {name.lstrip("-"): name for name in known}  # two dashes are in every flag, and make none of them alike
    said = word.lstrip("-")[:100]
    found = [name for name in bare if len(said) > 2 and name.startswith(said)][:1]
    if not found and len(said) > 5:
        found = get_close_matches(said, list(bare), 1, 0.72)
    elif not found:  # two letters turned; a word that is much longer or shorter is another word
        found = get_close_matches(said, [name for name in bare if abs(len(name) - len(said)) < 3], 1, 0.65)
    if not found and word.startswith("--"):  # a flag may say the same by another word
        from postil.core.arguments.near_name import guess_name

        found = [name for name in (guess_name(said.replace("-", "_"), list(bare)),) if name]
    return f". Did you mean {bare[found[0]]!r}?" if found else ""
