"""What Postil is made of: the licences of what it installs, a bill of materials, and where a release comes from.

`licences` fails for a package whose licence nobody has allowed, `audit` for a known vulnerability; `release` writes
beside the built files a CycloneDX document of every locked package with its hashes, and a statement (in-toto, SLSA
provenance) that binds the files' digests to the commit they were built from. Only reads the lock, the installed
metadata and git.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from scripts.usage import show_usage

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = re.compile(
    r"\b(MIT|MIT-0|BSD|Apache|PSF|ISC|MPL|LGPL|Unlicense|Mozilla Public|Lesser General)", re.IGNORECASE
)
FORBIDDEN = re.compile(r"\b(AGPL|SSPL|BUSL|Commons Clause|Proprietary)|(?<!L)GPL", re.IGNORECASE)
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)[^\n]*((?:\n\s+--hash=sha256:[0-9a-f]{64}[ \\]*)+)", re.MULTILINE)


def read_lock(text: str) -> list[tuple[str, str, list[str]]]:
    """Returns name, version and hashes of every locked package."""
    return [
        (name, version, re.findall(r"sha256:([0-9a-f]{64})", hashes)) for name, version, hashes in _ENTRY.findall(text)
    ]


def find_licence(name: str) -> str:
    """Returns the licence that an installed package names; empty where it is not installed."""
    return _list_licences().get(_canonical(name), "")


@cache
def _list_licences() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in metadata.distributions():
        said = [(key, str(value)) for key, value in package.metadata.items()]  # type: ignore[attr-defined]
        stated = next((value for key, value in said if key in ("License-Expression", "License")), "")
        classified = [
            value.rpartition(":: ")[2] for key, value in said if key == "Classifier" and "License ::" in value
        ]
        name = next(value for key, value in said if key == "Name")
        found[_canonical(name)] = stated.partition("\n")[0][:80] or ", ".join(classified)
    return found


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def judge_licences(packages: list[str]) -> list[str]:
    """Returns a line for each installed package whose licence is not one of those we allow."""
    found = {name: find_licence(name) for name in packages}
    return [f"{name}: {licence}" for name, licence in found.items() if licence and not is_allowed(licence)]


def is_allowed(licence: str) -> bool:
    """Whether we may install a package under this licence."""
    lesser = re.search("LGPL|Lesser", licence) is not None
    return ALLOWED.search(licence) is not None and (lesser or FORBIDDEN.search(licence) is None)


def make_sbom(lock: str, version: str) -> dict[str, Any]:
    """Returns the bill of materials, in CycloneDX 1.5."""
    components = [
        {
            "type": "library",
            "name": name,
            "version": locked,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{locked}",
            "bom-ref": f"{name}@{locked}",
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in hashes],
            **({"licenses": [{"license": {"name": licence}}]} if (licence := find_licence(name)) else {}),
        }
        for name, locked, hashes in read_lock(lock)
    ]
    about = {"type": "application", "name": "postil", "version": version, "bom-ref": "postil"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": about},
        "components": components,
    }


def make_provenance(files: list[Path], commit: str, clean: bool) -> dict[str, Any]:
    """Returns a statement of what was built from which commit."""
    subjects = [
        {"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}} for file in files
    ]
    built = {
        "buildDefinition": {
            "buildType": "make release",
            "externalParameters": {"commit": commit, "clean": clean},
            "resolvedDependencies": [
                {"name": "requirements.lock", "digest": {"sha256": _digest(ROOT / "requirements.lock")}},
                {"name": "source", "digest": {"gitCommit": commit}},
            ],
        },
        "runDetails": {"builder": {"id": "make release"}},
    }
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": built,
    }


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def judge_audit(said: str) -> tuple[list[str], str]:
    """Returns the known vulnerabilities in what pip-audit printed, and one sentence on what it looked at."""
    try:
        packages: list[dict[str, Any]] = json.loads(said)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return [], "audit: skipped: pip-audit gave no answer, so its data cannot be had here"
    judged = [each for each in packages if "vulns" in each]
    faults = [f"{each['name']} {each['version']}: {fault['id']}" for each in judged for fault in each["vulns"]]
    skipped = len(packages) - len(judged)
    if not judged:
        return [], f"audit: skipped: the data of none of {skipped} packages can be had here"
    told = f"audit: {len(judged)} packages, {len(faults)} known vulnerabilities"
    return faults, told + (f"; no data of {skipped} others" if skipped else "")


def main() -> int:
    """`licences`, `audit` with pip-audit's JSON on standard input, or `release FOLDER` with the built files in it."""
    show_usage(__doc__)
    lock = (ROOT / "requirements.lock").read_text()
    if sys.argv[1:] == ["licences"]:
        faults = judge_licences([name for name, _, _ in read_lock(lock)])
        print("\n".join(faults) or "licences: every installed package has one that is allowed")
        return bool(faults)
    if sys.argv[1:] == ["audit"]:
        faults, told = judge_audit(sys.stdin.read())
        print("\n".join([*faults, told]))
        return bool(faults)
    folder = Path(sys.argv[2])
    files = sorted(file for file in folder.iterdir() if file.suffix in (".whl", ".gz"))
    (folder / "postil.cdx.json").write_text(json.dumps(make_sbom(lock, metadata.version("postil")), indent=1) + "\n")
    stated = make_provenance(
        [*files, folder / "postil.cdx.json"], _git("rev-parse", "HEAD"), not _git("status", "--porcelain")
    )
    (folder / "postil.provenance.json").write_text(json.dumps(stated, indent=1) + "\n")
    print("\n".join(str(file) for file in sorted(folder.iterdir())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
