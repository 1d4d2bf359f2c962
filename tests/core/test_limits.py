"""Nothing is read without a bound: every read of the tree is looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from postil.core import limits

SOURCE = Path(__file__).parents[2] / "src" / "postil"
ALL = {"read", "readline", "readlines", "read_bytes", "read_text"}
# What is read whole on purpose, each with the reason why its size is known.
KNOWN = {
    "app.py": "the catalogue, a file of this package",
    "storage/holder.py": "files of /proc",
    "surfaces/shell/ask.py": "a line that a person types",
    "surfaces/setup/init.py": "a line that a person types",
    "comments/operations/review.py": "a line that a person types",
    "tracker/index/disk_group.py": "a temporary file of this process",
    "comments/index/refresh_worker.py": "what the process that started us writes",
}


def list_unbounded() -> Iterator[tuple[str, int]]:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ALL:
                # Methods of ours that have the same name take arguments, or are called on self.
                owner = node.func.value
                ours = (
                    isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "self"
                )
                if not node.args and not node.keywords and not ours:
                    yield file.relative_to(SOURCE).as_posix(), node.lineno


def test_every_read_has_a_bound_or_a_reason() -> None:
    assert [f"{file}:{line}" for file, line in list_unbounded() if file not in KNOWN] == []
    assert {file for file, _ in list_unbounded()} >= set(KNOWN), "a reason is left over"


def test_the_table_is_used_and_none_of_it_is_zero() -> None:
    text = "".join(file.read_text() for file in SOURCE.rglob("*.py"))
    for name, value in vars(limits).items():
        if name.isupper() and name not in ("KIB", "MIB"):
            assert value > 0
            assert f"limits.{name}" in text or f"import {name}" in text, f"nobody asks for {name}"


def test_the_table_is_changed_knowingly() -> None:
    mib = 1 << 20
    assert {name: value for name, value in vars(limits).items() if name.isupper()} == {
        "KIB": 1024, "MIB": mib,
        "FRAME": 4 * mib, "HEAD": 65_536, "BODIES": 48 * mib, "BODIES_OF_ONE": 16 * mib,
        "WEBHOOK": 2 * mib, "WEBHOOKS": 16 * mib, "WEBHOOKS_OF_ONE": 4 * mib,
        "GITLAB_ANSWER": 32 * mib, "FORM": 16_384, "DOCUMENT": 16 * mib,
        "GIT_OUTPUT": 64 * mib, "GIT_OBJECT": 16 * mib, "GIT_MEMORY": 256 * mib, "GIT_INDEX_MEMORY": 1024 * mib,
        "BACKUP_LINE": 32 * mib, "BACKUP": 16_384 * mib, "IMPORT": 512 * mib,
        "CONFIG": mib, "REFS": 64 * mib,
        "LOG_SEGMENT": 8 * mib, "LOG_OBJECT": 12 * mib, "LOG_TAIL": 64 * mib, "LOG_SEGMENTS": 100_000,
        "FILE": 16 * mib, "SETTINGS": 262_144, "SMALL_FILE": mib, "STANDARD_INPUT": 64 * mib,
    }  # fmt: skip
