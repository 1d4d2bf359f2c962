"""The tutorial of CONTRIBUTING.md, followed on a copy of the tree: whoever types what it says gets what it promises."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from tests.needs import ROOT

BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"# (\S+\.py)(?:, below (.+))?\n")
OURS = ("src", "tests", "scripts", "docs", "clients", "man", "pyproject.toml", "README.md", "server.json")


class Block(NamedTuple):
    """A piece of code and where it goes: a whole file, or below a line of one."""

    file: str
    below: str
    code: str


def blocks() -> list[Block]:
    found: list[Block] = []
    for raw in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        lines = raw.splitlines(keepends=True)
        indent = len(lines[0]) - len(lines[0].lstrip())
        title = TITLE.fullmatch(lines[0].lstrip())
        assert title, f"the first line names no file: {lines[0]}"
        found.append(Block(title[1], title[2] or "", "".join(line[indent:] or "\n" for line in lines[1:])))
    return found


def follow(folder: Path) -> None:
    """Make a copy of the tree with every block of the tutorial in its place, and what is generated generated anew."""
    ignored = shutil.ignore_patterns("node_modules", ".hypothesis")  # bytecode goes along: the copies keep their times
    for name in OURS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored, symlinks=True)
        else:
            shutil.copy2(ROOT / name, folder / name)
    for block in blocks():
        place = folder / block.file
        if block.below:
            head, line, tail = place.read_text("utf-8").partition(block.below + "\n")
            assert line, f"{block.file} has no line {block.below}"
            place.write_text(head + line + block.code + tail, "utf-8")
        else:
            assert not place.exists(), f"{block.file} exists already: the tutorial needs another example"
            place.write_text(block.code, "utf-8")
    done = run(folder, "-m", "scripts.reference")
    assert done.returncode == 0, done.stderr
    assert "src/postil/catalogue/workspace.json" in done.stdout


def run(folder: Path, *words: str, where: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Python with the copy's package in the place of ours."""
    environment = {**os.environ, **environ, "PYTHONPATH": f"{folder / 'src'}:{folder}"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=where or folder, env=environment, capture_output=True, text=True, timeout=100)


def postil(folder: Path, *words: str, where: Path) -> subprocess.CompletedProcess[str]:
    program = "import sys; from postil.surfaces.shell.main import main; sys.exit(main())"
    return run(folder, "-c", program, *words, where=where, POSTIL_TOOLSETS="extra")


def test_the_tutorial_has_a_group_a_line_and_a_test() -> None:
    assert [(block.file.partition("/")[0], bool(block.below)) for block in blocks()] == [
        ("src", False),
        ("src", True),
        ("tests", False),
    ]


def test_who_follows_the_tutorial_has_a_tool_a_command_and_a_test_that_passes(tmp_path: Path) -> None:
    """One test: spread over workers, each of its steps would make a copy of its own."""
    copy, repository = tmp_path / "copy", tmp_path / "repository"
    copy.mkdir()
    repository.mkdir()
    follow(copy)
    check_its_test(copy)
    check_its_room(copy)
    check_its_code(copy)
    check_its_tool(copy, repository)


def check_its_test(copy: Path) -> None:
    test = next(block.file for block in blocks() if block.file.startswith("tests/"))
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", test)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def check_its_room(copy: Path) -> None:
    """The bounds of operations and of the list of tools have room for it."""
    bounds = ["tests/test_house.py", "tests/test_vendor_rules.py", "-k", "one_capability or list_of_tools_fits"]
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *bounds)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def check_its_code(copy: Path) -> None:
    files = [block.file for block in blocks()]
    for words in (["ruff", "format", "--check"], ["ruff", "check"], ["pyright", "--pythonpath", sys.executable]):
        program = Path(sys.executable).with_name(words[0])
        done = subprocess.run([program, *words[1:], *files], cwd=copy, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr


def check_its_tool(copy: Path, repository: Path) -> None:
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    assert "workspace_commits" in postil(copy, "tools", where=repository).stdout
    assert "workspace_commits" in (copy / "docs" / "reference.md").read_text("utf-8")
    counted = postil(copy, "workspace", "commits", where=repository)
    assert (counted.stdout, counted.stderr) == ("0 commits\n", "")  # none of them touches a file
    asked = postil(copy, "workspace", "commits", "--help", where=repository).stdout
    assert textwrap.shorten(asked, 10_000).count("Only commits that touch this file or folder") == 1
