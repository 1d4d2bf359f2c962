"""What docs/architecture.md claims about the code is true of the code."""

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from postil.core.failure import Failure
from tests.tree import PACKAGE, ROOT, Module, modules

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def section(title: str) -> str:
    """The text below a heading, up to the next one of any level."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, f"there is no section {title}"
    return found[1]


def first_cells(text: str) -> list[str]:
    """The code spans that begin the rows of a table."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


# ----- the tree -----------------------------------------------------------------------------------------------------


def test_the_tree_on_the_page_is_the_tree() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json")} - {PACKAGE}
    real = {folder.relative_to(PACKAGE).as_posix() + "/" for folder in folders}
    real |= {path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py"}
    written = first_cells(section("The tree"))
    assert len(written) == len({*written})
    assert {*written} == real


@pytest.mark.parametrize(
    "word", ["marker", "anchor", "sidecar", "segment", "replica", "era", "contract", "group", "offer"]
)
def test_the_glossary_explains(word: str) -> None:
    assert f"| **{word}** | " in section("Glossary")


def test_every_test_that_the_rules_name_exists() -> None:
    named = re.findall(r"`(tests/\w+\.py)`", section("The rules of the house"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


# ----- the linter ---------------------------------------------------------------------------------------------------


def contracts() -> list[dict[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return project["tool"]["importlinter"]["contracts"]


def test_the_page_counts_the_linter_s_exceptions() -> None:
    exceptions = {line for contract in contracts() for line in contract.get("ignore_imports", [])}
    counted = re.search(r"They have (\d+) exceptions", section("The rule of direction"))
    assert counted
    assert int(counted[1]) == len(exceptions), sorted(exceptions)


def test_every_exception_of_the_linter_is_used() -> None:
    """An exception that no import needs any more is a door left open."""
    for line in {line for contract in contracts() for line in contract.get("ignore_imports", [])}:
        importer, _, imported = line.partition(" -> ")
        if "*" not in line:
            assert imported in _imported(modules()[importer]), line


def _imported(module: Module) -> set[str]:
    names = [node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {str(node.module) for node in names}


def test_the_layers_on_the_page_are_the_packages() -> None:
    cells = re.findall(r"^\| ([^|]+) \|", section("The rule of direction"), re.MULTILINE)
    named = {*re.findall(r"`(\w+)`", " ".join(cells))}
    rooms = {module.room for module in modules().values() if "/" in module.where}
    assert named - {"app"} == rooms - {"settings", "catalogue"}


# ----- the environment ----------------------------------------------------------------------------------------------


def test_only_the_named_modules_read_the_environment() -> None:
    assert {module.where for module in modules().values() if reads_environment(module)} == {
        *first_cells(section("Who reads the environment"))
    }


def reads_environment(module: Module) -> bool:
    """Looks at os.environ, or asks os.getenv."""
    ways = {"environ", "environb", "getenv"}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in ways and ast.unparse(node.value) == "os":
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "os" and ways & {alias.name for alias in node.names}:
            return True
    return False


# ----- purity -------------------------------------------------------------------------------------------------------

# What has a clock, dice, a disk, a network or a thread in it. `os.path` and `PurePath` only look at texts.
IMPURE = {
    *("time", "random", "secrets", "uuid", "socket", "subprocess", "sqlite3", "asyncio", "threading", "tempfile"),
    *("shutil", "io", "glob", "select", "signal", "ssl"),
}
PURE = re.findall(r"`([\w/]+/)`", section("What is pure").partition(".")[0])
EXCEPT = {
    "tracker/state/identities.py": {"open"},  # the adopted identity is a file of the clone
    "anchor/syntax/languages.py": {"open", "time"},  # how much CPU time and memory a parse has taken
    "anchor/syntax/queries.py": {"time"},
}


def impurities(module: Module) -> set[str]:
    """The imports and calls of a module that reach outside its arguments."""
    found: set[str] = set()
    for node in run_nodes(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & IMPURE
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module.partition(".")[0]} & IMPURE
            if node.module == "pathlib" and {alias.name for alias in node.names} - {"PurePath", "PurePosixPath"}:
                found.add("pathlib")
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os" and node.attr not in ("path", "sep"):
            found.add(f"os.{node.attr}")
        elif isinstance(node, ast.Call) and re.search(r"^open$|\.(now|utcnow|today)$", ast.unparse(node.func)):
            found.add(ast.unparse(node.func))
    return found


def run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything but what only the type checker reads."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from run_nodes(child)


def test_what_is_called_pure_is_named() -> None:
    assert {"anchor/", "comments/sidecar/", "tracker/state/", "tracker/query/"} <= {*PURE}


@pytest.mark.parametrize("folder", PURE)
def test_what_is_called_pure_reads_no_clock_throws_no_dice_and_does_no_io(folder: str) -> None:
    impure = {m.where: found for m in modules().values() if m.where.startswith(folder) and (found := impurities(m))}
    assert {where: found for where, found in impure.items() if found - EXCEPT.get(where, set())} == {}


# ----- where to look ------------------------------------------------------------------------------------------------


def test_what_the_page_names_is_where_it_says() -> None:
    named = re.findall(r"`([a-z_/]+\.py)(?:: ([\w.]+))?`", section("Where to look"))
    assert len(named) > 10
    for path, name in named:
        if path == "validation.py":  # of any part
            continue
        tree = ast.parse((PACKAGE / path).read_text("utf-8"))
        for part in name.split(".") if name else ():
            kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            found = [node for node in tree.body if isinstance(node, kinds) and node.name == part]
            assert found, f"{path} has no {name}"
            tree = ast.Module(found[0].body, [])


# ----- the trees of failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["comments", "tracker", "gitlab"])
def test_the_tree_of_failures_names_each_with_its_code_and_status(part: str) -> None:
    module = importlib.import_module(f"postil.{part}.failures")
    own = {
        name: kind
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Failure) and kind.__module__ == module.__name__
    }
    drawn = re.findall(r"^[│├└─ ]+ (\w+)(?: +(-\d+))?(?: +exit (\d+))? ", module.__doc__ or "", re.MULTILINE)
    root = re.search(r"^(\w*Failure)\b", module.__doc__ or "", re.MULTILINE)
    assert {name for name, _, _ in drawn} == {*own} - {root[1] if root else ""}
    wrong = [
        (name, code, status)
        for name, code, status in drawn
        if (code and own[name].code != int(code)) or (status and own[name].exit_status != int(status))
    ]
    assert wrong == []
