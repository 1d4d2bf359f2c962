"""What `postil setup CLIENT --write` writes, read by that very client: it starts us from the file and calls a tool.

Without an account: the client's model is a stand-in on the loopback, which asks for one tool. What is given here beside
our own command is the model and its permission to call tools, in other files or in the environment; where a client has
but one file, our command writes into it afterwards. `make setup-entries` runs all of them (ARGS="claude").
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.model_api import Call, ModelApi, serving

ROOT = Path(__file__).resolve().parents[2]
NODE_FOLDER = ROOT / "tests" / "node"
BIN = Path(sys.executable).parent
NODE = str(BIN / "node")
SCRIPT = [Call("workspace_info", {}), Call("git_mile_create", {"title": "Made by the client"})]
PATIENCE = 240.0


class NotInstalled(Exception):
    """The client is not here."""


def module(folder: str, *path: str) -> Path:
    """The path of something that npm installed. Raises NotInstalled."""
    found = Path(NODE_FOLDER, folder, "node_modules", *path)
    if not found.exists():
        raise NotInstalled(f"run `make {'assistants' if folder == 'assistants' else 'setup-entries'}`")
    return found


def put(path: Path, content: object) -> None:
    """Write a file of the person's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def claude(home: Path, url: str) -> list[str]:
    # Servers of a file that a team commits are asked about once; this says that somebody said yes.
    put(home / ".claude" / "settings.json", {"enableAllProjectMcpServers": True})
    program = module("assistants", "@anthropic-ai", "claude-code-linux-x64", "claude")
    return [str(program), "-p", "go", "--allowedTools", "mcp__postil"]


def codex(home: Path, url: str) -> list[str]:
    provider = f'[model_providers.here]\nname = "here"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
    put(home / ".codex" / "config.toml", f'model = "stand-in"\nmodel_provider = "here"\n{provider}')
    program = module("assistants", "@openai", "codex", "bin", "codex.js")
    return [NODE, str(program), "exec", "--dangerously-bypass-approvals-and-sandbox", "go"]


def gemini(home: Path, url: str) -> list[str]:
    # Nothing of a folder is read before somebody trusts it.
    put(home / ".gemini" / "trustedFolders.json", {str(home.parent / "project"): "TRUST_FOLDER"})
    put(home / ".gemini" / "settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    program = module("assistants", "@google", "gemini-cli", "bundle", "gemini.js")
    return [NODE, str(program), "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", "go"]


def copilot(home: Path, url: str) -> list[str]:
    program = module("more_assistants", "@github", "copilot-linux-x64", "copilot")
    return [str(program), "-p", "go", "--allow-all-tools", "--no-color", "--disable-builtin-mcps"]


def opencode(home: Path, url: str) -> list[str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": {"stand-in": {"name": "stand-in", "tool_call": True}},
    }
    settings = {"provider": {"here": provider}, "permission": "allow", "autoupdate": False, "share": "disabled"}
    put(home / ".config" / "opencode" / "opencode.json", settings)
    program = module("more_assistants", "opencode-linux-x64", "bin", "opencode")
    return [str(program), "run", "go", "--model", "here/stand-in"]


def qwen(home: Path, url: str) -> list[str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "telemetry": {"enabled": False},
        "tools": {"toolSearch": {"enabled": False}},
        "general": {"disableAutoUpdate": True},
    }
    put(home / ".qwen" / "settings.json", settings)
    return [
        NODE,
        str(module("more_assistants", "@qwen-code", "qwen-code", "cli.js")),
        "--approval-mode",
        "yolo",
        "-p",
        "go",
    ]


def cline(home: Path, url: str) -> list[str]:
    program = str(module("cline", "@cline", "cli-linux-x64", "bin", "cline"))
    words = ["auth", "-p", "openai-compatible", "-k", "x", "-m", "stand-in", "-b", f"{url}/v1"]
    environ = {**os.environ, "HOME": str(home)}
    subprocess.run([program, *words], env=environ, cwd=home, capture_output=True, timeout=60, check=True)
    return [program, "-P", "openai-compatible", "-m", "stand-in", "go on now"]


CLIENTS: dict[str, Callable[[Path, str], list[str]]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "copilot": copilot,
    "opencode": opencode,
    "qwen": qwen,
    "cline": cline,
}


def visit(name: str, folder: Path) -> str:
    """Set a client up and let it call two tools. Returns what it was set up by; raises AssertionError."""
    home, project = folder / "home", folder / "project"
    home.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
    for key in ("user.name", "user.email"):
        subprocess.run(["git", "config", key, "ann@example.org"], cwd=project, check=True)
    api = ModelApi(SCRIPT)
    with serving(api) as url:
        environ = {
            **os.environ, "HOME": str(home), "PWD": str(project), "DISABLE_AUTOUPDATER": "1", "NO_COLOR": "1",
            "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".data"),
            "XDG_STATE_HOME": str(home / ".state"), "XDG_CACHE_HOME": str(home / ".cache"),
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "ENABLE_TOOL_SEARCH": "false",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url,
            "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "stand-in",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_MODEL": "stand-in",
            "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip
        command = CLIENTS[name](home, url)

        def run(*words: str, patience: float = 60.0) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                words,
                cwd=project,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=patience,
            )

        written = run("postil", "init", "--client", name, "--yes")
        assert written.returncode == 0, written.stderr
        ran = run(*command, patience=PATIENCE)
        tail = (ran.stdout + ran.stderr)[-3000:]
        said = f"{len(api.read)} of {len(SCRIPT)} calls; tools {sorted(api.names)[:60]}\n{tail}"
        assert len(api.read) == len(SCRIPT), said
        assert "main" in api.read[0], api.read[0]
        if name == "cline":
            run(command[0], "hub", "stop")  # it leaves a program of its own behind, in a home that goes
        made = run("postil", "issue", "list", "--json").stdout
        assert "Made by the client" in made, made
    return written.stdout.splitlines()[0] if written.stdout else ""


def main() -> int:
    """Each client that is installed; exit 1 when one of them fails."""
    failed = 0
    for name in sys.argv[1:] or CLIENTS:
        with tempfile.TemporaryDirectory(prefix="postil-setup-") as folder:
            try:
                print(f"{name}: called two tools by {visit(name, Path(folder))}", flush=True)
            except NotInstalled as missing:
                failed += 1
                print(f"{name}: not installed: {missing}", flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as wrong:
                failed += 1
                print(f"{name}: FAILED\n{wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
