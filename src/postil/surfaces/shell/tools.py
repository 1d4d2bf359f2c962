"""`postil tools` and `postil call`: what assistants see, and any operation by its name."""

from __future__ import annotations

import sys

import msgspec

from postil.surfaces.composition import Composition
from postil.surfaces.shell.argv import Globals
from postil.surfaces.shell.commands import Parser, add_common, arguments_of, read_json
from postil.surfaces.shell.operations import perform
from postil.surfaces.shell.output import show, table


def run_tools(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """List the tools of the united server."""
    parser = Parser(prog=f"{program} tools", description="List what assistants see")
    add_common(parser, writes=False)
    common = arguments_of(parser.parse_args(words[1:]))[1]
    tools = composed.server().registry.tools
    if common.get("--json"):
        listed = [
            {
                "name": entry.name,
                "part": entry.part,
                "effect": entry.effect,
                "description": entry.description,
                "shell": entry.shell,
                "inputSchema": entry.input_schema,
            }
            for entry in tools
        ]
        sys.stdout.write(msgspec.json.encode(listed).decode("utf-8") + "\n")
        return 0
    return show(
        table([(entry.name, entry.effect, entry.description) for entry in tools]), composed.settings, as_json=False
    )


def run_call(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Call an operation by its name."""
    parser = Parser(
        prog=f"{program} call",
        description="Call an operation by its name, with arguments as a JSON object",
    )
    parser.add_argument("NAME", help="the operation, as in `postil tools`")
    parser.add_argument("ARGUMENTS", nargs="?", default="{}", help="JSON; @FILE reads a file, - reads standard input")
    add_common(parser, writes=True)
    parsed, common = arguments_of(parser.parse_args(words[1:]))
    result = perform(
        composed,
        composed.registry(),
        parsed["NAME"],
        read_json(parsed["ARGUMENTS"], "ARGUMENTS"),
        key=common.get("--idempotency-key") or "",
        no_input=options.no_input or bool(common.get("--no-input")),
    )
    return show(result, composed.settings, as_json=bool(common.get("--json")))
