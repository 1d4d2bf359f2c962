"""Compare the emulator's answers with types recorded from real GitLab answers.

`python -m tests.emulator.recorded PATH` prints what differs and exits 1. The file is JSON: for each kind of thing `n`
and `keys`, each key with its JSON `types` and its `presence` between 0 and 1. It is not part of this project.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.emulator import shapes
from tests.emulator.world import Row, World, seeded

ALWAYS = 0.99
ENOUGH = 10
"""Kinds with fewer recordings say what may be there, not what must."""


def answers(world: World) -> dict[str, list[Row]]:
    """One answer or more of every kind, as the routes give them."""
    base = "https://gitlab.example.com"
    main, public = world.projects[:2]
    main.hooks.append({"id": 1, "url": "https://x.example", "created_at": world.now(), "enable_ssl_verification": True})
    return {
        "project": [shapes.project(world, row, base, statistics=True) for row in world.projects],
        "user": [shapes.own_user(world, 456)],
        "commit": [shapes.commit(main, row, base) for row in main.commits.values()],
        "file": [shapes.file(main, path, "main", main.branches["main"]) for path in main.files],
        "tree": [shapes.tree_entry("src", "tree"), shapes.tree_entry("README.md", "blob")],
        "issue": [shapes.issue(world, owner, row, base) for owner in (main, public) for row in owner.issues],
        "mr": [shapes.merge_request(world, main, row, base, full=True) for row in main.merge_requests],
        "mr_basic": [shapes.merge_request(world, main, row, base, full=False) for row in main.merge_requests],
        "pipeline": [shapes.pipeline(world, main, row, base) for row in main.pipelines],
        "pipeline_basic": [shapes.pipeline_basic(main, row, base) for row in main.pipelines],
        "hook": [shapes.hook(main, row) for row in main.hooks],
    }


def differences(recorded: dict[str, Any], given: dict[str, list[Row]]) -> list[str]:
    """What real answers never look like, one sentence each."""
    found: list[str] = []
    for kind, rows in given.items():
        keys = recorded[kind]["keys"]
        for row in rows:
            for name, value in row.items():
                if name in keys and json_type(value) not in keys[name]["types"]:
                    types = "/".join(keys[name]["types"])
                    found.append(f"{kind}.{name} is {json_type(value)}, recorded as {types}")
            if recorded[kind]["n"] >= ENOUGH:
                missing = [name for name, key in keys.items() if key["presence"] >= ALWAYS and name not in row]
                found += [f"{kind}.{name} is missing" for name in missing]
    return sorted(set(found))


def json_type(value: Any) -> str:
    """The name JSON Schema gives to a value's type."""
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def main() -> int:
    """Compare, say, and tell by the status."""
    recorded = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    found = differences(recorded, answers(seeded()))
    print("\n".join(found) or "the emulator's answers have the recorded types")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
