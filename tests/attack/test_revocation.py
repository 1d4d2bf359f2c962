"""A credential that is revoked while its call waits: the call ends, and no message is given to it any more."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import threading
from pathlib import Path
from urllib.parse import urlsplit

from tests.surfaces.programs import BIN
from tests.surfaces.served import serve_http
from tests.workspace.repositories import git, new_repository


def test_a_revoked_key_that_waits_gets_no_message(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "work", a__py="one\n")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", "a@example.org")
    own = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("STATE", "CACHE", "CONFIG")}

    def run(*words: str) -> str:
        done = subprocess.run(
            [BIN / "postil", *words], cwd=root, env={**os.environ, **own}, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    key = run("key", "create", "laptop", "--workspace").strip()
    with serve_http(root, "--auth", "key", **own) as served:
        where = urlsplit(served.url)
        waiting = http.client.HTTPConnection(str(where.hostname), where.port, timeout=100)
        frame = {"jsonrpc": "2.0", "id": 1, "method": "inbox_wait", "params": {"seconds": 90}}
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        ended: list[int] = []

        def wait() -> None:
            try:
                waiting.request("POST", where.path, json.dumps(frame), headers)
                answer = waiting.getresponse()
                ended.append(answer.status)
                answer.read()
            finally:
                waiting.close()

        thread = threading.Thread(target=wait)
        thread.start()
        run("key", "revoke", "laptop")
        thread.join(100)
        assert ended, "the call went on"
        run("inbox", "send", "--file", "a.py", "--line", "1", "--comment", "not for them")
        listed = json.loads(run("inbox", "list", "--json"))
        assert [message["state"] for message in listed["messages"]] == ["queued"]
        assert ended[0] == 401
