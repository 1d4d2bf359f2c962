"""`scripts/suite.py`: what fails beside the others gets one more chance, alone, and only a little of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

UNSTEADY = """
from pathlib import Path
import pytest
@pytest.mark.parametrize("number", range({count}))
def test_passes_the_second_time(number):
    seen = Path(f"seen{{number}}")
    first = not seen.exists()
    seen.touch()
    assert not first
"""


def run_suite(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, str(ROOT / "scripts/suite.py"), "-q", "test_it.py"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist.plugin"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_test_that_passes_alone_is_named_and_the_run_is_green(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, UNSTEADY.format(count=2))
    assert ran.returncode == 0, ran.stdout
    assert "Unsteady, passed alone: test_it.py::test_passes_the_second_time[0], test_it.py::" in ran.stdout


def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "def test_is_wrong():\n    assert False\n")
    assert ran.returncode == 1
    assert "Unsteady" not in ran.stdout


def test_many_failures_are_not_run_again(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, UNSTEADY.format(count=4))
    assert ran.returncode == 1
    assert "Again" not in ran.stdout
