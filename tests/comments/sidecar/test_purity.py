"""The sidecar's modules are pure: bytes and structs in, bytes and structs out. Times and ids are given to them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import postil.comments.sidecar
from postil.core.others import number, one_line, unreadable

FOLDER = Path(postil.comments.sidecar.__file__).parent
IMPURE = {"time", "random", "secrets", "uuid", "os", "io", "subprocess", "socket", "threading", "sqlite3", "tempfile"}
_PARTS = ("core", "workspace", "comments.clock", "comments.storage", "comments.source_tree")
OURS = tuple(f"postil.{name}" for name in _PARTS)
PURE = tuple(f"postil.core.others.{name}" for name in ("one_line", "number", "unreadable"))
"""Texts in, texts and numbers out, as here; and what a decoder raises."""


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_it_imports_no_clock_no_chance_and_no_files(path: Path) -> None:
    names = imported(path)
    assert not {name.partition(".")[0] for name in names} & IMPURE
    assert not [name for name in names if name.startswith(OURS) and not name.startswith(PURE)]


def test_what_it_may_import_of_the_core_imports_nothing_but_the_decoder() -> None:
    assert imported(Path(one_line.__file__)) <= {"__future__", "__future__.annotations"}
    assert imported(Path(number.__file__)) <= {
        "__future__",
        "__future__.annotations",
        "math",
        "math.isfinite",
        "msgspec",
    }
    assert imported(Path(unreadable.__file__)) <= {
        "__future__",
        "__future__.annotations",
        "msgspec",
        "typing",
        "typing.Final",
    }


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_it_asks_for_no_present(path: Path) -> None:
    called = {
        node.func.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not called & {"now", "utcnow", "today", "time_ns", "randbelow", "uuid4"}
