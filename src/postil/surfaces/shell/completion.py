"""Shell completion: a small script for each shell that asks us what may come next."""

from __future__ import annotations

import re
import sys

import msgspec

from postil.core.catalogue import OperationEntry
from postil.core.failure import Failure
from postil.core.others.untrusted import clean, shorten
from postil.core.registry import Registry
from postil.surfaces.composition import Composition
from postil.surfaces.setup.clients import CLIENTS
from postil.surfaces.shell.argv import HIDDEN, PROGRAMS, Globals, find
from postil.surfaces.shell.commands import Schema, Usage, kebab, near
from postil.surfaces.shell.help import BUILTINS

SCRIPTS = {
    "bash": """\
# postil completion for bash: put  eval "$(postil completion bash)"  into ~/.bashrc
_postil_complete() {
    local IFS=$'\\n'
    local each; COMPREPLY=()  # read line by line: bash 3.2, which macOS has, knows no mapfile
    while read -r each; do COMPREPLY+=("$each"); done \\
        < <(postil complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -gt 1 && $COMP_TYPE = 63 ]]; then COMPREPLY=("${COMPREPLY[@]/$'\\t'/  }")
    else COMPREPLY=("${COMPREPLY[@]%%$'\\t'*}"); fi
}
complete -o default -F _postil_complete postil
""",
    "zsh": """\
#compdef postil
# postil completion for zsh: put  eval "$(postil completion zsh)"  into ~/.zshrc
_postil_complete() {
    local -a found shown
    found=("${(@f)$(postil complete-words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    shown=("${(@)found/$'\\t'/  }")
    if [[ -n "$found" ]]; then compadd -l -d shown -- "${(@)found%%$'\\t'*}"; else _files; fi
}
compdef _postil_complete postil
""",
    "fish": """\
# postil completion for fish: put  postil completion fish | source  into ~/.config/fish/config.fish
function __postil_complete
    set -l words (commandline -opc) (commandline -ct)
    postil complete-words $words[2..-1] 2>/dev/null
end
complete -c postil -f -a '(__postil_complete)'
""",
}
GIT_MILE = {
    "bash": """\
# completion of git mile for bash: put  eval "$(git-mile completion bash)"  into ~/.bashrc
_git_mile() {
    local IFS=$'\\n' first=1
    [ "${COMP_WORDS[0]}" = git ] && first=2 && compopt +o nospace 2>/dev/null  # git's own completion adds its spaces
    local each; COMPREPLY=()  # read line by line: bash 3.2, which macOS has, knows no mapfile
    while read -r each; do COMPREPLY+=("$each"); done \\
        < <(git-mile complete-words "${COMP_WORDS[@]:first:COMP_CWORD-first+1}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -gt 1 && $COMP_TYPE = 63 ]]; then COMPREPLY=("${COMPREPLY[@]/$'\\t'/  }")
    else COMPREPLY=("${COMPREPLY[@]%%$'\\t'*}"); fi
}
complete -o default -F _git_mile git-mile
""",
    "zsh": """\
#compdef git-mile
# completion of git mile for zsh: put  eval "$(git-mile completion zsh)"  into ~/.zshrc
_git-mile() {
    local -a found shown
    found=("${(@f)$(git-mile complete-words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    shown=("${(@)found/$'\\t'/  }")
    if [[ -n "$found" ]]; then compadd -l -d shown -- "${(@)found%%$'\\t'*}"; else _files; fi
}
compdef _git-mile git-mile
""",
    "fish": """\
# completion of git mile for fish: put  git-mile completion fish | source  into ~/.config/fish/config.fish
function __git_mile_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l from 2
    test "$words[1]" = git; and set from 3
    git-mile complete-words $words[$from..-1] 2>/dev/null
end
complete -c git-mile -f -a '(__git_mile_complete)'
complete -c git -n '__fish_seen_subcommand_from mile' -f -a '(__git_mile_complete)'
""",
}
"""Git's own completion calls `_git_mile` for `git mile`. Bash tells by 63 that it only lists what there is: what a
value is may then stand beside it, and is not put into the line."""
_PLAIN = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.:@/+-]*\Z")
"""Bash puts a value into the line as it is: only one that is a word and nothing else is offered, whoever chose it."""
WIDTH = 60
"""How much is shown of what a value is."""
COMMON = ("--json", "--no-input", "--help")


