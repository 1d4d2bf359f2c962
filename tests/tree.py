"""The source as a tree: modules, classes and imports, read with `ast`. Tests of the repository judge what it says."""

import ast
import builtins
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "postil"
PARTS = ("inbox", "comments", "tracker", "gitlab", "flows")

# Whoever inherits from one of these is a record, an exception or a protocol: there several bases are usual.
RECORDS = {"Struct", "NamedTuple", "TypedDict", "Enum", "IntEnum", "StrEnum", "Flag"}
PROTOCOLS = {"Protocol"}
EXCEPTIONS = {
    name for name, thing in vars(builtins).items() if isinstance(thing, type) and issubclass(thing, BaseException)
}


class Module:
    """One source file; it is read when its text is asked for, so that listing the tree is cheap."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        """Dotted, a package by its own name."""
        self.path = path

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def where(self) -> str:
        """Its path inside the package."""
        return self.path.relative_to(PACKAGE).as_posix()

    @property
    def room(self) -> str:
        """The first folder below the package; a file at the top is its own room."""
        return self.where.partition("/")[0]


class Class(NamedTuple):
    """One class and where it stands."""

    module: Module
    node: ast.ClassDef

    @property
    def label(self) -> str:
        """What a reader looks for."""
        return f"{self.module.where}:{self.node.name}"


@cache
def modules() -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    found: dict[str, Module] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path)
    return found


@cache
def classes() -> list[Class]:
    """Every class, nested ones too."""
    return [
        Class(module, node)
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    ]


def bases_of(node: ast.ClassDef) -> list[str]:
    """The written bases without type parameters; `Generic[…]` is a parameter list and no base."""
    names = [ast.unparse(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]
    return [name for name in names if name.rpartition(".")[2] != "Generic"]


@cache
def imported_names(module: Module) -> dict[str, tuple[str, str]]:
    """What `from postil.x import y` binds anywhere in a module: the name to (module, its name there)."""
    bound: dict[str, tuple[str, str]] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                bound[alias.asname or alias.name] = (node.module, alias.name)
    return bound


@cache
def _by_place() -> dict[tuple[str, str], Class]:
    return {(found.module.name, found.node.name): found for found in classes()}


def parents(found: Class) -> Iterator[Class]:
    """The classes of ours that it inherits from directly."""
    bound = imported_names(found.module)
    for base in bases_of(found.node):
        place = bound.get(base, (found.module.name, base))
        if place in _by_place():
            yield _by_place()[place]


@cache
def ancestors(found: Class) -> list[Class]:
    """Every class of ours that it inherits from."""
    above: list[Class] = []
    for parent in parents(found):
        above += [parent, *ancestors(parent)]
    return above


@cache
def roots(found: Class) -> set[str]:
    """The names of all its bases, of its own and of its ancestors, without their packages."""
    return {base.rpartition(".")[2] for each in (found, *ancestors(found)) for base in bases_of(each.node)}


@cache
def is_record(found: Class) -> bool:
    """A struct, a named tuple, an enumeration or a dataclass."""
    marks = {ast.unparse(mark).partition("(")[0].rpartition(".")[2] for mark in found.node.decorator_list}
    return bool(roots(found) & RECORDS) or "dataclass" in marks


def may_have_several_bases(found: Class) -> bool:
    """Structs, exceptions and protocols may."""
    return is_record(found) or bool(roots(found) & (PROTOCOLS | EXCEPTIONS))


@cache
def members(found: Class) -> set[str]:
    """Its functions and class attributes, inherited ones too; of a record only the functions, its fields are data."""
    names: set[str] = set()
    for each in (found, *ancestors(found)):
        for node in each.node.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(node.name)
            elif not is_record(found):
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("__")}


@cache
def top_level_imports(module: Module) -> set[str]:
    """The modules of ours that are loaded when this one is: not below `if TYPE_CHECKING`, not inside functions."""
    found: set[str] = set()
    todo: list[ast.stmt] = list(module.tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            todo += [*node.body, *node.orelse]
        elif isinstance(node, ast.Try):
            todo += [*node.body, *node.orelse, *node.finalbody, *(line for h in node.handlers for line in h.body)]
        elif isinstance(node, ast.ClassDef):
            todo += node.body
    return {name for name in found if name in modules() and modules()[name].path.name != "__init__.py"}


def neighbours(name: str, within: str) -> list[str]:
    """The modules below the package `within` that this one loads."""
    return sorted(other for other in top_level_imports(modules()[name]) if other.startswith(within + "."))


def circle(within: str) -> tuple[str, ...]:
    """A circle of imports below a package, empty if there is none."""
    done: set[str] = set()

    def walk(name: str, above: tuple[str, ...]) -> tuple[str, ...]:
        if name in above:
            return (*above[above.index(name) :], name)
        if name in done:
            return ()
        for other in neighbours(name, within):
            if found := walk(other, (*above, name)):
                return found
        done.add(name)
        return ()

    return next((found for name in modules() if name.startswith(within + ".") and (found := walk(name, ()))), ())


@cache
def longest_chain(name: str, within: str) -> tuple[str, ...]:
    """The longest way of imports from a module to others below the package `within`, where there is no circle."""
    return max(((name, *longest_chain(other, within)) for other in neighbours(name, within)), key=len, default=(name,))
