"""Running an operation for the command line: its words become arguments, its answer goes to stdout."""

from __future__ import annotations

import sys
from typing import Any, cast

from postil.core import call
from postil.core.catalogue import OperationEntry
from postil.core.invoke import once, run_here
from postil.core.registry import Registry
from postil.surfaces.composition import Composition
from postil.surfaces.shell.argv import Globals
from postil.surfaces.shell.commands import arguments_of, parser_of, spelled
from postil.surfaces.shell.output import ShellCall, show


def run_operation(
    composed: Composition, registry: Registry, entry: OperationEntry, words: list[str], program: str, options: Globals
) -> int:
    """Parse, run, print."""
    parsed = parser_of(entry, program).parse_args(spelled(entry, words))
    arguments, common = arguments_of(parsed)
    no_input = options.no_input or bool(common.get("--no-input"))
    key = str(common.get("--idempotency-key", ""))
    result = perform(composed, registry, entry.name, arguments, key=key, no_input=no_input)
    return show(result, composed.settings, as_json=bool(common.get("--json")))


def perform(
    composed: Composition, registry: Registry, name: str, arguments: Any, *, key: str = "", no_input: bool = False
) -> object:
    """Run one operation by name, as the person at this terminal."""
    doing = ShellCall(interactive=not no_input and sys.stdin.isatty() and sys.stderr.isatty())
    call.enter(doing)
    operation = registry.operation(name)
    entry = registry.find(name)
    if entry is not None and entry.settled and isinstance(arguments, dict):
        arguments = cast("dict[str, Any]", arguments) | entry.settled
    decoded = operation.decode(arguments, from_shell=True)
    try:
        if key and operation.mark.effect != "reads":
            return once(operation, arguments, key, composed.keys(), lambda: run_here(operation, decoded))
        return run_here(operation, decoded)
    finally:
        doing.clear()
