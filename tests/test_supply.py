"""The bill of materials and the licences are read from the lock, whole."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from scripts.supply import judge_audit, judge_licences, make_provenance, make_sbom, read_lock

LOCK = (Path(__file__).parents[1] / "requirements.lock").read_text()


def test_every_locked_package_has_hashes_and_stands_in_the_bill() -> None:
    locked = read_lock(LOCK)
    named = [line for line in LOCK.splitlines() if "==" in line and not line.startswith((" ", "#"))]
    assert len(locked) == len(named) > 40
    assert all(hashes for _, _, hashes in locked)
    bill = make_sbom(LOCK, "1.2.3")
    assert bill["bomFormat"] == "CycloneDX"
    version = next(version for name, version, _ in locked if name == "msgspec")
    assert f"pkg:pypi/msgspec@{version}" in {each["purl"] for each in bill["components"]}


def test_the_licences_of_what_is_installed_are_allowed() -> None:
    assert judge_licences([name for name, _, _ in read_lock(LOCK)]) == []


def test_provenance_binds_files_to_a_commit(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"content")
    stated = make_provenance([tmp_path / "a.whl"], "c" * 40, clean=True)
    assert stated["subject"] == [{"name": "a.whl", "digest": {"sha256": hashlib.sha256(b"content").hexdigest()}}]
    assert stated["predicate"]["buildDefinition"]["externalParameters"]["commit"] == "c" * 40


def test_an_audit_says_what_it_looked_at_and_what_it_could_not() -> None:
    """pip-audit says "No known vulnerabilities" of packages of which it knows nothing."""
    known: dict[str, Any] = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}
    sound: dict[str, Any] = {"name": "b", "version": "1", "vulns": []}
    skipped = {"name": "c", "skip_reason": "not found"}
    faults, told = judge_audit(json.dumps({"dependencies": [known, sound, skipped]}))
    assert faults == ["a 1: CVE-1"]
    assert told == "audit: 2 packages, 1 known vulnerabilities; no data of 1 others"
    assert judge_audit(json.dumps({"dependencies": [skipped]}))[1].startswith("audit: skipped: the data of none of 1")
    assert judge_audit("no network")[1].startswith("audit: skipped")
