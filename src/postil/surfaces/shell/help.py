"""Help for people: all commands, the commands of one part, and what was probably meant."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from postil.core.catalogue import OperationEntry
from postil.core.failure import NotAllowed
from postil.surfaces.shell.argv import HIDDEN, find
from postil.surfaces.shell.commands import Usage, near
from postil.surfaces.shell.output import table

if TYPE_CHECKING:
    from postil.settings.model import Settings

BUILTINS = {
    "serve": "Serve assistants over stdio, or with --http over HTTP",
    "init": "Set up this repository: assistants, lazygit, hooks",
    "setup": "Connect one assistant or program: print, write, check or remove its entry",
    "open": "Open the page of this workspace in the browser",
    "doctor": "Look for what is wrong, and say what to do",
    "key": "Make, list and revoke access keys for HTTP",
    "audit": "Show who changed what over HTTP, or check it (verify)",
    "backup": "Copy messages, keys, the audit and the secret into a file, also while servers run",
    "restore": "Put a backup in the place of what is there",
    "tools": "List what assistants see",
    "call": "Call an operation by its name with JSON arguments",
    "completion": "Print shell completion for bash, zsh or fish",
}
FIRST = (
    *("init", "status", "inbox send", "inbox list", "comments add", "comments list"),
    *("issue create", "issue list", "serve", "doctor"),
)
"""What one needs first."""
OPTIONS = """\
Options before the command:
  -C FOLDER        work as if started in FOLDER
  --config FILE    use this settings file
  --read-only      refuse everything that changes something
  --no-input       never ask anything
  --version        print the version

