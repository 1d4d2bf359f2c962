"""Commands of the shell, made from the catalogue: an argument parser for one operation, and its answer as JSON values.

Only the parser of the chosen command is built. What the values mean is checked by the operation itself.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import msgspec

from postil.core.catalogue import OperationEntry
from postil.core.failure import InvalidArguments

Schema = dict[str, Any]
TEXTS = frozenset({"text", "comment", "body", "description", "content", "message", "note", "reason", "reply"})
"""Arguments that hold prose: `-` for one of them means standard input."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose faults are failures, so that one place prints them all."""

    def __init__(self, prog: str, description: str, **options: Any) -> None:
        super().__init__(prog, description=description, allow_abbrev=False, formatter_class=Formatter, **options)

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting; a flag that is not known gets the nearest one."""
        if message.startswith("unrecognized arguments: -"):
            flag = message.split()[2].partition("=")[0]
            flags = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
            message = f"There is no flag {flag}{near(flag, flags)}"
        raise Usage(message[:1].upper() + message[1:], advice=f"Run `{self.prog} --help`")


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. argparse would import shutil to measure it, for every parser it builds."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns())


def _columns() -> int:
    try:
        return min(os.get_terminal_size(sys.stdout.fileno()).columns, 120) - 2
    except (OSError, ValueError):
        return 98


class Usage(InvalidArguments):
    """The command line cannot be understood."""


def parser_of(entry: OperationEntry, program: str) -> Parser:
    """The parser of one operation's command."""
    parser = Parser(program, entry.description, argument_default=argparse.SUPPRESS)
    schema: Schema = msgspec.json.decode(entry.command_schema)
    required = set(schema.get("required", ()))
    fields: Schema = schema.get("properties", {})
    for name in entry.positional:
        _add_positional(parser, name, fields[name], name in required)
    for name, field in fields.items():
        if name not in entry.positional:
            _add_flag(parser, name, field, name in required, entry.flags.get(name, ""))
    add_common(parser, writes=entry.effect != "reads")
    return parser


def add_common(parser: argparse.ArgumentParser, *, writes: bool) -> None:
    """The flags that every command has."""
    common = parser.add_argument_group("common options")
    common.add_argument("--json", action="store_true", dest="--json", help="print the result as JSON")
    common.add_argument("--no-input", action="store_true", dest="--no-input", help="never ask anything")
    if writes:
        common.add_argument(
            "--idempotency-key",
            dest="--idempotency-key",
            metavar="KEY",
            help="the same key again gives the same answer and no second effect",
        )


