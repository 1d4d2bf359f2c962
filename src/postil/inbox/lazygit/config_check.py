"""What the doctor says about lazygit's config: bindings that run what a remark says, and files that hide others.

Reads text, not YAML: it must find the fault also in a file that lazygit itself cannot parse.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from postil.core import limits
from postil.core.group import Finding
from postil.inbox.lazygit.binding import ONE_DIFF_SINCE, Version, format_bindings
from postil.inbox.lazygit.install import find_key, read_ours
from postil.workspace.disk import read_regular
from postil.workspace.program import find_program
from postil.workspace.repository import Repository

LARGEST = limits.SMALL_FILE
_SENDS = re.compile(r"lazygit-mcp-bridge\s+send|postil[\"']*\s+inbox\s+send")
_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_GONE = re.compile(r"^[ \t-]*context:\s*[\"']?(staging|stagingSecondary|patchBuilding)\b", re.MULTILINE)
FIX = "Run `postil setup lazygit --fix`"


def check_configs(
    config: str,
    repository: Repository | None,
    named: Sequence[str] = (),
    version: Version | None = None,
    program: str = "postil",
) -> list[Finding]:
    """Returns one finding for each fault, or one that says all is well. `named` are files that LG_CONFIG_FILE adds."""
    old = os.path.join(config, "jesseduffield", "lazygit", "config.yml")
    usual = os.path.join(config, "lazygit", "config.yml")
    paths = [old, usual, os.path.join(config, "postil", "lazygit.yml")]
    paths += [path for path in named if path not in paths]
    own = [os.path.join(repository.common_dir, "lazygit.yml")] if repository is not None else []
    paths += [*own, os.path.join(repository.root, ".lazygit.yml")] if repository is not None else []
    found = [
        Finding(
            "error",
            f"{path}: a remark or file name with $(…) or backticks would be run as a command (line {line})",
            "Delete that customCommands entry and run `postil setup lazygit`, whose binding quotes every value",
        )
        for path in paths
        for line in find_unsafe_lines(_read(path))
    ]
    if os.path.exists(old) and os.path.exists(usual):
        found.append(
            Finding(
                "warning",
                f"{old} hides {usual}: lazygit reads only the first",
                f"Move what you need into {usual} and delete {old}",
            )
        )
    found += [
        Finding(
            "error",
            f"LG_CONFIG_FILE names {path}, which is no file: lazygit does not start",
            "Take it out of LG_CONFIG_FILE, or make that file",
        )
        for path in named
        if not os.path.isfile(path)
    ]
    found += _check_age(config, repository, version, program)
    theirs = [path for path in own if is_harmless(_read(path))]
    read = [path for path in [*(named or [old if os.path.exists(old) else usual]), *theirs] if os.path.isfile(path)]
    found += _check_start(read, version, [path for path in read if path not in (*theirs, paths[2])])
    sending = any(_SENDS.search(_read(path)) for path in paths)
    return found or [Finding("ok", _describe_health(sending, version))]


def _check_age(config: str, repository: Repository | None, version: Version | None, program: str) -> list[Finding]:
    """Returns a finding for each file of ours that is not what would be written today."""
    found: list[Finding] = []
    for each in (repository, None) if repository is not None else (None,):
        text = read_ours(each, config)
        if version is None or text is None or text == format_bindings(find_key(text), version, program):
            continue
        where = "of this repository" if each is not None else "for all repositories"
        said = f"the binding {where} is not the one for lazygit {version[0]}.{version[1]} and this postil"
        found.append(Finding("warning", said, FIX))
    return found


def _check_start(paths: Sequence[str], version: Version | None, persons: Sequence[str]) -> list[Finding]:
    """Returns what lazygit itself says against these files, and which of their contexts the newest ones have not.

    `persons` are those that the person wrote: what is wrong in them is not for us to mend.
    """
    sending = [path for path in paths if _SENDS.search(_read(path))]
    if version is None or not sending:
        return []
    from postil.inbox.lazygit.start_check import find_fault  # a second of waiting, and only for those who have a key

    fault = find_fault(find_program("lazygit"), paths)
    if not fault:
        return []
    gone = [path for path in sending if version >= ONE_DIFF_SINCE and _GONE.search(_read(path))]
    advice = FIX
    if gone:
        advice += (
            "; in a file of your own change the contexts staging, stagingSecondary and patchBuilding to normal and "
            "normalSecondary: lazygit has had no others since 0.66"
        )
    elif persons and find_fault(find_program("lazygit"), persons):
        advice = f"The fault is in a file of your own ({', '.join(persons)}): mend what lazygit says there"
    return [Finding("error", f"lazygit does not start: {fault}", advice)]


def _describe_health(sending: bool, version: Version | None) -> str:
    if not sending:
        return "no binding; `postil setup lazygit` makes one"
    return "the binding is safe" + ("" if version is None else ", and lazygit starts with it")


def find_unsafe_lines(text: str) -> list[int]:
    """Returns the lines of commands that send a remark through a shell with a template that is not quoted."""
    lines: list[int] = []
    for match in re.finditer(r"^[ \t-]*command:(.*(?:\n[ \t]++(?!-\s|[-\w]+:\s).*)*)", text, re.MULTILINE):
        command = match[1]
        if _SENDS.search(command) and any(not _is_quoted(one) for one in _TEMPLATE.findall(command)):
            lines.append(text.count("\n", 0, match.start()) + 1)
    return lines


def is_harmless(text: str) -> bool:
    """Whether a repository's file only binds keys: its other settings name programs that lazygit runs.

    So its first line with anything opens the list of keys, and every other one stands inside of that.
    """
    first, *others = [line for line in text.splitlines() if line.strip() and line[:1] != "#"] or [""]
    return first.rstrip() in ("", "customCommands:") and all(line[:2] in ("  ", "- ") for line in others)


def _is_quoted(template: str) -> bool:
    return re.search(r"\|\s*quote\s*-?$", template.strip()) is not None


def _read(path: str) -> str:
    return (read_regular(path, LARGEST) or b"").decode("utf-8", "replace")
