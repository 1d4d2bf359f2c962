"""The flags of the built-in commands, and the layout of every command's help: what argparse is used for.

The commands of operations are read by `commands.py` and pay for none of this.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import zip_longest
from typing import Any, NoReturn

import msgspec

from postil.core.catalogue import OperationEntry
from postil.surfaces.shell.commands import KEY, PLACES, Common, Schema, Usage, kebab, kind_of, near


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

    def read(self, words: list[str], *, writes: bool = False) -> tuple[dict[str, Any], Common]:
        """Returns the arguments of a built-in command, and the flags that every command has."""
        add_common(self, writes=writes)
        given: dict[str, Any] = vars(self.parse_intermixed_args(words))  # flags stand anywhere
        common = Common(given.pop("--json"), given.pop("--no-input"), given.pop(KEY, None) or "")
        return given, common


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal. argparse would import shutil to measure it, for every parser it builds."""

    def __init__(self, prog: str) -> None:
        try:
            width = min(os.get_terminal_size(sys.stdout.fileno()).columns, 120) - 2
        except (OSError, ValueError):
            width = 98
        super().__init__(prog, width=width)


def add_common(parser: argparse.ArgumentParser, *, writes: bool) -> None:
    """Add the flags that every command has."""
    common = parser.add_argument_group("common options")
    common.add_argument("--json", action="store_true", dest="--json", help="print the result as JSON")
    common.add_argument("--no-input", action="store_true", dest="--no-input", help="never ask anything")
    if writes:
        says = "the same key again gives the same answer and no second effect"
        common.add_argument(KEY, dest=KEY, metavar="KEY", help=says)


def parser_of(entry: OperationEntry, program: str) -> Parser:
    """Returns a parser that lays out the help of one operation's command."""
    parser = Parser(program, entry.help, argument_default=argparse.SUPPRESS)
    schema: Schema = msgspec.json.decode(entry.command_schema)
    required = set(schema.get("required", ()))
    fields: Schema = schema.get("properties", {})
    for name, after in zip_longest(entry.positional, entry.positional[1:]):
        also = "; FILE:LINE and FILE:10-12 give its lines too" if after and PLACES.get(name) == after else ""
        _add_positional(parser, name, fields[name], name in required, also)
    for name, field in fields.items():
        if name not in entry.positional:
            _add_flag(parser, name, field, name in required, entry.flags.get(name, ""))
    add_common(parser, writes=entry.effect != "reads")
    return parser


def _add_positional(parser: argparse.ArgumentParser, name: str, field: Schema, required: bool, also: str) -> None:
    choices = ", ".join(map(str, field.get("enum", ())))
    many = kind_of(field) == "array"
    count = ("+" if required else "*") if many else None if required else "?"
    says = f"{_help(field)}: {choices}" if choices and field.get("description") else _help(field) or choices
    parser.add_argument(name, metavar=kebab(name).upper(), help=says + also, nargs=count)


def _add_flag(parser: argparse.ArgumentParser, name: str, field: Schema, required: bool, short: str) -> None:
    names = ([f"-{short}"] if short else []) + [f"--{kebab(name)}"]
    options: dict[str, Any] = {"dest": name, "help": _help(field), "required": required}
    if kind_of(field) != "boolean":
        options["metavar"] = _metavar(name, field)
    elif field.get("default") is True:
        options["action"] = argparse.BooleanOptionalAction
    else:
        options["action"] = "store_true"
    parser.add_argument(*names, **options)


def _metavar(name: str, field: Schema) -> str:
    one: Schema = field.get("items", field)
    values: list[object] = one.get("enum", [])
    if values:
        return "|".join(map(str, values)) if len(values) <= 8 else kebab(name).upper()
    return {"integer": "N", "number": "N", "object": "JSON"}.get(kind_of(one), kebab(name).upper())


def _help(field: Schema) -> str:
    parts = [str(field["description"])] if field.get("description") else []
    if field.get("default") not in (None, "", [], {}, False):
        parts.append(f"(default: {field['default']})")
    return " ".join(parts).replace("%", "%%")
