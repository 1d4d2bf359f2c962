"""What is shipped: the built wheel holds everything the product reads, nothing of the tests, and serves by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"wheel","version":"1"}}}\n'
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as an installer would, but without fetching the build backend."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/", 1)[0].rsplit("-", 1)[0] for name in names} <= {"postil", f"postil-{version(wheel)}.dist"}
    assert "postil/py.typed" in names
    assert [name for name in names if name.endswith((".pyc", ".db"))] == []


def test_the_wheel_holds_every_file_that_is_not_code(wheel: Path) -> None:
    source = ROOT / "src"
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    tracked = {str((ROOT / name).relative_to(source)) for name in listed.splitlines() if (ROOT / name).exists()}
    assert tracked - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_unpacked_wheel_serves(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
    start = "import sys, postil; from postil.surfaces.shell.main import main; print(postil.__file__, file=sys.stderr)"
    command = [sys.executable, "-c", f"{start}; sys.argv[1:] = ['serve']; sys.exit(main())"]
    # The path wins over the editable install, so that the wheel's files are the ones that run.
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    ran = subprocess.run(command, input=HELLO, cwd=tmp_path, env=environment, capture_output=True, timeout=30)
    assert str(tmp_path) in ran.stderr.decode()
    assert b'"serverInfo":{"name":"postil"' in ran.stdout, ran.stderr.decode()


def version(wheel: Path) -> str:
    return wheel.name.split("-")[1]