def run_completion(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Print the script of one shell; `postil` completes `git mile` too."""
    shell = words[1] if len(words) > 1 else ""
    if shell in ("", "-h", "--help"):
        sys.stdout.write(f"usage: {program} completion {'|'.join(SCRIPTS)}\n")
        return 0 if shell else 2
    if shell not in SCRIPTS:
        raise Usage(f"There is no completion for {shell!r}{near(shell, SCRIPTS)}", advice=", ".join(SCRIPTS))
    if program != "git mile":
        sys.stdout.write(SCRIPTS[shell] + "\n")
    sys.stdout.write(GIT_MILE[shell])
    return 0


def run_complete_words(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Print what may stand in place of the last word, one a line."""
    *before, last = words[1:] or [""]
    registry = composed.registry()
    entries = list(registry.operations.values())
    found = candidates(entries, before, last)
    if program == "git mile":
        unspoken = PROGRAMS[program]
        known = [[*prefix.split(), *before] for prefix in unspoken]
        tried = [candidates(entries, words, last) for words in known if words or last]
        names = ("issue", "milestone", "mile")
        found = sorted(
            {word for words in tried for word in words if before or word not in names or word == "milestone"}
        )
        parts = {entry.shell.split()[0] for entry in entries if entry.shell and entry.part != "tracker"}
        found = found if before else [word for word in found if word not in parts and word not in BUILTINS]
    values = complete_argument(registry, [[*prefix.split(), *before] for prefix in PROGRAMS.get(program, ("",))], last)
    sys.stdout.write("".join(f"{line}\n" for line in values or found))
    return 0


def complete_argument(registry: Registry, ways: list[list[str]], last: str) -> list[str]:
    """Returns lines `value TAB what it is` for the argument that is typed, where the part of its command knows any."""
    entries = registry.operations.values()
    found = next(filter(None, (find(entries, words) for words in ways)), None)
    if found is None or not found[0].positional or any(word.startswith("-") for word in (*found[1], last)):
        return []
    entry, given = found
    fields: dict[str, Schema] = msgspec.json.decode(entry.command_schema).get("properties", {})
    *_, final = names = entry.positional
    if len(given) >= len(names) and fields[final].get("type") != "array":
        return []
    argument = names[min(len(given), len(names) - 1)]
    known = [each for each in registry.completers if (each.part, each.name) == (entry.part, argument)]
    try:
        before = {"command": entry.shell, **entry.settled, **dict(zip(names, given, strict=False))}
        values: dict[str, str] = registry.method(known[0])(last, before) if known else {}
    except Failure:  # no repository here, or one that cannot be read: a press of TAB is no place to say so
        return []
    plain = {value: about for value, about in values.items() if _PLAIN.match(value)}
    return [f"{value}\t{shorten(clean(' '.join(about.split())), WIDTH)}" for value, about in plain.items()]


def candidates(entries: list[OperationEntry], before: list[str], last: str) -> list[str]:
    """Returns the words that may follow `before` and begin with `last`."""
    found = find(entries, before)
    if found is not None:
        offered = _of_command(found[0], found[1])
    else:
        depth = len(before)
        commands = [entry.shell.split() for entry in entries if entry.shell]
        commands = [words for words in commands if words[0] not in HIDDEN]
        commands += [[name] for name in BUILTINS] + [["setup", name] for name in CLIENTS]
        offered = [words[depth] for words in commands if len(words) > depth and words[:depth] == before]
        if before[:1] == ["setup"] and len(before) > 1:
            offered = ["--print", "--write", "--check", "--remove"]
        elif before[:1] == ["call"] and depth == 1:
            offered = [entry.name for entry in entries]
        elif before[:1] == ["completion"] and depth == 1:
            offered = list(SCRIPTS)
    return sorted({word for word in offered if word.startswith(last)})


def _of_command(entry: OperationEntry, words: list[str]) -> list[str]:
    fields: dict[str, Schema] = msgspec.json.decode(entry.command_schema).get("properties", {})
    flags = {f"--{kebab(name)}": field for name, field in fields.items() if name not in entry.positional}
    flags |= {f"-{letter}": fields[name] for name, letter in entry.flags.items()}
    previous = flags.get(words[-1]) if words else None
    if previous is not None and previous.get("type") != "boolean":
        one: Schema = previous.get("items", previous)
        return [str(value) for value in one.get("enum", [])]
    if len(words) < len(entry.positional) and not any(word.startswith("-") for word in words):
        values = fields[entry.positional[len(words)]].get("enum", [])
        if values:
            return [str(value) for value in values]
    write = ["--idempotency-key"] if entry.effect != "reads" else []
    return [*(flag for flag in flags if flag.startswith("--")), *COMMON, *write]
