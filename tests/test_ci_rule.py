"""The rule that nothing skips in CI, tested on a test that skips."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SKIPPING = """
def test_with_a_program_that_is_nowhere(needs):
    needs("no-such-program-anywhere")
"""


@pytest.mark.parametrize(("ci", "said"), [("", "1 skipped"), ("true", "1 failed")])
def test_a_test_whose_program_is_missing_skips_at_home_and_fails_in_ci(tmp_path: Path, ci: str, said: str) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_one.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert said in ran.stdout
    assert "no-such-program-anywhere: run `make tools`" in ran.stdout
