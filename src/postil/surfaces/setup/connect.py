"""`postil setup`: connect one assistant. Prints, writes, checks or removes our entry in its file."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

import msgspec

from postil.core.answer import Answer
from postil.core.catalogue import OperationEntry
from postil.core.failure import Conflict, Failure, NotAllowed, NotFound
from postil.core.others.one_line import on_one_line
from postil.core.others.untrusted import shorten
from postil.core.others.visible import harmless
from postil.settings.model import Settings
from postil.surfaces.composition import Composition
from postil.surfaces.setup import hooks as client_hooks
from postil.surfaces.setup import jsonc, yaml_edit
from postil.surfaces.setup.clients import CLIENTS, NAME, Client, command_of, entry, name_file, path_of, program_for
from postil.surfaces.setup.exclude import keep_out_of_commits, stop_keeping_out
from postil.surfaces.setup.files import LONGEST_NAME, MOST_NAMED, ClientFile
from postil.surfaces.setup.probe import refuse, try_entry
from postil.surfaces.setup.whole_entry import keep_choices, list_foreign, list_foreign_variables
from postil.surfaces.shell.argv import Globals
from postil.surfaces.shell.commands import Usage, near
from postil.surfaces.shell.flags import Parser
from postil.surfaces.shell.output import say, table, tell

LONGEST_ADDRESS = 200
"""Characters of an address that are shown."""
STARTING = {"command", "cmd", "headersHelper"}
"""Keys of an entry that name a program: Claude Code runs one for the headers."""


def run_setup(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Connect one assistant, or list them all."""
    parser = Parser(
        prog=f"{program} setup",
        description="Connect an assistant: " + ", ".join(CLIENTS) + ". Without one, list them all. "
        "Connect a program: "
        + ", ".join(name for name, _ in list_programs(composed))
        + "; these have --help of their own.",
    )
    parser.add_argument("client", nargs="?", metavar="CLIENT")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--print", action="store_const", dest="does", const="print", help="show the entry (the default)")
    does.add_argument("--write", action="store_const", dest="does", const="write", help="put it into the client's file")
    does.add_argument("--check", action="store_const", dest="does", const="check", help="run the client's own entry")
    does.add_argument("--remove", action="store_const", dest="does", const="remove", help="take it out again")
    given, common = parser.read(words[1:])
    as_json = common.as_json
    root = find_root(composed.settings)
    if given["client"] is None:
        return _list(composed, root, as_json)
    client = CLIENTS.get(given["client"])
    if client is None:
        raise Usage(
            f"Postil does not know {given['client']!r}{near(given['client'], CLIENTS)}",
            advice=f"It knows {', '.join([*CLIENTS, *(name for name, _ in list_programs(composed))])}",
        )
    action = given["does"] or "print"
    if action == "print":
        sys.stdout.write(snippet(client, program_for(client), root) + "\n")
        if given["does"] is None:
            where = name_file(client, composed.settings.folders)
            say(f"Put this into {where}, or run `{program} setup {client.name} --write`")
        return 0
    if action != "check":
        may_write(composed.settings)
    file = open_file(client, composed.settings, root)
    answer = {"write": _write, "check": _check, "remove": _remove}[action](client, file, root)
    if as_json:
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    else:
        tell(answer["says"])
    return 0


def may_write(settings: Settings) -> None:
    """Refuse under read-only, as every operation that changes something is."""
    if settings.read_only:
        raise NotAllowed("Nothing is written in read-only mode", advice="Leave --read-only and POSTIL_READ_ONLY out")


def find_root(settings: Settings) -> str:
    """Returns the root of the repository we are in, or an empty text."""
    from postil.workspace.failures import NoRepository
    from postil.workspace.repository import find_repository

    try:
        return find_repository(settings.cwd).root
    except NoRepository:
        return ""


