"""The key in lazygit: a safe binding for each context, written to a file of our own.

A person's YAML is never edited. The binding goes to the repository's `.git/lazygit.yml`, or, for all repositories, to a
file that lazygit merges by `LG_CONFIG_FILE`. Every template is quoted: a remark or a file name must not reach a shell
as code. What lazygit understands depends on its version, so the installed one is asked for it.
"""

from __future__ import annotations

import os
import re

from msgspec import Struct

from postil.core.failure import Conflict, InvalidArguments
from postil.workspace.files import atomic_write, make_folder, remove_file
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

MARK = "# Written by `postil setup lazygit`; `postil setup lazygit --remove` takes it away again."
FILE = RelativePath("lazygit.yml")
Version = tuple[int, int]
OUTPUT_POPUP_SINCE: Version = (0, 51)
"""From here on lazygit has `output: popup`. It migrates `showOutput: true` into it, so a file must not hold both."""


class Binding(Struct, frozen=True):
    """One context of lazygit: which path and commit are the right ones there, and whether lines can be picked."""

    context: str
    path: str = ""
    commit: str = ""
    lines: bool = True


BINDINGS = (
    Binding("files", ".SelectedPath"),
    Binding("staging", ".SelectedPath"),
    Binding("stagingSecondary", ".SelectedPath"),
    Binding("commitFiles", ".SelectedCommitFilePath", ".SelectedCommit.Hash"),
    # .SelectedPath is another panel's file there
    Binding("patchBuilding", ".SelectedCommitFilePath", ".SelectedCommit.Hash"),
    Binding("commits", "", ".SelectedCommit.Hash", lines=False),
)


class NotOurs(Conflict):
    """The file was not written by Postil."""

    def __init__(self, path: str, mine: str) -> None:
        super().__init__(
            f"{path} exists and was not written by Postil: it was left as it is",
            advice=f"Run `postil setup lazygit --user`, which writes {mine} instead, or add what --print shows by hand",
        )


class BadKey(InvalidArguments):
    """Not the name of a key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key[:40]!r} is not a key of lazygit", advice="Use one such as <c-y> or Y")


def find_version() -> Version | None:
    """Returns the version of the lazygit on PATH, or None if there is none or it does not say."""
    import subprocess  # set-up only

    try:
        done = subprocess.run(["lazygit", "--version"], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(rb"(?<!git )version='?v?(\d+)\.(\d+)", done.stdout)
    return (int(said[1]), int(said[2])) if said else None


def format_bindings(key: str = "<c-y>", version: Version | None = None) -> str:
    """Returns the whole file for this version of lazygit; None stands for the newest."""
    if not re.fullmatch(r"<[\w-]{1,20}>|[\w!-/:-@\[-`{-~]", key) or key in ('"', "\\"):
        raise BadKey(key)
    output = "output: popup" if version is None or version >= OUTPUT_POPUP_SINCE else "showOutput: true"
    return "\n".join([MARK, "customCommands:", *(_format_binding(one, key, output) for one in BINDINGS)]) + "\n"


def _format_binding(one: Binding, key: str, output: str) -> str:
    quoted = "{{%s | quote}}"
    place = f" --commit {quoted % one.commit}" if one.commit else ""
    file = f" --file {quoted % one.path}" if one.path else ""
    about = "{{%s}}" % (one.path or one.commit)
    rows = [
        f'  - key: "{key}"',
        f'    context: "{one.context}"',
        '    description: "Comment to the assistant"',
        "    prompts:",
    ]
    line = ""
    if one.lines:
        rows += [
            '      - type: "menuFromCommand"',
            '        title: "Where?"',
            '        key: "Where"',
            f"        command: 'postil inbox hunks --context {one.context}{place} {quoted % one.path}'",
            "        filter: '(?P<line>[^|]+)\\|(?P<text>.+)'",
            "        valueFormat: '{{ .line }}'",
            "        labelFormat: '{{ .line }}  {{ .text }}'",
        ]
        line = " --line {{.Form.Where | quote}}"
        about += ":{{.Form.Where}}"
    send = f"postil inbox send --context {one.context}{place}{file}{line} --comment {quoted % '.Form.Comment'}"
    rows += [
        '      - type: "input"',
        f"        title: 'Comment on {about}'",
        '        key: "Comment"',
        f"    command: '{send}'",
        f"    {output}",
    ]
    return "\n".join(rows)


def install(repository: Repository | None, config: str, key: str) -> str:
    """Write the binding. Returns what to do next. Raises NotOurs for a file that Postil did not write."""
    folder = _target_folder(repository, config)
    path = os.path.join(folder, FILE)
    text = format_bindings(key, find_version())
    if _is_foreign(path):
        raise NotOurs(path, os.path.join(_target_folder(None, config), FILE))
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    if not os.path.isdir(folder):
        make_folder(os.path.dirname(folder), os.path.basename(folder))
    atomic_write(folder, FILE, text.encode())
    contexts = ", ".join(one.context for one in BINDINGS)
    said = [
        f"Wrote {path}: {key} in {contexts}",
        "Undo: postil setup lazygit --remove" + (" --user" * (not repository)),
    ]
    if repository is None:
        own = os.path.join(config, "lazygit", "config.yml")
        said.insert(1, f'Tell lazygit of it: export LG_CONFIG_FILE="{own},{path}"')
    else:
        said.insert(1, "Start lazygit anew in this repository, go to a diff and press the key")
    return "\n".join(said)


def uninstall(repository: Repository | None, config: str) -> str:
    """Delete the file. Raises NotOurs for one that Postil did not write."""
    folder = _target_folder(repository, config)
    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return f"There is no {path}: nothing to remove"
    if _is_foreign(path):
        raise NotOurs(path, os.path.join(_target_folder(None, config), FILE))
    remove_file(folder, FILE)
    return f"Removed {path}"


def _target_folder(repository: Repository | None, config: str) -> str:
    return repository.common_dir if repository is not None else os.path.join(config, "postil")


def _is_foreign(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return not file.readline().startswith(MARK[:40])
    except FileNotFoundError:
        return False
    except OSError:
        return True
