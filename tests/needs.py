"""Programs that some tests drive and that a machine may lack (`make tools` brings them)."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NODE_MODULES = ROOT / "tests" / "node" / "node_modules"


def needs(program: str) -> str:
    """The path of a program, from .tools, the virtual environment or PATH; skips the test where there is none.

    In CI the skip becomes a failure (tests/conftest.py).
    """
    folders = [str(ROOT / ".tools" / "bin"), str(ROOT / ".venv" / "bin"), os.environ.get("PATH", "/usr/bin")]
    found = shutil.which(program, path=os.pathsep.join(folders))
    if found is None:
        pytest.skip(f"needs {program}: run `make tools`")
    return found


def needs_package(name: str) -> Path:
    """The folder of an npm package of tests/node; skips the test where it is not installed."""
    return _package(NODE_MODULES / name, "run `make test` once")


def needs_assistant(name: str) -> Path:
    """The folder of an assistant's npm package; they are large, so outside CI one asks for them."""
    return _package(ROOT / "tests" / "node" / "assistants" / "node_modules" / name, "run `make assistants`")


def _package(folder: Path, how: str) -> Path:
    if not folder.is_dir():
        pytest.skip(f"needs the npm package {folder.name}: {how}")
    return folder
