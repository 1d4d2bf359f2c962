"""`make frameworks`: every framework connects, lists, converts and calls, over stdio and over HTTP. One line a visit.

Each of Python has a virtual environment of its own below `.frameworks/`; those of JavaScript share the folder
`tests/node/frameworks`. `ARGS="langchain vercel"` names some of them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".frameworks"
NODE = ROOT / "tests" / "node" / "frameworks"
BIN = Path(sys.executable).parent
STDIO = [str(BIN / "postil"), "serve"]

PYTHON = {
    "mcp_1": ["mcp==1.30.0"],
    "openai_agents": ["openai-agents==0.24.0"],
    "langchain": ["langchain-mcp-adapters==0.3.2"],
    "pydantic_ai": ["pydantic-ai-slim[mcp,openai]==2.66.0"],
    "llama_index": ["llama-index-tools-mcp==0.6.0"],
    "smolagents": ["smolagents[mcp]==1.26.0", "mcp<2"],  # its adapter does not know the SDK's second version
    "fastmcp": ["fastmcp==4.1.2"],
    "strands": ["strands-agents==1.62.0"],
    "google_adk": ["google-adk[mcp]==2.13.0"],
    "agno": ["agno==3.1.10", "fastmcp>=4,<5", "openai"],
    "autogen": ["autogen-ext[mcp]==0.7.5", "autogen-agentchat==0.7.5", "mcp<2"],
    "haystack": ["mcp-haystack==2.1.1"],
    "dspy": ["dspy[mcp]==3.4.1"],
    "semantic_kernel": ["semantic-kernel[mcp]==1.45.0"],
    "crewai": ["crewai-tools[mcp]==1.15.30", "crewai==1.15.30"],
}
"""The frameworks of Python, and what is installed for each."""
JAVASCRIPT = ("vercel", "mastra", "langchain", "openai")
PATIENCE = 180


def install(name: str) -> Path:
    """Returns the interpreter of a framework's environment, made where it is missing or was made of other versions."""
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / ".stamp"
    wanted = "\n".join(PYTHON[name])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    uv = shutil.which("uv")
    if uv:
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), *PYTHON[name]], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PYTHON[name]], check=True)
    stamp.write_text(wanted)
    return python


@contextmanager
def serving(project: Path, environ: dict[str, str]) -> Generator[list[str]]:
    """Serve a project over HTTP on a free port; yields the address and the token."""
    command = [str(BIN / "postil"), "serve", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=project, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            found: dict[str, str] = {}
            for line in process.stderr:
                words = line.split()
                if words[1:2] in (["serving"], ["token"]):
                    found[words[1]] = words[2]
                if len(found) == 2:
                    break
            yield [found["serving"], found["token"]]
        finally:
            process.terminate()


def visit(command: list[str], project: Path, environ: dict[str, str]) -> str:
    """Returns how a visit ended: `ok` and the number of tools, or the last line of what went wrong."""
    try:
        ran = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "failed: no answer"
    try:
        told = json.loads(ran.stdout.strip().splitlines()[-1])
        if "Branch: main" in told["text"] and told["tools"] >= 40:
            return f"ok, {told['tools']} tools"
        return f"failed: {told}"[:300]
    except (ValueError, IndexError):
        return f"failed: {(ran.stderr.strip().splitlines() or ['nothing was said'])[-1]}"[:300]


def main(words: list[str]) -> int:
    """Visit with all frameworks, or with those that are named."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="postil-frameworks-") as folder:
        home, project = Path(folder, "home"), Path(folder, "project")
        home.mkdir()
        subprocess.run(["git", "init", "--quiet", "-b", "main", str(project)], check=True)
        quiet = {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "HAYSTACK_TELEMETRY_ENABLED": "False"}
        environ = {**os.environ, **quiet, "HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}"}
        with serving(project, environ) as over_http:
            targets = {"stdio": STDIO, "http": over_http}
            for name in PYTHON:
                if words and name not in words:
                    continue
                python = install(name)
                for kind, target in targets.items():
                    program = [str(python), str(Path(__file__).with_name("visits.py"))]
                    failed += tell(name, kind, visit([*program, name, kind, json.dumps(target)], project, environ))
            for name in JAVASCRIPT:
                if words and name not in words:
                    continue
                for kind, target in targets.items():
                    program = [str(BIN / "node"), str(NODE / "visit.mjs")]
                    said = visit([*program, name, kind, json.dumps(target)], project, environ)
                    failed += tell(f"{name} (JavaScript)", kind, said)
    return 1 if failed else 0


def tell(name: str, kind: str, said: str) -> bool:
    """Print one line. Returns whether the visit failed."""
    print(f"{name:24} {kind:6} {said}", flush=True)
    return not said.startswith("ok")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
