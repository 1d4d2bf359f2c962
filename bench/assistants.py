"""What each assistant's model reads of our answers: real assistants against a stand-in for their model's API.

Needs `make assistants more-assistants`; assistants that are not installed are left out, and said so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.model_api import Call, ModelApi, serving
from bench.report import Effort, Goal

ROOT = Path(__file__).resolve().parents[1]
MODULES = ROOT / "tests" / "node" / "assistants" / "node_modules"
MORE = ROOT / "tests" / "node" / "more_assistants" / "node_modules"
POSTIL = str(Path(sys.executable).with_name("postil"))
NODE = str(Path(sys.executable).with_name("node"))
PREPARE = r"""
git init -q -b main . && git config user.name Ann && git config user.email ann@example.org
printf 'def pay(amount):\n    return amount * 1.19\n\n\ndef refund(amount):\n    return -pay(amount)\n' > tax.py
git add . && git commit -qm first
for n in 1 2 3 4 5 6 7 8; do "$POSTIL" comments add tax.py $((n % 6 + 1)) "Rule $n of the tax law" --tag NOTE; done
for n in 1 2 3 4 5 6 7 8 9 10; do "$POSTIL" issue create "Issue number $n" -d "It is about $n" -l bug; done
"$POSTIL" inbox send --file tax.py --line 2 --comment "Use the new rate"
"""
SCRIPT = [
    Call("workspace_info", {}),
    Call("check_lazygit_messages", {}),
    Call("inbox_list", {}),
    Call("get_file_comments", {"filePath": "tax.py"}),
    Call("search_comments", {"query": "tax law"}),
    Call("comments_list", {}),
    Call("add_comment", {"filePath": "tax.py", "line": 5, "text": "Says why", "tag": "NOTE"}),
    Call("git_mile_list", {"entity": "issue"}),
    Call("git_mile_ready", {}),
    Call("git_mile_create", {"title": "Another"}),
]


def prepare(project: Path, environ: dict[str, str]) -> None:
    """A repository with comments, issues and a message."""
    subprocess.run(["sh", "-ec", PREPARE], cwd=project, env=environ, check=True, capture_output=True)


def our_text(folder: Path, environ: dict[str, str]) -> list[int]:
    """The bytes of text that we send for each call."""
    frames = [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}]
    frames += [
        {"id": n + 1, "method": "tools/call", "params": {"name": call.tool, "arguments": call.arguments}}
        for n, call in enumerate(SCRIPT)
    ]
    sent = "".join(json.dumps({"jsonrpc": "2.0", **frame}) + "\n" for frame in frames)
    ran = subprocess.run([POSTIL, "serve"], cwd=folder, env=environ, input=sent, capture_output=True, text=True)
    answers = {answer.get("id"): answer for answer in map(json.loads, ran.stdout.splitlines())}
    return [
        sum(len(block["text"].encode()) for block in answers[n + 1]["result"]["content"]) for n in range(len(SCRIPT))
    ]


def claude(url: str, home: Path) -> list[str] | None:
    program = MODULES / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    config = home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"postil": {"command": POSTIL, "args": ["serve"]}}}))
    words = ["-p", "go", "--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__postil"]
    return [str(program), *words] if program.exists() else None


def codex(url: str, home: Path) -> list[str] | None:
    program = MODULES / "@openai" / "codex" / "bin" / "codex.js"
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(
        f'model = "stand-in"\nmodel_provider = "here"\napproval_policy = "never"\n'
        f'[model_providers.here]\nname = "here"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
        f'[mcp_servers.postil]\ncommand = "{POSTIL}"\nargs = ["serve"]\ndefault_tools_approval_mode = "approve"\n'
    )
    words = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "go"]
    return [NODE, str(program), *words] if program.exists() else None


def gemini_cli(url: str, home: Path) -> list[str] | None:
    program = MODULES / "@google" / "gemini-cli" / "bundle" / "gemini.js"
    (home / ".gemini").mkdir(exist_ok=True)
    settings = {
        "mcpServers": {"postil": {"command": POSTIL, "args": ["serve"], "trust": True}},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    words = ["--approval-mode", "yolo", "--skip-trust", "-p", "go"]
    return [NODE, str(program), *words] if program.exists() else None


def copilot(url: str, home: Path) -> list[str] | None:
    program = MORE / "@github" / "copilot-linux-x64" / "copilot"
    (home / ".copilot").mkdir(exist_ok=True)
    entry = {"type": "local", "command": POSTIL, "args": ["serve"], "tools": ["*"]}
    (home / ".copilot" / "mcp-config.json").write_text(json.dumps({"mcpServers": {"postil": entry}}))
    words = ["-p", "go", "--allow-all-tools", "--no-color", "--disable-builtin-mcps"]
    return [str(program), *words] if program.exists() else None


def opencode(url: str, home: Path) -> list[str] | None:
    program = MORE / "opencode-linux-x64" / "bin" / "opencode"
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": {"stand-in": {"name": "stand-in", "tool_call": True}},
    }
    settings = {
        "mcp": {"postil": {"type": "local", "command": [POSTIL, "serve"], "enabled": True}},
        "provider": {"here": provider},
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
    }
    (folder / "opencode.json").write_text(json.dumps(settings))
    return [str(program), "run", "go", "--model", "here/stand-in"] if program.exists() else None


def qwen(url: str, home: Path) -> list[str] | None:
    package = MORE / "@qwen-code" / "qwen-code"
    (home / ".qwen").mkdir(exist_ok=True)
    settings = {
        "mcpServers": {"postil": {"command": POSTIL, "args": ["serve"], "trust": True}},
        "security": {"auth": {"selectedType": "openai"}},
        "telemetry": {"enabled": False},
        "tools": {"toolSearch": {"enabled": False}},
        "general": {"disableAutoUpdate": True},
    }
    (home / ".qwen" / "settings.json").write_text(json.dumps(settings))
    words = ["--approval-mode", "yolo", "-p", "go"]
    return [NODE, str(package / "cli.js"), *words] if package.exists() else None


ASSISTANTS = {
    "Claude Code": claude,
    "Codex": codex,
    "Gemini CLI": gemini_cli,
    "Copilot CLI": copilot,
    "OpenCode": opencode,
    "Qwen Code": qwen,
}


def measure(name: str) -> tuple[list[int], list[int]] | None:
    """Bytes of our text for each call, and bytes that this assistant's model read of it; None where it is missing."""
    api = ModelApi(SCRIPT)
    with tempfile.TemporaryDirectory(prefix="postil-bench-") as folder, serving(api) as url:
        home, project = Path(folder, "home"), Path(folder, "project")
        home.mkdir()
        project.mkdir()
        environ = {
            **os.environ, "HOME": str(home), "PWD": str(project), "POSTIL": POSTIL,
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x",
            "GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url, "DISABLE_AUTOUPDATER": "1", "NO_COLOR": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false",
            "OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "stand-in",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "x", "COPILOT_MODEL": "stand-in",
            "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
            "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".data"),
            "PATH": f"{Path(NODE).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        prepare(project, environ)
        sent = our_text(project, environ)
        for each in (project, home):  # the same state for both: what is asked is also changed
            subprocess.run(["sh", "-c", "rm -rf ./* ./.[a-z]*"], cwd=each, check=True)
        prepare(project, environ)
        command = ASSISTANTS[name](url, home)
        if command is None:
            return None
        ran = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, timeout=300)
        if len(api.read) < len(SCRIPT):
            tail = (ran.stdout + ran.stderr)[-2000:]
            raise RuntimeError(
                f"{name} made {len(api.read)} of {len(SCRIPT)} calls; tools {sorted(api.names)[:80]}: {tail}"
            )
    return sent, [len(each.encode()) for each in api.read]


