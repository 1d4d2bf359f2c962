"""Running the official suite against a server, and reading what it says. Knows nothing of the server."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.needs import needs, needs_package

# Every protocol version that has server scenarios; the suite has none for 2024-11-05.
VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")


EXTENSIONS = (
    "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal",
    "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error",
    "tasks-mrtr-composition",
)  # fmt: skip
"""Scenarios of the extensions that are offered: they belong to no protocol version, and are asked for one by one."""


class Check(Struct, frozen=True):
    """One check of one scenario, as the suite writes it."""

    id: str
    status: str
    errorMessage: str = ""


class Outcome(Struct, frozen=True):
    """What the suite found for one version."""

    version: str
    passed: int
    failures: list[str]
    warnings: list[str]

    def line(self) -> str:
        """The verdict in one line."""
        return f"{self.version}: {self.passed} passed, {len(self.failures)} failed"


def judge(url: str, version: str, timeout: float = 240) -> Outcome:
    """Run every scenario that applies to a protocol version, pending ones too, against the server at `url`."""
    return _run(url, version, ["--suite", "all", "--spec-version", version], timeout)


def judge_extension(url: str, scenario: str, timeout: float = 120) -> Outcome:
    """Run one scenario of an extension."""
    return _run(url, scenario, ["--scenario", scenario], timeout)


def _run(url: str, what: str, chosen: list[str], timeout: float) -> Outcome:
    program = needs_package("@modelcontextprotocol/conformance") / "dist" / "index.js"
    with tempfile.TemporaryDirectory(prefix="postil-conformance-") as folder:
        command = [needs("node"), str(program), "server", "--url", url, *chosen]
        ran = subprocess.run([*command, "-o", folder], capture_output=True, text=True, timeout=timeout)
        checks = [
            (file.parent.name, check)
            for file in sorted(Path(folder).glob("*/checks.json"))
            for check in msgspec.json.decode(file.read_bytes(), type=list[Check])
        ]
    failures = said_by(checks, "FAILURE")
    # A suite that died, or ran nothing, has no failed check to show; it must not look like a success.
    if not checks or (ran.returncode != 0 and not failures):
        failures.append(f"the suite exited {ran.returncode}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    passed = sum(check.status == "SUCCESS" for _, check in checks)
    return Outcome(what, passed, failures, said_by(checks, "WARNING"))


def said_by(checks: list[tuple[str, Check]], status: str) -> list[str]:
    return [f"{scenario}: {check.id}: {check.errorMessage}" for scenario, check in checks if check.status == status]
