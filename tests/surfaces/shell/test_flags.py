"""Every command's help names all of its arguments."""

import msgspec
import pytest

from postil.app import read_catalogue
from postil.core.catalogue import OperationEntry
from postil.surfaces.shell.commands import kebab
from postil.surfaces.shell.flags import parser_of

COMMANDS = [entry for entry in read_catalogue().operations if entry.shell]


def named(entry: OperationEntry) -> str:
    return entry.shell


@pytest.mark.parametrize("entry", COMMANDS, ids=named)
def test_a_commands_help_names_every_argument(entry: OperationEntry) -> None:
    shown = parser_of(entry, f"postil {entry.shell}").format_help()
    for name in msgspec.json.decode(entry.command_schema).get("properties", {}):
        assert (kebab(name).upper() if name in entry.positional else f"--{kebab(name)}") in shown, name
    assert "--json" in shown
    assert ("--idempotency-key" in shown) is (entry.effect != "reads")
