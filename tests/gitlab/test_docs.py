"""The examples of docs/gitlab.md, run as they stand on the emulator's world."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER
from tests.gitlab.http_server import postil
from tests.gitlab.test_over_http import post
from tests.needs import ROOT

TEXT = (ROOT / "docs" / "gitlab.md").read_text("utf-8")
COMMANDS = [line for line in TEXT.splitlines() if line.startswith("postil gitlab ")]
BODIES = re.findall(r"-d '(\{.*\})'", TEXT)


def test_there_are_examples() -> None:
    assert len(COMMANDS) >= 14
    assert BODIES


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_documentation_works(line: str, emulator: Emulator, address: str, tmp_path: Path) -> None:
    words = shlex.split(line, comments=True)
    done = subprocess.run(
        [Path(sys.executable).with_name("postil"), *words[1:]],
        env={**os.environ, "GITLAB_URL": address, "GITLAB_TOKEN": DEVELOPER, "XDG_STATE_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert emulator.seen


def test_a_request_of_the_documentation_is_answered(emulator: Emulator, address: str, tmp_path: Path) -> None:
    with postil(address, tmp_path) as endpoint:
        for body in BODIES:
            assert "result" in post(endpoint, json.loads(body)), body
