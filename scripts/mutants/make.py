"""Makes mutants: one changed expression or one removed statement each. Nothing is run here."""

import ast
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
GATED = ("core", "surfaces/gateway", "gitlab/instance", "gitlab/policy")
"""Where the tests are quick, so that CI can insist; the others are measured by `make mutants`."""
PACKAGES = ("core", "wire", "surfaces/gateway", "gitlab/instance", "gitlab/policy", "storage")
EQUIVALENT = Path(__file__).with_name("listed.json")


class Mutant(NamedTuple):
    """One change of one module."""

    path: str
    """Relative to src/postil."""
    line: int
    where: str
    """The function or class it stands in."""
    what: str
    start: int
    end: int
    text: str

    @property
    def key(self) -> str:
        """What names it in `listed.json`: no line number, so that it survives edits elsewhere."""
        return f"{self.path}:{self.where}: {self.what}"

    @property
    def package(self) -> str:
        """The package that it counts for."""
        return next(package for package in PACKAGES if self.path.startswith(package + "/"))


# ----- making them --------------------------------------------------------------------------------------------------

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ENDINGS = {"startswith": "endswith", "endswith": "startswith"}
# What is called for its own sake: what is logged, what is closed a little later by itself, what is said about types.
NOISE = re.compile(r"(_?log(ger)?|logging|warnings)\.|cast$|TypeVar$|Meta$|print$|.*\.(close|add_done_callback)$")
# A second more or less is nobody's business; nor is the thousand-and-first entry of a cache.
DURATIONS = re.compile(
    r"timeout|second|ttl|grace|delay|pause|patien|interval|drain|remember|most|at_once", re.IGNORECASE
)
MOST_EXACT = 1000
ENDS = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of one module, in the order of its lines."""
    source = path.read_text("utf-8")
    lines = [0]
    for line in source.encode("utf-8").splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found: list[Mutant] = []
    inside = str(path.relative_to(SRC / "postil"))
    for node, where, new in _changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset
        what = f"{_short(ast.unparse(node))} -> {_short(new)}"
        found.append(Mutant(inside, node.lineno, where, what, start, end, new))
    found = sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.what))
    seen: Counter[str] = Counter()
    for place, mutant in enumerate(found):  # the second of the same kind in one function is called so
        seen[mutant.key] += 1
        if seen[mutant.key] > 1:
            found[place] = mutant._replace(what=f"{mutant.what} ({seen[mutant.key]})")
    return found


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else text[:60] + "…" + text[-28:]


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Nodes, where they stand, and what replaces them."""
    todo: list[tuple[ast.AST, str]] = [(node, "") for node in tree.body]
    while todo:
        node, where = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{where}.{node.name}".lstrip(".")
            if inner.endswith("__repr__") or _is_protocol(node):
                continue
            todo += [(child, inner) for child in node.body]
            if not isinstance(node, ast.ClassDef):
                todo += [(value, inner) for value in (*node.args.defaults, *node.args.kw_defaults) if value]
            continue  # neither decorators nor annotations nor the options of a struct
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
            continue
        if isinstance(node, ast.expr | ast.stmt):
            yield from ((changed, where or "module", new) for changed, new in _changed(node))
        if isinstance(node, ast.keyword) and (DURATIONS.search(node.arg or "") or ast.unparse(node) == "strict=True"):
            continue  # `zip(…, strict=True)` asserts, and an assertion is no mutant either
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_duration(node):
            continue
        if isinstance(node, ast.AnnAssign):
            inner = f"{where}.{ast.unparse(node.target)}".lstrip(".")
            todo += [(node.value, inner)] if node.value else []
        elif not _is_noise(node):
            todo += [(child, where) for child in ast.iter_child_nodes(node)]


def _is_duration(node: ast.Assign | ast.AnnAssign) -> bool:
    """A constant that says how long or how many."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    named = isinstance(target, ast.Name) and DURATIONS.search(target.id) is not None
    return named and isinstance(node.value, ast.Constant | ast.BinOp)


def _is_protocol(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)


def _is_noise(node: ast.AST) -> bool:
    """Docstrings, log lines and what is written about types: nothing to catch there."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    called = node.value if isinstance(node, ast.Expr) else node
    if isinstance(called, ast.Call):
        name = ast.unparse(called.func)
        return NOISE.match(name) is not None
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"Annotated", "Literal", "TypeAlias"}


def _changed(node: ast.expr | ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    if isinstance(node, ast.stmt):
        yield from _changed_statement(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        swapped = ast.Compare(node.left, [COMPARISONS[type(node.ops[0])]()], node.comparators)
        yield node, f"({ast.unparse(swapped)})"
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value <= MOST_EXACT:
        yield node, str(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        text, given = ast.unparse(node.func.value), ast.unparse(node.args[0])
        if node.func.attr in ENDINGS and isinstance(node.args[0], ast.Constant | ast.JoinedStr):
            yield node, f"({given} in {text})"
        elif node.func.attr in ENDINGS:  # a tuple perhaps, which is in no text
            yield node, f"{text}.{ENDINGS[node.func.attr]}({given})"


def _changed_statement(node: ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    if _is_noise(node):
        return
    if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1 and isinstance(node.body[0], ENDS):
        yield node.test, "False"
    elif isinstance(node, ast.Return) and node.value is not None:
        if not isinstance(node.value, ast.Constant):
            yield node.value, "None"
    elif isinstance(node, ast.AugAssign | ast.Delete) or _does_something(node):
        yield node, "pass"


def _does_something(node: ast.stmt) -> bool:
    """A call whose answer nobody keeps, or a change of something that was there before."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)


class Listed:
    """What `listed.json` knows: mutants that change nothing, with the reason, and those that no test catches yet."""

    def __init__(self) -> None:
        read = json.loads(EQUIVALENT.read_text("utf-8"))
        self.equivalent: dict[str, str] = read["equivalent"]
        self.open: list[str] = read["open"]


def every_mutant(chosen: list[str], *, listed: bool = True, whole: bool = False) -> list[Mutant]:
    """The mutants of these packages or modules (all by default), without those that are listed.

    One of three is taken, by a hash of its name: neighbours mostly live and die together. `whole` takes all.
    """
    known = Listed()
    without = {*known.equivalent, *known.open} if listed else set[str]()
    found: list[Mutant] = []
    for package in PACKAGES:
        for path in sorted((SRC / "postil" / package).rglob("*.py")):
            inside = path.relative_to(SRC / "postil").as_posix()
            if not chosen or any(inside == name or inside.startswith(name.rstrip("/") + "/") for name in chosen):
                found += [mutant for mutant in mutants_of(path) if mutant.key not in without]
    return [mutant for mutant in found if whole or number_of(mutant.key) % 3 == 0]


def number_of(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")


def sample(mutants: list[Mutant], size: int, seed: str) -> list[Mutant]:
    """So many of them, the same for the same seed."""
    return random.Random(number_of(seed)).sample(mutants, min(size, len(mutants)))
