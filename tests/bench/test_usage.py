"""Every script that takes words says how it is called, and does nothing else then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = (
    *("bench.hard_anchors", "bench.anchor_truth", "bench.anchors", "bench.package_histories"),
    *("scripts.anchors", "scripts.reference", "scripts.supply", "scripts.train_anchor"),
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_how_it_is_called(script: str) -> None:
    done = subprocess.run([sys.executable, "-m", script, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout[0].isupper()
