"""`postil doctor`: what is wrong here, and what to do about it.

Every part declares checks; this runs them, tries every connected assistant's own entry, and says it all in one list.
Where a check's advice is a command of ours that repairs (it ends with `--fix`), `doctor --fix` runs it and looks again.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import cast

import msgspec
from msgspec import Struct

from postil.core.catalogue import HookEntry
from postil.core.failure import Failure
from postil.core.group import Finding
from postil.core.others.visible import harmless
from postil.core.registry import Registry
from postil.settings.model import Settings
from postil.surfaces.composition import Composition
from postil.surfaces.setup.clients import CLIENTS, command_of, path_of
from postil.surfaces.setup.connect import check_around, find_address, find_root
from postil.surfaces.setup.files import ClientFile
from postil.surfaces.setup.probe import PATIENCE, try_entry
from postil.surfaces.shell.argv import PROGRAMS, Globals, find
from postil.surfaces.shell.commands import Common, Words
from postil.surfaces.shell.flags import Parser
from postil.surfaces.shell.output import colored, readable
from postil.surfaces.shell.run import perform

FOR_ALL = 20.0
"""Seconds that the servers of all assistants may take together; each of those behind gets one more."""


class Checked(Struct, frozen=True, omit_defaults=True):
    """One line of the doctor's report."""

    part: str
    name: str
    status: str
    seen: str
    fix: str = ""
    fixed: str = ""


def run_doctor(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Run every check; status 1 when one of them found an error."""
    parser = Parser(
        prog=f"{program} doctor",
        description="Look for what is wrong, and say what to do",
    )
    parser.add_argument("--fix", action="store_true", help="run the commands that repair what was found")
    given, common = parser.read(words[1:])
    rows: list[Checked] = []
    for row in checked(composed, fix=given["fix"]):
        rows.append(row)
        if not common.as_json:
            _show(row, composed.settings)
    if common.as_json:
        sys.stdout.write(msgspec.json.encode(rows).decode("utf-8") + "\n")
    return 1 if any(row.status == "error" for row in rows) else 0


def checked(composed: Composition, *, fix: bool) -> Iterator[Checked]:
    """Returns all checks, one after the other: settings, parts, assistants."""
    warnings = composed.settings.warnings
    for warning in warnings:
        yield Checked("settings", "files", "warning", warning)
    if not warnings:
        yield Checked("settings", "files", "ok", "nothing refused")
    for key, origin in composed.settings.origins.items():
        if value := getattr(composed.settings, key):
            shown = "on" if value is True else ", ".join(value)
            yield Checked("settings", key, "ok", f"{key} is {shown}, set by {origin}: not everything is offered")
    registry = composed.registry()
    for entry in registry.checks:
        yield from _part_check(composed, registry, entry, fix)
    yield from check_assistants(composed.settings)


def _part_check(composed: Composition, registry: Registry, check: HookEntry, fix: bool) -> Iterator[Checked]:
    try:
        look = registry.method(check)
        findings = _findings(look)
        wanted = [finding.fix for finding in findings if fix and finding.status != "ok"]
        fixed = repair_once(wanted, lambda command: _repair(composed, registry, command))
        if fixed:
            findings = _findings(look)
    except Failure as failure:
        yield Checked(check.part, check.name, "error", failure.message, failure.advice)
        return
    except Exception as bug:  # noqa: BLE001 # one broken check must not hide what the others see
        seen = f"the check itself failed: {type(bug).__name__}: {bug}"[:300]
        yield Checked(check.part, check.name, "error", seen)
        return
    for finding in findings:
        yield Checked(check.part, check.name, finding.status, finding.seen, finding.fix, fixed)


_REPAIR = re.compile(r"`(postil|git mile) ([a-z -]+ --fix)`")


def repair_once(advice: Iterable[str], repair: Callable[[re.Match[str]], str]) -> str:
    """Run each command that is advised and repairs, once though several findings name it. Returns what they said."""
    found = {named[0]: named for each in advice if (named := _REPAIR.search(each)) is not None}
    return "; ".join(filter(None, [repair(named) for named in found.values()]))


def _repair(composed: Composition, registry: Registry, named: re.Match[str]) -> str:
    """Run a command of ours; returns what it said, on one line."""
    prefixes = ("",) if named[1] == "postil" else PROGRAMS["git mile"]
    found = find(registry.operations.values(), named[2].split(), prefixes)
    if found is None:
        return ""
    entry, words = found
    arguments = Words(entry, named[1]).read(words)[0]
    said = readable(perform(composed, registry, entry, arguments, Common(no_input=True)))
    return " ".join(said.split()) if isinstance(said, str) else "done"


def _findings(look: Callable[[], object]) -> list[Finding]:
    found = look()
    return cast("list[Finding]", found) if isinstance(found, list) else [cast(Finding, found)]


def check_assistants(settings: Settings) -> Iterator[Checked]:
    """Yields what is seen of each assistant that is connected: its own entry is tried."""
    root = find_root(settings)
    none, until = True, time.monotonic() + FOR_ALL
    for client in CLIENTS.values():
        path = path_of(client, settings.folders, root)
        if not path:
            continue
        try:
            file = ClientFile(client, path, settings.folders.state)
            found = file.entry()
            if found is None:
                continue
            none = False
            if address := find_address(found):
                said = f"{client.title}: a server at {address}, which is not asked from here"
                yield Checked("assistants", client.name, "ok", said)
                continue
            check_around(client, file)
            answered = try_entry(client, found, root, max(1.0, min(PATIENCE, until - time.monotonic())))
        except Failure as failure:
            none = False
            yield Checked("assistants", client.name, "error", failure.message, failure.advice)
            continue
        named = command_of(client, found)[0]
        if client.is_committed and os.path.isabs(named):
            seen = f"{client.file} names {named}: a path of this machine, in a file that a team commits"
            fix = f"Run `postil setup {client.name} --write`, which names it `postil`"
            yield Checked("assistants", client.name, "warning", seen, fix)
            continue
        yield Checked("assistants", client.name, "ok", f"{client.title}: answered in {answered.milliseconds} ms")
    if none:
        yield Checked("assistants", "any", "warning", "no assistant is connected here", "Run `postil init`")


def _show(row: Checked, settings: Settings) -> None:
    paint = colored(sys.stdout, settings.terminal)
    mark = {"ok": paint("ok     ", 32), "warning": paint("warning", 33)}.get(row.status, paint("error  ", 31))
    sys.stdout.write(f"{mark} {row.part} {row.name}: {harmless(row.seen)}\n")
    if row.fixed:
        sys.stdout.write(f"        fixed: {harmless(row.fixed)}\n")
    if row.fix and row.status != "ok":
        sys.stdout.write(f"        {harmless(row.fix)}\n")
    sys.stdout.flush()