def open_file(client: Client, settings: Settings, root: str) -> ClientFile:
    """Returns the client's file; it may not exist yet."""
    path = path_of(client, settings.folders, root)
    if not path:
        raise NotFound(
            f"{client.title} keeps its servers in {client.file} at the root of a repository, and there is none here",
            advice="Change into a repository, or give it with -C",
        )
    return ClientFile(client, path, settings.folders.state)


def is_connected(client: Client, settings: Settings, root: str) -> bool:
    """Returns whether an entry of our name stands in the client's file, and starts a Postil or names a server."""
    found = _find_entry(client, settings, root)
    return found is not None and (_starts_postil(client, found) or bool(find_address(found)))


def _find_entry(client: Client, settings: Settings, root: str) -> dict[str, Any] | None:
    """Returns the entry of our name; a file that cannot be read has none."""
    path = path_of(client, settings.folders, root)
    try:
        return ClientFile(client, path, settings.folders.state).entry() if path else None
    except Failure:
        return None


def _starts_postil(client: Client, found: dict[str, Any]) -> bool:
    """Returns whether an entry names a Postil; `--check` looks whether it is this one. A relative path is anybody's."""
    try:
        named, *_ = command_of(client, found)
        if client.shape == "hooks" and client_hooks.find_more(found, client.hook_shape):
            return False
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return named == NAME or (os.path.isabs(named) and os.path.basename(named) == NAME)


def find_address(found: dict[str, Any]) -> str:
    """Returns the address of a server that an entry names, as `serve --http` tells to write it; else nothing.

    One that starts a program as well is none.
    """
    named = [each for key in ("url", "httpUrl", "serverUrl") if isinstance(each := found.get(key), str)]
    if not named or STARTING & found.keys() or not named[0].startswith(("http://", "https://")):
        return ""
    return harmless(on_one_line(named[0]))[:LONGEST_ADDRESS]


def snippet(client: Client, program: str, root: str) -> str:
    """Returns the entry as it stands in the client's file, with the keys around it."""
    ours = entry(client, program, root)
    if client.is_toml:
        lines = [f"[{'.'.join(client.keys)}]"]
        lines += [f"{key} = {msgspec.json.encode(value).decode()}" for key, value in ours.items()]
        return "\n".join(lines)
    if client.is_yaml:
        return yaml_edit.put("", (client.keys[0], client.keys[1]), ours).rstrip("\n")
    versioned = client.shape == "hooks" and client.hook_shape.version
    before = jsonc.put("", ("version",), client.hook_shape.version) if versioned else ""
    return jsonc.put(before, client.keys, ours).rstrip("\n")


def list_programs(composed: Composition) -> list[tuple[str, OperationEntry]]:
    """Returns what the parts set up themselves, such as `setup lazygit`."""
    found = [entry for entry in composed.registry().operations.values() if entry.shell.startswith("setup ")]
    return [(entry.shell.split()[1], entry) for entry in found]


def is_set_up(composed: Composition, program: OperationEntry) -> bool:
    """Returns whether a part says that it is set up: its command has `--check`, which changes nothing."""
    try:
        answer = composed.registry().method(program)(check=True)
    except Failure:
        return False
    return isinstance(answer, Answer) and answer.exit_status == 0


def _list(composed: Composition, root: str, as_json: bool) -> int:
    settings = composed.settings
    rows: list[dict[str, Any]] = []
    for client in CLIENTS.values():
        path, found = path_of(client, settings.folders, root), _find_entry(client, settings, root)
        ours = found is not None and _starts_postil(client, found)
        foreign = list_foreign(client, found, root) if found is not None and ours else []
        connected = ours and not foreign
        row: dict[str, Any] = {
            "client": client.name,
            "title": client.title,
            "file": path or client.file,
            "connected": connected,
        }
        if foreign:
            row["settings"] = [shorten(harmless(on_one_line(name)), LONGEST_NAME) for name in foreign[:MOST_NAMED]]
        elif found is not None and not connected:
            address = find_address(found)
            row |= {"connected": True, "url": address} if address else {"other": True}
        rows.append(row)
    for name, program in list_programs(composed):
        rows.append({"client": name, "title": program.help, "file": "", "connected": is_set_up(composed, program)})
    if as_json:
        sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
        return 0
    shown = [(row["client"], _tell_state(row), row["file"] or row["title"]) for row in rows]
    tell(table(shown))
    return 0


