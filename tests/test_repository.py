"""The repository itself: what is tracked is clean, small and in its place."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

# Assembled, so that this file does not hold what it looks for.
FOLDERS = ["wo" + "rk", "ro" + "ot", "tmp/" + "wt", "opt/" + "pypi", "opt/" + "wheels"]
HOSTS = ["py" + r"pi\.org", "pythonhosted" + r"\.org", "registry" + r"\.npmjs", "deb" + r"\.debian\.org"]
MACHINE_PATHS = re.compile(rf"(?<![\w./~${{}}-])/(?:{'|'.join(FOLDERS)})/")
REGISTRIES = re.compile(rf"https?://[\w.-]*(?:{'|'.join(HOSTS)})")
LOCK_ADDRESSES = re.compile(r"index-url|find-links|trusted-host|file:|https?://")


@cache
def tracked() -> list[str]:
    """Every file that git tracks or would track: an unfinished change is judged too."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def text_of(name: str) -> str:
    data = (ROOT / name).read_bytes()
    return "" if b"\0" in data[:8192] else data.decode("utf-8", "replace")


@pytest.mark.parametrize("pattern", [MACHINE_PATHS, REGISTRIES], ids=["a path of one machine", "a registry's address"])
def test_no_tracked_file_names(pattern: re.Pattern[str]) -> None:
    found = [(name, match.group()) for name in tracked() if (match := pattern.search(text_of(name)))]
    assert found == []


def test_nobody_is_told_to_install_a_package_of_that_name_from_a_registry() -> None:
    """Who registers the name there would run code on the machines of all who do so."""
    advice = re.compile(r"\b(?:pipx?|uv tool|uv pip) install\s+(?:-\S+\s+)*[`\"']*postil\b(?!-)|\bpostil\[\w")
    assert advice.search("uv tool install postil")
    assert advice.search("pip install -U 'postil[a]'")
    others = ("tests/", "CHANGELOG.md", "pyproject.toml")  # the last says which of its extras are in another
    ours = [name for name in tracked() if not name.startswith(others)]
    found = [(name, match.group()) for name in ours if (match := advice.search(text_of(name)))]
    assert found == []


def test_no_link_is_tracked() -> None:
    """One to a folder of one machine replaces the folder of that name wherever it is checked out."""
    listed = subprocess.run(["git", "ls-files", "-s"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert [line for line in listed.splitlines() if line.startswith("120000")] == []


def test_the_python_locks_hold_hashes_and_no_address() -> None:
    locks = [name for name in tracked() if name.endswith("requirements.lock")]
    assert "requirements.lock" in locks
    for name in locks:
        text = text_of(name)
        assert not LOCK_ADDRESSES.search(text), name
        requirements = re.split(r"\n(?=\S)", text.strip())
        assert [line for line in requirements if "--hash=sha256:" not in line] == [], name


def test_the_npm_locks_hold_integrity_and_no_address() -> None:
    locks = [name for name in tracked() if name.endswith("package-lock.json")]
    assert locks
    for name in locks:
        assert '"resolved"' not in text_of(name), name
        assert '"integrity"' in text_of(name), name


def test_there_is_no_lock_that_records_where_files_came_from() -> None:
    assert [name for name in tracked() if Path(name).name in {"uv.lock", "poetry.lock", "yarn.lock"}] == []


def test_the_readme_can_be_read_in_one_sitting() -> None:
    assert len(text_of("README.md").splitlines()) <= 200


def test_the_readme_names_the_command_that_ci_runs() -> None:
    assert "make test" in text_of(".ci/run")
    assert "make test" in text_of("README.md")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_source_file_is_at_most_500_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 500


def test_package_files_hold_a_docstring_and_nothing_else() -> None:
    wrong = [str(path.relative_to(ROOT)) for path in SOURCES if path.name == "__init__.py" and not is_bare(path)]
    assert wrong == []


def is_bare(path: Path) -> bool:
    """Only a docstring, and at most the version."""
    body = ast.parse(path.read_text("utf-8")).body
    if not body or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Constant):
        return False
    return all(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__" for node in body[1:])


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


# The second one asks `git config`, which runs nothing, what the first one must switch off.
GIT_RUNNERS = {ROOT / "src/postil/workspace/git.py", ROOT / "src/postil/workspace/hardening.py"}
FILE_REPLACERS = {
    ROOT / "src/postil/workspace/git_folder.py",  # a copy of a config, made again when it is lost
    ROOT / "src/postil/workspace/files.py",
    ROOT / "src/postil/storage/sqlite.py",  # puts a new database under its name; it never replaces one
    ROOT / "src/postil/comments/storage/write_log.py",  # gives a full log of its own, which is not synced, another name
    ROOT / "src/postil/comments/transfer/export.py",  # streams an export beside the file that a person named
}


def test_only_one_place_runs_git() -> None:
    runs_git = re.compile(r"""[\[(]\s*["']git["']\s*,""")
    outside = [path for path in SOURCES if path not in GIT_RUNNERS]
    assert [str(path.relative_to(ROOT)) for path in outside if runs_git.search(path.read_text("utf-8"))] == []


def test_only_one_place_replaces_files() -> None:
    outside = [path for path in SOURCES if path not in FILE_REPLACERS]
    assert [str(path.relative_to(ROOT)) for path in outside if replaces_files(path)] == []


def replaces_files(path: Path) -> bool:
    """Calls os.replace, os.rename, shutil.move or a Path's rename; str.replace is another thing."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    names = {ast.unparse(func) for func in calls if isinstance(func, ast.Attribute)}
    return bool(names & {"os.replace", "os.rename", "os.renames", "shutil.move"}) or any(
        name.endswith(".rename") for name in names
    )
