"""`postil init`: set up this repository in one go, say what was done in a few lines, and how to undo it."""

from __future__ import annotations

import sys
from shutil import which
from typing import Any

from postil.core.failure import Failure, NotFound, Unreachable
from postil.core.others.short_diff import list_changed
from postil.core.others.visible import harmless
from postil.settings.model import Folders
from postil.surfaces.composition import Composition
from postil.surfaces.setup.clients import CLIENTS, Client, is_used, name_file
from postil.surfaces.setup.connect import (
    find_root,
    is_connected,
    is_set_up,
    list_programs,
    may_write,
    mend_entry,
    open_file,
)
from postil.surfaces.setup.exclude import keep_out_of_commits
from postil.surfaces.setup.files import ClientFile
from postil.surfaces.setup.probe import try_entry
from postil.surfaces.shell.argv import Globals
from postil.surfaces.shell.commands import Common, Usage, near
from postil.surfaces.shell.flags import Parser
from postil.surfaces.shell.output import readable, say, tell
from postil.surfaces.shell.run import run_named

MOST_SHOWN = 100
"""Lines of a change that are shown."""
LONGEST_SHOWN = 500


def run_init(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Write `.mcp.json`, and on request the entries of other assistants and the bindings of the parts."""
    parser = Parser(
        prog=f"{program} init",
        description="Set up this repository: writes .mcp.json, checks that it works, says how to undo it",
    )
    some: dict[str, Any] = {"metavar": "NAMES", "action": "append", "default": []}
    parser.add_argument("--client", dest="clients", help=f"only: {', '.join(CLIENTS)}, …", **some)
    parser.add_argument("--with", dest="others", help="Claude Code's file, and these", **some)
    parser.add_argument("-y", "--yes", action="store_true", help="connect every assistant that is found; ask nothing")
    parser.add_argument("-n", "--dry-run", action="store_true", help="show the changes and write nothing")
    given, common = parser.read(words[1:])
    root = find_root(composed.settings)
    if not root:
        raise NotFound("There is no git repository here", advice="Change into one, or make one with `git init`")
    asks = not options.no_input and not common.no_input and not given["yes"] and _is_person()
    wanted = _split(given["clients"]) or ["claude", *_split(given["others"])]
    found = _find_others(composed, wanted, root)
    if not given["clients"] and found and (given["yes"] or (asks and not given["dry_run"] and _wants(found))):
        wanted += found
    setups = {name: each.name for name, each in list_programs(composed)}
    for name in wanted:
        if name not in CLIENTS and name not in setups:
            raise Usage(
                f"There is nothing to set up for {name!r}{near(name, [*CLIENTS, *setups])}",
                advice=f"Postil knows {', '.join([*CLIENTS, *setups])}",
            )
    files = [(client, open_file(client, composed.settings, root)) for name in wanted if (client := CLIENTS.get(name))]
    folders = composed.settings.folders
    changes = [_show_change(client, file, root, folders) for client, file in files]
    if given["dry_run"]:
        say("Nothing was written (--dry-run)")
        return 0
    if asks and (any(changes) or setups.keys() & wanted) and not _agreed("Write this? [Y/n] "):
        say("Nothing was written")
        return 0
    may_write(composed.settings)
    for client, file in files:
        ours, lost = mend_entry(client, file, root)
        file.write(ours)
        done = f"{client.title}: {name_file(client, folders)}, {_try(client, file, root)}"
        tell(f"{done}; undo: postil setup {client.name} --remove")
        for said in lost:
            tell(f"  {said}")
        if client.place == "repository" and (others := file.list_others()):
            tell(f"  also in it, and started by {client.title} too: {', '.join(others)}")
        if kept_out := keep_out_of_commits(client, root):
            tell(f"  {kept_out}")
    for name in wanted:
        if name in setups:
            _set_up_part(composed, name, setups[name])
    _suggest(composed, wanted, list(setups), root)
    return 0


def _show_change(client: Client, file: ClientFile, root: str, folders: Folders) -> bool:
    """Show the change as a diff, on stderr: it is talk. Returns whether there is one."""
    before = (file.text() or "").splitlines()
    after = file.with_entry(mend_entry(client, file, root)[0]).splitlines()
    changed, name = list_changed(before, after, 1), name_file(client, folders)
    if len(changed) > MOST_SHOWN:
        changed = [*changed[:MOST_SHOWN], f"… and {len(changed) - MOST_SHOWN} lines more"]
    for line in (f"--- {name}", f"+++ {name}", *changed) if changed else ():
        say(harmless(line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}…"))  # it may be somebody else's
    return bool(changed)


def _split(given: list[str]) -> list[str]:
    """Returns the names of a flag that may be repeated and takes several with commas, each once."""
    return list(dict.fromkeys(name.strip() for names in given for name in names.split(",") if name.strip()))


def _find_others(composed: Composition, wanted: list[str], root: str) -> list[str]:
    """Returns the assistants with traces here that are not connected yet, besides those that are wanted already."""
    folders = composed.settings.folders
    return [
        name
        for name, client in CLIENTS.items()
        if name not in wanted
        and client.shape != "hooks"
        and is_used(client, folders, root)
        and _would_change(client, composed, root)
    ]


def _would_change(client: Client, composed: Composition, root: str) -> bool:
    """Returns whether writing our entry would change the client's file: what stands there is not asked about."""
    file = open_file(client, composed.settings, root)
    try:
        return file.with_entry(mend_entry(client, file, root)[0]) != file.text()
    except Failure:
        return True  # writing it tells what is wrong with the file


def _wants(found: list[str]) -> bool:
    titles = ", ".join(CLIENTS[name].title for name in found)
    return _agreed(f"Also found: {titles}. Connect them too? [Y/n] ")


def _try(client: Client, file: ClientFile, root: str) -> str:
    """Returns how the new entry answered. A plain name that PATH does not find yet is no reason to stop."""
    try:
        return f"answered in {try_entry(client, file.entry() or {}, root).milliseconds} ms"
    except Unreachable as fault:
        if not client.is_committed:
            raise
        return f"not reached: {fault.message}. {fault.advice}"


def _is_person() -> bool:
    """Returns whether somebody can be asked; where nobody can, the command itself is the answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _agreed(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _set_up_part(composed: Composition, name: str, operation: str) -> None:
    try:
        said = readable(run_named(composed, operation, {}, Common(no_input=True)))
    except Failure as failure:
        say(f"{name}: {failure.message}")
        return
    first = said.splitlines()[0] if isinstance(said, str) and said else "done"
    tell(f"{name}: {first}; undo: postil setup {name} --remove")


def _suggest(composed: Composition, done: list[str], setups: list[str], root: str) -> None:
    folders = composed.settings.folders
    others = [
        name
        for name, client in CLIENTS.items()
        if name not in done and is_used(client, folders, root) and not is_connected(client, composed.settings, root)
    ]
    programs = dict(list_programs(composed))
    others += [n for n in setups if n not in done and which(n) and not is_set_up(composed, programs[n])]
    if others:
        tell(f"Also here: {', '.join(others)}. Add them: postil init --with {','.join(others)}")
    tell("See that all is well: postil doctor")