def _tell_state(row: dict[str, Any]) -> str:
    if row.get("other"):
        return "another program"
    if row.get("settings"):
        return f"with settings of somebody else: {', '.join(row['settings'])}"
    if row.get("url"):
        return f"connected to {row['url']}"
    return "connected" if row["connected"] else "-"


def _write(client: Client, file: ClientFile, root: str) -> dict[str, Any]:
    other = name_other(client, file)
    ours, lost = mend_entry(client, file, root)
    changed = file.write(ours)
    says = f"{'Wrote' if changed else 'Already in'} {file.path}; undo with `postil setup {client.name} --remove`"
    then = client.hook_shape.then if client.shape == "hooks" else client.then
    more = [*other, *lost, *filter(None, [keep_out_of_commits(client, root), then])]
    return {"client": client.name, "file": file.path, "changed": changed, "says": "\n".join([says, *more])}


def mend_entry(client: Client, file: ClientFile, root: str) -> tuple[dict[str, Any], list[str]]:
    """Returns the entry to write, with the choices of one of ours that stands there, and what to say of lost ones."""
    ours = entry(client, program_for(client), root)
    found = None if client.shape == "hooks" else file.entry()
    if found is None or not _starts_postil(client, found):
        return ours, []
    mended, lost = keep_choices(client, found, ours, root)
    said = shorten(harmless(on_one_line(", ".join(lost))), LONGEST_ADDRESS)
    return mended, [f"Not kept of the entry that stood there: {said}"] if lost else []


def name_other(client: Client, file: ClientFile) -> list[str]:
    """Returns what to say when an entry of our name is about to be replaced that starts another program."""
    found = file.entry()
    if found is None or _starts_postil(client, found):
        return []
    if client.shape == "hooks":
        return [f"Hooks of ours stood there in other words and were replaced: {_join_commands(found)}"]
    said = find_address(found) or harmless(shlex.join(command_of(client, found)))
    return [f"An entry named {NAME} stood there and was replaced: {said[:200]}"]


def _join_commands(found: dict[str, Any]) -> str:
    commands = dict.fromkeys(client_hooks.command_in(hook) for hooks in found.values() for hook in hooks)
    return shorten(harmless(on_one_line(", ".join(commands))), LONGEST_ADDRESS)


def _remove(client: Client, file: ClientFile, root: str) -> dict[str, Any]:
    changed = file.remove()
    stop_keeping_out(client, root)
    says = f"Took our entry out of {file.path}" if changed else f"There is no entry of ours in {file.path}"
    return {"client": client.name, "file": file.path, "changed": changed, "says": says}


def check_around(client: Client, file: ClientFile) -> None:
    """Refuse hooks whose file says beside them with which variables they run, or that none does. Raises Conflict."""
    around = file.read_around() if client.shape == "hooks" else {}
    if client.place == "repository" and (foreign := list_foreign_variables(around.get("env"), "env")):
        raise refuse(client, ", ".join(foreign), or_settings=True)
    if around.get("disableAllHooks") is True:
        raise Conflict(
            f"Hooks are disabled in {file.path} (disableAllHooks), so that ours do not run",
            advice="Take `disableAllHooks` out of it, or say false",
        )


def _check(client: Client, file: ClientFile, root: str) -> dict[str, Any]:
    found = file.entry()
    if found is None:
        raise NotFound(f"There is no entry of ours in {file.path}", advice=f"Run `postil setup {client.name} --write`")
    check_around(client, file)
    answered = try_entry(client, found, root)
    return {
        "client": client.name,
        "file": file.path,
        "server": answered.name,
        "version": answered.version,
        "milliseconds": answered.milliseconds,
        "says": f"{client.title} reaches {answered.name} {answered.version} in {answered.milliseconds} ms",
    }
