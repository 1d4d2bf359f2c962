"""Real assistants with their own hook runners, without an account: their model is a stand-in on the loopback.

`make hooks` runs each of them through each of its events; tests/clients/test_hooks.py a part of that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.clients.stand_in import Model, running_model
from tests.inbox.people import BIN, Person
from tests.needs import ROOT, needs, needs_assistant

PATIENCE = 300.0
Command = list[str]
COPILOT = ROOT / "tests" / "node" / "copilot" / "node_modules" / "@github" / "copilot-linux-x64" / "copilot"


class Assistant:
    """One client: how its hooks are set up, and how it is asked one thing."""

    def __init__(self, name: str, prepare: Callable[[Person, Path, Model], Command], has_prompt: bool = True) -> None:
        self.name = name
        self.prepare = prepare
        self.has_prompt = has_prompt
        """Whether it has an event for each prompt that takes words."""


def _prepare_claude(person: Person, home: Path, model: Model) -> Command:
    needs_assistant("@anthropic-ai/claude-code")
    person.environment |= {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-none"}
    return [str(needs_assistant("@anthropic-ai/claude-code-linux-x64") / "claude"), "-p", "hello"]


def _prepare_codex(person: Person, home: Path, model: Model) -> Command:
    script = needs_assistant("@openai/codex") / "bin" / "codex.js"
    provider = f'name = "here"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
    (home / ".codex" / "config.toml").write_text(
        f'model = "stand-in"\nmodel_provider = "here"\n[model_providers.here]\n{provider}'
    )
    # People look at the hooks once and trust them; this says that somebody did.
    return [needs("node"), str(script), "exec", "--dangerously-bypass-hook-trust", "hello"]


def _prepare_gemini(person: Person, home: Path, model: Model) -> Command:
    script = needs_assistant("@google/gemini-cli") / "bundle" / "gemini.js"
    person.environment |= {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url}
    folder = home / ".gemini"
    folder.mkdir(exist_ok=True)
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    (folder / "settings.json").write_text(json.dumps(auth))
    (folder / "trustedFolders.json").write_text(json.dumps({str(person.root): "TRUST_FOLDER"}))
    return [needs("node"), str(script), "-p", "hello", "-m", "gemini-2.5-flash"]


def _prepare_copilot(person: Person, home: Path, model: Model) -> Command:
    person.environment |= {
        "COPILOT_OFFLINE": "true",
        "COPILOT_MODEL": "stand-in",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
    }
    return [str(COPILOT), "-p", "hello", "--trust-folder", "--allow-all-tools"]


ASSISTANTS = {
    one.name: one
    for one in (
        Assistant("claude", _prepare_claude),
        Assistant("codex", _prepare_codex),
        Assistant("gemini", _prepare_gemini),
        Assistant("copilot", _prepare_copilot, has_prompt=False),
    )
}


def ask(folder: Path, name: str, *, start: bool) -> tuple[Person, list[str]]:
    """Ask an assistant one thing: a remark waits before it begins, and another comes while the model answers.

    Without `start` the hook for the beginning of a session is taken out. Returns what the model was asked.
    """
    person, assistant = Person(folder), ASSISTANTS[name]
    home = folder / "home"
    (home / ".codex").mkdir(parents=True)
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "NO_COLOR": "1"}
    person.environment |= {**quiet, "HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = person.run("postil", "setup", f"{name}-hooks", "--write")
    assert done.returncode == 0, done.stderr
    if not start:
        _take_out_start(Path(done.stdout.split("Wrote ", 1)[1].split(";", 1)[0]))
    person.send("the remark before", "a.txt", "2")
    with running_model() as model:
        command = assistant.prepare(person, home, model)

        def send_second(number: int) -> None:
            if number == 1:
                person.send("the remark meanwhile", "a.txt", "3")

        model.before_answer = send_second
        ran = subprocess.run(
            command,
            cwd=person.root,
            env=person.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return person, model.asked


def _take_out_start(file: Path) -> None:
    settings = json.loads(file.read_text())
    (event,) = [name for name in settings["hooks"] if name.lower() == "sessionstart"]
    del settings["hooks"][event]
    file.write_text(json.dumps(settings))


def check(asked: list[str]) -> None:
    """See that the first question holds the first remark, and the hook at the end of the turn brought the second."""
    assert "the remark before" in asked[0], asked[0][:2000]
    assert "inbox_resolve with its number" in asked[0]
    assert "the remark meanwhile" not in asked[0]
    assert any("the remark meanwhile" in question for question in asked[1:]), f"{len(asked)} questions"


def main() -> int:
    """Each client through each of its events; exit 1 when one of them fails."""
    import tempfile

    failed = 0
    for name in sys.argv[1:] or ASSISTANTS:
        for start in (True, False) if ASSISTANTS[name].has_prompt else (True,):
            with tempfile.TemporaryDirectory() as folder:
                what = f"{name}: {'session start' if start else 'prompt'} and end of the turn"
                try:
                    check(ask(Path(folder), name, start=start)[1])
                    print(f"{what}: the words reached the model", flush=True)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    failed += 1
                    print(f"{what}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