def assistants(effort: Effort) -> Iterator[Goal]:
    """The goal of every assistant: its model reads hardly more than our text."""
    for name in ASSISTANTS:
        what = f"{name}: bytes the model reads for ten usual calls, of our text"
        try:
            found = measure(name)
        except (RuntimeError, subprocess.SubprocessError) as problem:  # the others are measured all the same
            said = " ".join(str(problem).split())[:200].replace("|", "&#124;")
            yield Goal(what, "≤ 1.15", f"failed: {said}", False)
            continue
        if found is None:
            yield Goal(what, "≤ 1.15", "not installed: `make assistants more-assistants`", None)
            continue
        sent, read = map(sum, found)
        yield Goal(what, "≤ 1.15", f"{read / sent:.2f} ({read} of {sent})", read <= 1.15 * sent)


def table() -> str:
    """Bytes for each call, as docs/decisions.md has them: `python -m bench.assistants`."""
    found = {name: calls for name in ASSISTANTS if (calls := measure(name)) is not None}
    ours = next(iter(found.values()))[0]
    rows = [f"| operation | sends | our text | {' | '.join(found)} |", "|---|---|---|" + "---|" * len(found)]
    for n, call in enumerate(SCRIPT):
        read = " | ".join(str(calls[1][n]) for calls in found.values())
        rows.append(f"| `{call.tool}` | text | {ours[n]} | {read} |")
    shares = " | ".join(f"{sum(read)} ({sum(read) / sum(sent):.2f})" for sent, read in found.values())
    return "\n".join([*rows, f"| all ten | | {sum(ours)} | {shares} |"])


if __name__ == "__main__":
    print(table())
