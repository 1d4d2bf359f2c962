"""The assistants that can be connected, one row each: which file, which key, which shape.

Pure data and functions; `connect.py` does the writing. README's snippets come from here, and a test keeps them equal.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any, Literal

import msgspec
from msgspec import Struct

from postil.settings.model import Folders
from postil.surfaces.setup import hooks as client_hooks
from postil.workspace.program import find_own_program

NAME = "postil"
"""The name of our entry in every client's file."""


class Client(Struct, frozen=True):
    """One assistant and where it keeps its servers."""

    name: str
    title: str
    file: str
    """Relative to the repository, to `~`, or to `$XDG_CONFIG_HOME`: see `place`."""
    place: Literal["repository", "home", "config"]
    keys: tuple[str, ...]
    shape: Literal["plain", "typed", "joined", "local", "goose", "hooks"] = "plain"
    """`plain`: command and args; `typed`: the same with `type: stdio`; `joined`: one list, as OpenCode has it;
    `local`: with the tools that may be used, as Copilot CLI has it; `goose`: as Goose has it;
    `hooks`: no server at all, but the commands that bring messages into a conversation."""
    in_folder: bool = False
    """Whether it starts servers in a folder of its own, so that the entry has to name the repository."""
    traces: tuple[str, ...] = ()
    """What in the repository or in `~` shows that a person uses it."""
    program: str = ""
    then: str = ""
    """What a person still has to do in it."""

    @property
    def hook_shape(self) -> client_hooks.HookShape:
        """How its hooks are written down."""
        return client_hooks.SHAPES[self.name.removesuffix("-hooks")]

    @property
    def is_toml(self) -> bool:
        """Whether its file is TOML; all others are JSON, with comments at worst, or YAML."""
        return self.file.endswith(".toml")

    @property
    def is_yaml(self) -> bool:
        """Whether its file is YAML."""
        return self.file.endswith(".yaml")

    @property
    def is_committed(self) -> bool:
        """Whether a team commits its file, so that one person's path has no place in it."""
        return self.place == "repository" and not self.is_personal

    @property
    def is_personal(self) -> bool:
        """Whether its file stands in the repository and is one person's all the same."""
        return self.place == "repository" and self.file.endswith(".local.json")


_DESKTOP = "Library/Application Support/Claude" if sys.platform == "darwin" else ".config/Claude"

_TRUST = "It reads this file only in folders that you trust: say so when it asks, or type /permissions in it"
CLIENTS = {client.name: client for client in (
    Client("claude", "Claude Code", ".mcp.json", "repository", ("mcpServers", NAME),
           traces=(".claude", "CLAUDE.md", "~/.claude"), program="claude"),
    Client("vscode", "VS Code", ".vscode/mcp.json", "repository", ("servers", NAME), shape="typed",
           traces=(".vscode",), program="code"),
    Client("cursor", "Cursor", ".cursor/mcp.json", "repository", ("mcpServers", NAME),
           traces=(".cursor", "~/.cursor"), program="cursor"),
    Client("zed", "Zed", "zed/settings.json", "config", ("context_servers", NAME),
           traces=(".zed", "~/.config/zed"), program="zed"),
    Client("codex", "Codex", ".codex/config.toml", "home", ("mcp_servers", NAME),
           traces=("~/.codex",), program="codex"),
    Client("gemini", "Gemini CLI", ".gemini/settings.json", "repository", ("mcpServers", NAME),
           traces=(".gemini", "GEMINI.md", "~/.gemini"), program="gemini", then=_TRUST),
    Client("opencode", "OpenCode", "opencode.json", "repository", ("mcp", NAME), shape="joined",
           traces=("opencode.json", "~/.config/opencode"), program="opencode"),
    Client("copilot", "Copilot CLI", ".copilot/mcp-config.json", "home", ("mcpServers", NAME), shape="local",
           traces=("~/.copilot",), program="copilot"),
    Client("cline", "Cline", ".cline/data/settings/cline_mcp_settings.json", "home", ("mcpServers", NAME),
           traces=("~/.cline", ".clinerules"), program="cline"),
    Client("windsurf", "Windsurf", ".codeium/windsurf/mcp_config.json", "home", ("mcpServers", NAME),
           in_folder=True, traces=("~/.codeium/windsurf", ".windsurf"), program="windsurf"),
    Client("jetbrains", "JetBrains Junie", ".junie/mcp/mcp.json", "repository", ("mcpServers", NAME),
           traces=(".junie", ".idea", "~/.junie")),
    Client("qwen", "Qwen Code", ".qwen/settings.json", "repository", ("mcpServers", NAME),
           traces=(".qwen", "QWEN.md", "~/.qwen"), program="qwen", then=_TRUST),
    Client("goose", "Goose", "goose/config.yaml", "config", ("extensions", NAME), shape="goose",
           traces=(".goosehints", "~/.config/goose"), program="goose"),
    Client("claude-desktop", "Claude Desktop", f"{_DESKTOP}/claude_desktop_config.json", "home",
           ("mcpServers", NAME), in_folder=True, traces=(f"~/{_DESKTOP}",)),
    Client("claude-hooks", "Claude Code's hooks", ".claude/settings.local.json", "repository", ("hooks",),
           shape="hooks", traces=(".claude",)),
    Client("codex-hooks", "Codex's hooks", ".codex/hooks.json", "home", ("hooks",),
           shape="hooks", traces=("~/.codex",)),
    Client("gemini-hooks", "Gemini CLI's hooks", ".gemini/settings.json", "repository", ("hooks",),
           shape="hooks", traces=(".gemini",)),
    Client("cursor-hooks", "Cursor's hooks", ".cursor/hooks.json", "repository", ("hooks",),
           shape="hooks", traces=(".cursor",)),
    Client("copilot-hooks", "Copilot CLI's hooks", ".github/hooks/postil.json", "repository", ("hooks",),
           shape="hooks", traces=("~/.copilot",), program="copilot"),
)}  # fmt: skip


