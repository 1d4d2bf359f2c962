"""Writing the keys of lazygit to a file of our own, and taking them away again.

A person's YAML is never edited. The bindings go to the repository's `.git/lazygit.yml`, or, for all repositories, to a
file that lazygit merges by `LG_CONFIG_FILE`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from postil.core.failure import Conflict
from postil.inbox.lazygit.binding import (
    EDITOR_KEY,
    KEY,
    MARK,
    SUBMIT_KEY,
    TALK_KEY,
    Version,
    format_bindings,
    list_bindings,
    parse_version,
)
from postil.workspace.disk import read_regular
from postil.workspace.files import atomic_write, make_folder, remove_file
from postil.workspace.paths import RelativePath
from postil.workspace.program import find_program
from postil.workspace.repository import Repository

FILE = RelativePath("lazygit.yml")
LARGEST = 1024 * 1024
_OURS = MARK[:40].encode()
PATIENCE = 5.0


class NotOurs(Conflict):
    """The file was not written by Postil."""

    def __init__(self, path: str, mine: str) -> None:
        super().__init__(
            f"{path} exists and was not written by Postil: it was left as it is",
            advice=f"Run `postil setup lazygit --user`, which writes {mine} instead, or add what --print shows by hand",
        )


def find_version() -> Version | None:
    """Returns the version of the lazygit on PATH, or None if there is none or it does not say."""
    import subprocess  # set-up only

    try:
        done = subprocess.run(
            [find_program("lazygit"), "--version"], capture_output=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stdout)


def install(
    repository: Repository | None,
    config: str,
    key: str,
    version: Version | None,
    program: str,
    named: Sequence[str] = (),
) -> str:
    """Write the bindings. Returns what to do next. Raises NotOurs for a file that Postil did not write.

    `named` are the files that LG_CONFIG_FILE names already.
    """
    folder = find_folder(repository, config)
    path = os.path.join(folder, FILE)
    text = format_bindings(key, version, program)
    if _is_foreign(path):
        raise NotOurs(path, os.path.join(find_folder(None, config), FILE))
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    if not os.path.isdir(folder):
        make_folder(os.path.dirname(folder), os.path.basename(folder))
    atomic_write(folder, FILE, text.encode())
    contexts = ", ".join(one.context for one in list_bindings(version))
    said = [
        f"Wrote {path}: {key} in {contexts}",
        f"{EDITOR_KEY} opens your editor for the remark, {TALK_KEY} the conversation; {SUBMIT_KEY} sends the drafts",
    ]
    if version is None:
        said.append(
            "There is no lazygit on PATH that says its version: written for the newest; later run `postil doctor --fix`"
        )
    if repository is None and path in named:
        said.append("LG_CONFIG_FILE names it already: start lazygit anew")
    elif repository is None:
        said.append(f'Tell lazygit of it: export LG_CONFIG_FILE="{",".join([*(named or _find_own(config)), path])}"')
    else:
        said.append("Start lazygit anew in this repository, go to a diff and press the key")
    said.append("Undo: postil setup lazygit --remove" + (" --user" * (not repository)))
    return "\n".join(said)


def _find_own(config: str) -> list[str]:
    """Returns the person's own file, if there is one: lazygit does not start when a file of the list is missing."""
    own = os.path.join(config, "lazygit", "config.yml")
    return [own] if os.path.isfile(own) else []


def renew(repository: Repository | None, config: str, version: Version | None, program: str) -> list[str]:
    """Write those of our files anew that differ from what they should be. Returns their paths."""
    renewed: list[str] = []
    for each in (repository, None) if repository is not None else (None,):
        text = read_ours(each, config)
        if text is not None and text != format_bindings(find_key(text), version, program):
            install(each, config, find_key(text), version, program)
            renewed.append(os.path.join(find_folder(each, config), FILE))
    return renewed


def read_ours(repository: Repository | None, config: str) -> str | None:
    """Returns the content of our file, or None when there is none."""
    path = os.path.join(find_folder(repository, config), FILE)
    if _is_foreign(path):
        return None
    content = read_regular(path, LARGEST)
    return content.decode("utf-8", "replace") if content else None


def describe_installed(repository: Repository | None, config: str) -> str:
    """Returns where our bindings are and which key sends a remark, of the repository or of the person; else nothing."""
    for each in (repository, None) if repository is not None else (None,):
        text = read_ours(each, config)
        if text is not None:
            return f"Set up: {find_key(text)} in {os.path.join(find_folder(each, config), FILE)}"
    return ""


def find_key(text: str) -> str:
    """Returns the key that a file of ours binds."""
    found = re.search(r'^ +- key: "([^"\n]+)"', text, re.MULTILINE)
    return found[1] if found else KEY


def uninstall(repository: Repository | None, config: str) -> str:
    """Delete the file. Raises NotOurs for one that Postil did not write."""
    folder = find_folder(repository, config)
    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        return f"There is no {path}: nothing to remove"
    if _is_foreign(path):
        raise NotOurs(path, os.path.join(find_folder(None, config), FILE))
    remove_file(folder, FILE)
    return f"Removed {path}"


def find_folder(repository: Repository | None, config: str) -> str:
    """Returns the folder of our file: the repository's, or the one for all repositories."""
    return repository.common_dir if repository is not None else os.path.join(config, "postil")


def _is_foreign(path: str) -> bool:
    """Whether it is no file of ours; a link leads to a file that somebody else keeps."""
    if os.path.islink(path):
        return True
    return os.path.lexists(path) and not (read_regular(path, LARGEST) or b"").startswith(_OURS)
