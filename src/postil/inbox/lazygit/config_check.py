"""What the doctor says about lazygit's config: bindings that run what a remark says, and files that hide others.

Reads text, not YAML: it must find the fault also in a file that lazygit itself cannot parse.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from postil.core.group import Finding
from postil.workspace.repository import Repository

LARGEST = 1024 * 1024
_SENDS = re.compile(r"lazygit-mcp-bridge\s+send|postil\s+inbox\s+send")
_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def check_configs(config: str, repository: Repository | None, named: Sequence[str] = ()) -> list[Finding]:
    """Returns one finding for each fault, or one that says all is well. `named` are files that LG_CONFIG_FILE adds."""
    old = os.path.join(config, "jesseduffield", "lazygit", "config.yml")
    usual = os.path.join(config, "lazygit", "config.yml")
    paths = [old, usual, os.path.join(config, "postil", "lazygit.yml")]
    paths += [path for path in named if path not in paths]
    if repository is not None:
        paths += [os.path.join(repository.common_dir, "lazygit.yml"), os.path.join(repository.root, ".lazygit.yml")]
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
    sending = any(_SENDS.search(_read(path)) for path in paths)
    return found or [
        Finding("ok", "the binding is safe" if sending else "no binding; `postil setup lazygit` makes one")
    ]


def find_unsafe_lines(text: str) -> list[int]:
    """Returns the lines of commands that send a remark through a shell with a template that is not quoted."""
    lines: list[int] = []
    for match in re.finditer(r"^[ \t-]*command:(.*(?:\n[ \t]++(?!-\s|[-\w]+:\s).*)*)", text, re.MULTILINE):
        command = match[1]
        if _SENDS.search(command) and any(not _is_quoted(one) for one in _TEMPLATE.findall(command)):
            lines.append(text.count("\n", 0, match.start()) + 1)
    return lines


def _is_quoted(template: str) -> bool:
    return re.search(r"\|\s*quote\s*-?$", template.strip()) is not None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(LARGEST)
    except OSError:
        return ""
