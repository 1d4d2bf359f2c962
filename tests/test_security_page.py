"""SECURITY.md promises nothing without a test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_promise_names_a_test_that_exists() -> None:
    rows = re.findall(r"^\| (?!promise|---)(.+?) \| (.+) \|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    assert len(rows) > 15
    for promise, linked in rows:
        files = re.findall(r"\]\(([^)]+)\)", linked)
        assert files, promise
        for file in files:
            assert "\ndef test_" in (ROOT / file).read_text() or "\nasync def test_" in (ROOT / file).read_text(), file