def executable() -> str:
    """Returns the absolute path of the `postil` that is running: graphical hosts have an almost empty PATH."""
    return find_own_program()


def program_for(client: Client) -> str:
    """Returns how this client's file names us: a file that a team commits by the plain name, which PATH finds."""
    return NAME if client.is_committed else executable()


def entry(client: Client, program: str, root: str) -> dict[str, Any]:
    """Returns what stands under our name in this client's file."""
    if client.shape == "hooks":
        return client_hooks.wanted(program, client.hook_shape)
    args = ["-C", root, "serve"] if client.in_folder and root else ["serve"]
    if client.shape == "joined":
        return {"type": "local", "command": [program, *args], "enabled": True}
    if client.shape == "goose":
        described = {"name": NAME, "description": "Talk about the code in this workspace"}
        return {"enabled": True, "type": "stdio", **described, "cmd": program, "args": args, "timeout": 300}
    plain = {"command": program, "args": args}
    if client.shape == "local":
        return {"type": "local", **plain, "tools": ["*"]}
    return {"type": "stdio", **plain} if client.shape == "typed" else plain


def command_of(client: Client, found: dict[str, Any]) -> list[str]:
    """Returns the command line that the client would run for this entry."""
    if client.shape == "joined":
        return [str(word) for word in found.get("command", [])]
    if client.shape == "hooks":
        first: list[object] = next(iter(found.values()))
        return shlex.split(next(command for hook in first if (command := client_hooks.command_in(hook))))
    named = found.get("cmd" if client.shape == "goose" else "command", "")
    return [str(named), *(str(word) for word in found.get("args", []))]


def path_of(client: Client, folders: Folders, root: str) -> str:
    """Returns the path of the client's file; empty when it belongs into a repository and there is none."""
    if client.place == "repository":
        return os.path.join(root, client.file) if root else ""
    base = folders.home if client.place == "home" else os.path.dirname(folders.config)
    return os.path.join(base, client.file)


def name_file(client: Client, folders: Folders) -> str:
    """Returns the client's file as people name it: one that is not the repository's begins with `~/` or `/`."""
    if client.place == "repository":
        return client.file
    path, home = path_of(client, folders, ""), folders.home.rstrip("/") + "/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else path


def is_used(client: Client, folders: Folders, root: str) -> bool:
    """Returns whether there are traces of this assistant here."""
    for trace in client.traces:
        path = os.path.join(folders.home, trace[2:]) if trace.startswith("~/") else os.path.join(root, trace)
        if (root or trace.startswith("~/")) and os.path.exists(path):
            return True
    if not client.program:
        return False
    from shutil import which

    return which(client.program) is not None


def http_snippets(url: str) -> list[tuple[str, str]]:
    """Returns how to connect to a server over HTTP: whom each snippet is for, and what to paste.

    None holds the token: it would stay in a file that a team commits, in a shell's history, in the list of processes.
    They name a variable, or let the editor ask.
    """
    call = '{"jsonrpc":"2.0","method":"workspace_info","params":{},"id":1}'
    asked = {"type": "promptString", "id": "postil-token", "description": "Postil's token", "password": True}
    vscode = {"servers": {NAME: _http_entry(url, "${input:postil-token}")}, "inputs": [asked]}
    header, expanded = "printf 'Authorization: Bearer %s' \"$POSTIL_TOKEN\"", "Authorization: Bearer ${POSTIL_TOKEN}"
    headers = {"Authorization": "Bearer $POSTIL_TOKEN"}
    return [
        ("all of these, first (then paste the token)", "read -rs POSTIL_TOKEN && export POSTIL_TOKEN"),
        (
            "Claude Code",
            f"claude mcp add --scope project --transport http {NAME} {url} --header '{expanded}'",
        ),
        ("Claude Code, in .mcp.json", _on_one_line({"mcpServers": {NAME: _http_entry(url, "${POSTIL_TOKEN}")}})),
        ("Cursor, in .cursor/mcp.json", _on_one_line({"mcpServers": {NAME: _http_entry(url, "${env:POSTIL_TOKEN}")}})),
        ("VS Code, in .vscode/mcp.json", _on_one_line(vscode)),
        (
            "Gemini CLI, in .gemini/settings.json",
            _on_one_line({"mcpServers": {NAME: {"httpUrl": url, "headers": headers}}}),
        ),
        (
            "any program",
            f"{header} | curl -s {url} -H @- -H 'Content-Type: application/json' -d '{call}'",
        ),
    ]


def _http_entry(url: str, token: str) -> dict[str, object]:
    return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}


def _on_one_line(entry: object) -> str:
    return msgspec.json.encode(entry).decode("utf-8")
