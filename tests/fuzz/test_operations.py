"""Every operation of the united server, called with arguments of every kind: refused or done, but never a bug."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.arguments import Arguments

SEED = 20261115
CALLS = 100
POSTIL = Path(sys.executable).with_name("postil")
PREPARE = """
git init --quiet . && mkdir folder && printf 'def f():\\n    return 1\\n' > a.py && cp a.py folder/b.py
ln -s /etc link && git add --all && git commit --quiet --message first && printf '# more\\n' >> a.py
"""


class Client:
    """A client that asks one thing at a time."""

    def __init__(self, folder: Path, log: Path) -> None:
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                [POSTIL, "serve", "--structured"],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
            )
        self._count = 0

    def ask(self, method: str, **params: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._count += 1
        asked = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._count and "method" not in answer:
                return answer
        raise AssertionError(f"the server died of {asked}")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    folder = tmp_path / "repository"
    folder.mkdir()
    subprocess.run(["sh", "-ec", PREPARE], cwd=folder, check=True)
    client = Client(folder, tmp_path / "log")
    hello: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "f", "version": "1"},
    }
    client.ask("initialize", **hello)
    yield client
    client.process.kill()
    client.process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_arguments_make_an_operation_crash(client: Client, tmp_path: Path) -> None:
    made = Arguments(SEED)
    for tool in client.ask("tools/list")["result"]["tools"]:
        if tool["name"] in ("inbox_wait", "request_review"):  # they wait for a person, as they should
            continue
        for _ in range(CALLS):
            given = made.make(tool["inputSchema"])
            answer = client.ask("tools/call", name=tool["name"], arguments=given)
            assert "result" in answer, (tool["name"], given, answer)
            made.learn(answer["result"].get("structuredContent"))
    log = (tmp_path / "log").read_text()
    assert "postil: bug" not in log, log[-5000:]