def arguments_of(parsed: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The operation's arguments, and the common flags by their own names."""
    given: dict[str, Any] = vars(parsed)
    common = {name: value for name, value in given.items() if name.startswith("--")}
    return {name: value for name, value in given.items() if name not in common}, common


def _add_positional(parser: argparse.ArgumentParser, name: str, field: Schema, required: bool) -> None:
    choices = ", ".join(map(str, field.get("enum", ())))
    options: dict[str, Any] = {"metavar": kebab(name).upper(), "help": _help(field) or choices}
    if _kind(field) == "array":
        options |= {"nargs": "+" if required else "*", "action": "extend"}
    elif not required:
        options["nargs"] = "?"
    parser.add_argument(name, type=_Reader(name, field.get("items", field)), **options)


def _add_flag(parser: argparse.ArgumentParser, name: str, field: Schema, required: bool, short: str) -> None:
    kind = _kind(field)
    names = ([f"-{short}"] if short else []) + [f"--{kebab(name)}"]
    options: dict[str, Any] = {"dest": name, "help": _help(field), "required": required}
    if kind != "boolean":
        options["type"] = _Reader(name, field.get("items", field) if kind == "array" else field)
        options["metavar"] = _metavar(name, field)
        if kind == "array":
            options["action"] = "append"
    elif field.get("default") is True:
        options["action"] = argparse.BooleanOptionalAction
    else:
        options["action"] = "store_true"
    parser.add_argument(*names, **options)


def spelled(entry: OperationEntry, words: list[str]) -> list[str]:
    """The words with every flag in its one spelling and joined to its value.

    So `--filePath` (as in the tool's schema) works beside `--file-path`, and a value may begin with a hyphen: a remark
    such as "-1 is wrong here" is not a flag.
    """
    fields: Schema = msgspec.json.decode(entry.command_schema).get("properties", {})
    flags: dict[str, str] = {}
    valued = {"--idempotency-key"}
    for name, field in fields.items():
        if name in entry.positional:
            continue
        flag = f"--{kebab(name)}"
        flags |= {f"--{name}": flag, flag: flag}
        if name in entry.flags:
            flags[f"-{entry.flags[name]}"] = flag
        if _kind(field) != "boolean":
            valued.add(flag)
    known = {*flags, *valued, "--json", "--no-input", "--help", "-h"}
    rest = list(reversed(words))
    answer: list[str] = []
    while rest:
        word = rest.pop()
        if word == "--":
            return [*answer, "--", *reversed(rest)]
        name, joined, value = word.partition("=")
        flag = flags.get(name, name)
        if joined:
            answer.append(f"{flag}={value}" if name in flags else word)
        elif flag in valued and rest and rest[-1] not in known:
            answer.append(f"{flag}={rest.pop()}")
        else:
            answer.append(flags.get(word, word))
    return answer


def _kind(field: Schema) -> str:
    kind = field.get("type")
    if isinstance(kind, str):
        return kind
    if "enum" in field:
        return "string"
    kinds = {str(option.get("type")) for option in field.get("anyOf", ())}
    kinds.discard("null")
    return "array" if kinds == {"array"} else "any"


def _metavar(name: str, field: Schema) -> str:
    one: Schema = field.get("items", field)
    values: list[object] = one.get("enum", [])
    if values:
        return "|".join(map(str, values)) if len(values) <= 8 else kebab(name).upper()
    return {"integer": "N", "number": "N", "object": "JSON"}.get(_kind(one), kebab(name).upper())


def _help(field: Schema) -> str:
    parts = [str(field["description"])] if field.get("description") else []
    if field.get("default") not in (None, "", [], {}, False):
        parts.append(f"(default: {field['default']})")
    return " ".join(parts).replace("%", "%%")


class _Reader:
    """Turns one word of the command line into a JSON value of the schema's type."""

    def __init__(self, name: str, field: Schema) -> None:
        self.name = name
        self.field = field
        self.kind = _kind(field)

    def __repr__(self) -> str:  # argparse puts it into its messages
        return self.kind

    def __call__(self, word: str) -> Any:
        if word is argparse.SUPPRESS:  # an optional word that was left out: Python 3.11 asks for the default's type too
            return word
        if self.kind in ("integer", "number"):
            return self._number(word)
        if self.kind in ("object", "array"):
            return read_json(word, kebab(self.name))
        if self.kind == "any":
            return self._any(word)
        values = self.field.get("enum")
        if values and word not in values:
            raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(map(str, values))}{near(word, values)}")
        if word == "-" and self.name in TEXTS:
            return read_stdin()
        return word

    def _number(self, word: str) -> int | float:
        try:
            return int(word)
        except ValueError:
            pass
        try:
            if self.kind == "integer":
                raise ValueError(word)
            return float(word)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{word!r} is not a {'whole ' * (self.kind == 'integer')}number") from None

    def _any(self, word: str) -> Any:
        """One of several types: a whole number, a structure or true/false where the schema has it, else the text."""
        kinds = {str(option.get("type")) for option in self.field.get("anyOf", ())}
        if "integer" in kinds and re.fullmatch(r"-?\d{1,18}", word):
            return int(word)
        if kinds & {"object", "array"} and word[:1] in "{[":
            return read_json(word, kebab(self.name))
        if "boolean" in kinds and word in ("true", "false"):
            return word == "true"
        return word


def read_json(word: str, name: str) -> Any:
    """JSON given as a word, as `@file`, or as `-` for standard input."""
    if word == "-":
        word = read_stdin()
    elif word.startswith("@"):
        try:
            with open(word[1:], encoding="utf-8") as file:
                word = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise Usage(
                f"{word[1:]} cannot be read: {error}", advice="Give the JSON itself, or an existing file"
            ) from None
    try:
        return msgspec.json.decode(word)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Usage(f"{name} is not JSON: {error}", advice='Quote it for the shell: \'{"key": "value"}\'') from None


def read_stdin() -> str:
    """All of standard input, which has to be UTF-8."""
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        raise Usage("Standard input is not UTF-8 text", advice="Convert it, for example with iconv") from None


def kebab(name: str) -> str:
    """`filePath` and `file_path` as the shell says them: `file-path`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", name).replace("_", "-").lower()


def near(word: str, known: Iterable[str]) -> str:
    """A question for a mistyped word, or nothing."""
    from difflib import get_close_matches

    found = get_close_matches(word, [str(each) for each in known], 1, 0.5)
    return f". Did you mean {found[0]!r}?" if found else ""