Every command has --help and --json. Exit codes: 0 ok, 1 unexpected, 2 usage, 3 authentication,
4 unreachable, 5 not found, 6 conflict, 7 storage damaged, 130 interrupted (docs/errors.md)."""


def explain(entries: list[OperationEntry], words: list[str], program: str, prefixes: tuple[str, ...]) -> int:
    """Answer words that are no command: help where it was asked for, else the nearest command as a hint."""
    wants_help = not words or any(word in ("-h", "--help", "help") for word in words)
    spoken = [word for word in words if word not in ("-h", "--help", "help")]
    commands = _spoken(entries, prefixes)
    below = {name: says for name, says in commands.items() if name.split()[: len(spoken)] == spoken}
    if spoken and below and (wants_help or len(spoken) == len(words)):
        listing = f"Commands of {program} {' '.join(spoken)}:\n\n{_listing(below)}\n\nEach has --help and --json."
        if wants_help:
            sys.stdout.write(listing + "\n")
            return 0
        raise Usage(f"`{program} {' '.join(spoken)}` needs a command", advice=listing)
    if wants_help and not spoken:
        repeated = _repeated(entries, prefixes)
        listed = {name: says for name, says in commands.items() if name not in repeated}
        sys.stdout.write((_screen(listed) if program == "postil" else _everything(listed, program)) + "\n")
        return 0 if words else 2
    if wants_help and spoken == ["all"]:
        sys.stdout.write(_everything(commands, program) + "\n")
        return 0
    known = [*commands, *{name.split()[0] for name in commands}, *(BUILTINS if program == "postil" else ()), "help"]
    # What follows a word that begins no command is its arguments, not its name.
    part = f"{spoken[0]} " if any(name.startswith(f"{spoken[0]} ") for name in commands) else ""
    name = " ".join(spoken[: 2 if part else 1])
    raise Usage(
        f"There is no command `{program} {name}`{_guess(spoken, part, known)}", advice=f"Run `{program} {part}--help`"
    )


_MEANT = {
    "create": ("new", "add"),
    "show": ("view", "get", "cat", "info"),
    "list": ("ls", "search", "find", "all"),
    "edit": ("update", "set", "change", "rename"),
    "close": ("done", "finish", "complete"),
    "open": ("reopen",),
    "claim": ("take", "start", "begin"),
    "release": ("unclaim", "drop"),
    "delete": ("remove", "rm"),
    "check": ("tick",),
}
"""Words of other programs for commands of ours."""


def _guess(spoken: list[str], part: str, known: list[str]) -> str:
    """Returns a question that names what was probably meant: where the part is clear, one of its commands."""
    word = spoken[1 if part else 0]
    below = {name.removeprefix(part).split()[0] for name in known if name.startswith(part)}
    for ours, others in _MEANT.items():
        if word in others and ours in below:
            return f". Did you mean {part + ours!r}?"
    if part:  # its name is in all of them, and would make any two alike
        return near(word, sorted(below)).replace("mean '", f"mean '{part}")
    return near(" ".join(spoken[:2]), known) or near(word, known)


def refuse_withheld(
    withheld: list[OperationEntry], words: list[str], program: str, prefixes: tuple[str, ...], settings: Settings
) -> None:
    """Refuse a command that exists and is not offered under these settings, and say why: it is no misspelling."""
    found = find(withheld, words, prefixes)
    if found is None:
        return
    spoken = words[: len(words) - len(found[1])]
    why, advice = explain_withheld(found[0], settings)
    raise NotAllowed(f"`{program} {' '.join(spoken)}` is not offered here: {why}", advice=advice)


def explain_withheld(entry: OperationEntry, settings: Settings) -> tuple[str, str]:
    """Returns why an operation is not offered, and what to do about it."""
    offer, gitlab = settings.offer(), settings.gitlab
    if not offer.includes_part(entry.part):
        return f"the part {entry.part} is off", _advise("parts", settings)
    if "gitlab" in (entry.part, entry.toolset) and not (gitlab.token or gitlab.token_file):
        return "no GitLab token is configured", "Set GITLAB_TOKEN or GITLAB_TOKEN_FILE; see `postil gitlab connect`"
    if entry.toolset == "connect":
        return "GitLab is connected already", "See `postil gitlab --help`"
    if settings.read_only and entry.effect != "reads":
        return "only reading is allowed", _advise("read_only", settings)
    name = entry.same_as or entry.name
    lists = [key for key in ("deny_tools", "allow_tools") if getattr(settings, key)]
    if lists:
        return f"{' and '.join(lists)} leave {name} out", " ".join(_advise(key, settings) for key in lists)
    return f"{name} is hidden", "`postil doctor` says what is connected"


def _advise(key: str, settings: Settings) -> str:
    return f"`{key}` is set by {settings.origins.get(key, 'the settings')}."


def _spoken(entries: Iterable[OperationEntry], prefixes: tuple[str, ...]) -> dict[str, str]:
    """Commands as the user of this program says them: without an unspoken first word."""
    commands: dict[str, str] = {}
    for prefix in prefixes or ("",):
        for entry in entries:
            if not prefix and entry.shell and entry.shell.split()[0] not in (*HIDDEN, *prefixes):
                commands.setdefault(entry.shell, entry.help)
            elif prefix and entry.shell.startswith(f"{prefix} "):
                commands.setdefault(entry.shell.removeprefix(f"{prefix} "), entry.help)
    return commands


def _repeated(entries: Iterable[OperationEntry], prefixes: tuple[str, ...]) -> set[str]:
    """What an old program need not list: other words for a command that it lists already, and that settle the same."""
    first = tuple(f"{prefix} " for prefix in prefixes if prefix)
    told: list[tuple[str, object]] = []
    repeats: list[OperationEntry] = []
    for entry in entries if first else ():
        meaning = (entry.same_as or entry.name, entry.settled)
        if entry.shell and meaning in told:
            repeats.append(entry)
        elif entry.shell and entry.shell.split()[0] not in HIDDEN:
            told.append(meaning)
    return {
        next((entry.shell.removeprefix(word) for word in first if entry.shell.startswith(word)), entry.shell)
        for entry in repeats
    }


def _screen(commands: dict[str, str]) -> str:
    """What one needs first, and where the rest is: on one screen of 24 rows and 80 columns."""
    known = {**commands, **BUILTINS}
    lines = ["Notes in the margin: people and assistants talk about code in a git workspace", ""]
    lines.append(table([(f"  postil {name}", _short(known[name], 56)) for name in FIRST if name in known]))
    parts: dict[str, list[str]] = {}
    for name in commands:
        first, _, verb = name.partition(" ")
        if verb and first not in BUILTINS:
            parts.setdefault(first, []).append(verb)
    lines += ["", table([(f"  {part}", _short(", ".join(verbs), 62)) for part, verbs in parts.items()]), ""]
    lines.append("`postil help PART` lists its commands, `postil help all` every one; or --help")
    return "\n".join(lines)


def _everything(commands: dict[str, str], program: str) -> str:
    groups: dict[str, dict[str, str]] = {}
    for name, says in commands.items():
        groups.setdefault(name.split()[0], {})[name] = says
    single = {name: says for group in groups.values() for name, says in group.items() if " " not in name}
    lines = [f"Usage: {program} [options] COMMAND …", ""]
    if program == "postil":
        lines += ["Notes in the margin: people and assistants talk about the code in a git workspace.", ""]
        single |= BUILTINS
    lines += [_listing(single), ""] if single else []
    for word, group in groups.items():
        verbs = {name: says for name, says in group.items() if " " in name}
        if verbs:
            lines += [f"{word}:", _listing(verbs), ""]
    return "\n".join([*lines, OPTIONS])


def _listing(commands: dict[str, str]) -> str:
    return table([(f"  {name}", _short(says)) for name, says in commands.items()])


def _short(sentence: str, longest: int = 88) -> str:
    return sentence if len(sentence) <= longest else sentence[: longest - 3].rsplit(" ", 1)[0] + " …"
