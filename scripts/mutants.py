"""Breaks the source on purpose, one small change at a time, and counts how many changes the tests notice.

    python -m scripts.mutants --map                  every third mutant of the packages below (an hour)
    python -m scripts.mutants core storage           those packages or modules alone
    python -m scripts.mutants --sample 30 --seed x   thirty, the same for the same seed (CI)

A mutant is one changed expression or one removed statement. It is written into a copy of `src`, never into the
checkout, and judged by the tests that stand nearest to the module. A test that fails, or hangs, has caught it.
Mutants that change nothing anybody can see are listed with the reason in `mutants.json` beside this file, and so are,
without one, those that no test catches yet: at most a tenth of all, and the list is there to become shorter.

It is not a judge of the tests' worth: a caught mutant proves that a line matters to some test, nothing more.
"""

import argparse
import ast
import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
GATED = ("core", "surfaces/gateway")
"""Where every survivor is caught or listed, so that CI can insist; the others are measured by `make mutants`."""
PACKAGES = ("core", "wire", "surfaces/gateway", "gitlab/instance", "gitlab/policy", "storage")
EQUIVALENT = Path(__file__).with_name("mutants.json")
MAP = ROOT / "build" / "mutants-map.json"
MOST_MAPPED = 60

# The tests that know a package from outside; they follow the module's own test and those that import it.
NEAR = {
    "core": ["tests/core", "tests/wire/test_server.py", "tests/test_app.py"],
    "wire": ["tests/wire", "tests/contracts"],
    "surfaces/gateway": ["tests/surfaces/gateway", "tests/surfaces/http/test_app.py"],
    "gitlab/instance": ["tests/gitlab/instance", "tests/gitlab"],
    "gitlab/policy": ["tests/gitlab/policy", "tests/gitlab"],
    "storage": ["tests/storage"],
}


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
        """What names it in `mutants.json`: no line number, so that it survives edits elsewhere."""
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
BROKEN = 70
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
        if isinstance(node, ast.keyword) and DURATIONS.search(node.arg or ""):
            continue
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
    """What `mutants.json` knows: mutants that change nothing, with the reason, and those that no test catches yet."""

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
    return [mutant for mutant in found if whole or _number(mutant.key) % 3 == 0]


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")


# ----- judging them -------------------------------------------------------------------------------------------------


def tests_for(path: str) -> tuple[list[str], list[str]]:
    """The tests that judge a module: its own and those that import it; then those that know its package."""
    package = next(package for package in PACKAGES if path.startswith(package + "/"))
    module = Path(path)
    dotted = "postil." + ".".join(module.with_suffix("").parts)
    own = ROOT / "tests" / module.parent / f"test_{module.name}"
    imports = re.compile(rf"(?:from|import) {re.escape(dotted)}\b")
    direct = [each for each in near(package) if imports.search(each.read_text("utf-8"))]
    first: dict[Path, None] = dict.fromkeys([*([own] if own.exists() else []), *direct])
    rest = [each for each in near(package) if each not in first]
    return [str(each.relative_to(ROOT)) for each in first], [str(each.relative_to(ROOT)) for each in rest]


def near(package: str) -> list[Path]:
    """The tests that know a package from outside."""
    places = [ROOT / name for name in NEAR[package]]
    return [file for place in places for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]


class Coverage:
    """Which tests run which lines, the quickest first: they judge a mutant.

    Made by `--map` in one run of all tests; without it a mutant is judged file by file. Lines that only another process
    runs are in no map, so a mutant that the mapped tests let pass is judged by the files as well.
    """

    def __init__(self) -> None:
        self.lines: dict[str, dict[str, list[str]]] = {}
        self.failed: list[str] = []
        """Tests that fail without any mutant: they judge nothing."""
        if MAP.exists():
            made_of, lines, failed = json.loads(MAP.read_text("utf-8"))
            if made_of == fingerprint():  # of another state it would name lines and tests that are no more
                self.lines, self.failed = lines, failed

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutant's line, quickest first."""
        return self.lines.get(mutant.path, {}).get(str(mutant.line), [])[:MOST_MAPPED]


class Mapping:
    """A pytest plugin that measures which test runs which line."""

    def __init__(self, source: Path) -> None:
        import coverage

        self.source = source / "postil"
        self.coverage = coverage.Coverage(data_file=None, source=[str(self.source)], config_file=False)
        self.coverage.start()
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = quick(items)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        passed = {*self.seconds} - self.failed
        lines: dict[str, dict[str, list[str]]] = {}
        for file in data.measured_files():
            held = {
                str(line): sorted((test for test in tests if test in passed), key=self._cost)
                for line, tests in data.contexts_by_lineno(file).items()
            }
            lines[str(Path(file).relative_to(self.source))] = {line: tests for line, tests in held.items() if tests}
        MAP.parent.mkdir(exist_ok=True)
        MAP.write_text(json.dumps([fingerprint(), lines, sorted(self.failed)]), "utf-8")

    def _cost(self, test: str) -> float:
        return self.seconds[test]


def fingerprint() -> str:
    """What a map is made of: the source and the tests."""
    read = hashlib.sha256()
    for folder in (SRC, ROOT / "tests"):
        for path in sorted(folder.rglob("*.py")):
            if "node_modules" not in path.parts:
                read.update(path.read_bytes())
    return read.hexdigest()


def make_map() -> None:
    """One run of all tests, each line with the tests that ran it."""
    warm_up()
    files = dict.fromkeys(test for package in PACKAGES for test in near(package))
    with tempfile.TemporaryDirectory(prefix="postil-mutants-") as folder:
        if (child := os.fork()) == 0:
            _run(SRC, [str(file.relative_to(ROOT)) for file in files], Mapping(SRC), Path(folder))
        os.waitpid(child, 0)


class Judged(NamedTuple):
    """A mutant and what became of it."""

    mutant: Mutant
    caught: bool
    by: str
    seconds: float


class Budget:
    """A pytest plugin: no further test is started when the time for one mutant is used up; slow tests are left out."""

    def __init__(self, seconds: float) -> None:
        # Of processor time, so that a busy machine lets nobody escape; tests that wait have four times as much.
        self.until, self.deadline = time.process_time() + seconds, time.monotonic() + 4 * seconds
        self.failed = False

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = quick(items)

    def pytest_runtest_logreport(self, report) -> None:
        self.failed |= report.failed

    def pytest_collectreport(self, report) -> None:
        self.failed |= report.failed

    def pytest_runtest_setup(self, item) -> None:
        if time.process_time() > self.until or time.monotonic() > self.deadline:
            item.session.shouldstop = "the time for this mutant is used up"


# Tests of more than two seconds that judge load and not logic.
SLOW = re.compile(
    r"garbage_token|ten_thousand|five_thousand|half_open|each_token_of_many|test_secrets|what_is_written_is_read_back"
    r"|flipped_page|lasts_longer_than_its_lease|many_processes"
)


def quick(items: list) -> list:
    """The tests that are quick enough to judge mutants."""
    return [item for item in items if item.get_closest_marker("slow") is None and not SLOW.search(item.nodeid)]


def judge(source: Path, tests: list[str], budget: float, scratch: Path) -> tuple[bool, str]:
    """Run the tests over one copy of the source in a child; whether one failed, and which."""
    log = scratch / "log"
    child = os.fork()
    if child == 0:
        os.setsid()
        with open(log, "wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        _run(source, tests, Budget(budget), scratch)
    deadline = time.monotonic() + 4 * budget + 45
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return True, "it hangs"
        time.sleep(0.01)
    try:
        os.killpg(child, signal.SIGKILL)  # servers that a failed test left behind
    except ProcessLookupError:
        pass
    said = log.read_text("utf-8", "replace")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    code = os.waitstatus_to_exitcode(status)
    if code == BROKEN:
        raise RuntimeError(said)
    return code != 0, failed[1] if failed else f"exit status {code}"


def _run(source: Path, tests: list[str], plugin: "Budget | Mapping", scratch: Path) -> None:
    import pytest

    os.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "COV_"))]:
        del os.environ[name]
    os.environ["PYTHONPATH"] = str(source)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch / "hypothesis")
    os.environ["CI"] = ""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(source), str(ROOT)]
    sys.argv = ["pytest"]
    options = [
        "-q",
        *(["-x"] if isinstance(plugin, Budget) else []),
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=0",
        "--timeout=15",
        "--no-header",
        "--tb=line",
    ]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", f"--basetemp={scratch / 'tmp'}"]
    code = BROKEN
    try:
        ended = pytest.main([*options, *tests], plugins=[plugin])
        failed = isinstance(plugin, Budget) and plugin.failed
        code = 1 if failed or ended in (3, 4) else 0  # 3, 4: a conftest could not be imported
    except BaseException:  # noqa: BLE001 # the child must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def work(todo: "SimpleQueue[Mutant | None]", done: "SimpleQueue[Judged]", folder: Path, budget: float) -> None:
    """One worker: a copy of the source of its own, one mutant after the other."""
    source, scratch, coverage = folder / "src", folder / "scratch", Coverage()
    shutil.copytree(SRC, source)
    scratch.mkdir()
    while (mutant := todo.get()) is not None:
        file = source / "postil" / mutant.path
        original, times = file.read_bytes(), file.stat()
        kept = list(file.parent.glob(f"__pycache__/{file.stem}.*.pyc"))
        compiled = [(path, path.read_bytes()) for path in kept]
        for path in kept:
            path.unlink()
        file.write_bytes(original[: mutant.start] + mutant.text.encode("utf-8") + original[mutant.end :])
        began = time.monotonic()
        caught, by = False, ""
        deselected = [f"--deselect={test}" for test in coverage.failed]
        for tests in (coverage.tests(mutant), *tests_for(mutant.path)):
            if tests and not caught:
                caught, by = judge(source, [*tests, *deselected], budget, scratch)
        done.put(Judged(mutant, caught, by, time.monotonic() - began))
        file.write_bytes(original)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        for path, data in compiled:
            path.write_bytes(data)


def warm_up() -> None:
    """Import what every child needs, and nothing of ours: it is loaded from the copy."""
    import asyncio
    import email.message
    import http.client
    import sqlite3

    import _pytest.assertion.rewrite
    import anyio
    import httptools
    import httpx2
    import hypothesis
    import hypothesis.internal.conjecture.engine
    import hypothesis.strategies
    import jwt
    import msgspec
    import pytest
    import uvicorn
    import uvloop
    import xdist.plugin

    loaded = [asyncio, email.message, http.client, sqlite3, _pytest.assertion.rewrite, anyio, httptools, httpx2]
    loaded += [hypothesis, hypothesis.internal, hypothesis.strategies, jwt, msgspec, pytest, uvicorn, uvloop, xdist]
    assert loaded
    assert not any(name == "postil" or name.startswith("postil.") for name in sys.modules)


def judge_all(chosen: list[Mutant], workers: int, budget: float, *, loud: bool) -> list[Judged]:
    """Judge these mutants, several at a time."""
    warm_up()
    context = multiprocessing.get_context("fork")
    todo: SimpleQueue[Mutant | None] = context.SimpleQueue()
    done: SimpleQueue[Judged] = context.SimpleQueue()
    judged: list[Judged] = []
    with tempfile.TemporaryDirectory(prefix="postil-mutants-") as folder:
        hands = [
            context.Process(target=work, args=(todo, done, Path(folder) / f"worker{number}", budget))
            for number in range(workers)
        ]
        for number in range(workers):
            (Path(folder) / f"worker{number}").mkdir()
        for hand in hands:
            hand.start()
        waiting = iter(chosen)
        for mutant in islice(waiting, 2 * workers):
            todo.put(mutant)
        while len(judged) < len(chosen):
            judged.append(done.get())
            if (following := next(waiting, None)) is not None:
                todo.put(following)
            if loud:
                print(line_of(judged[-1]), flush=True)
        for _ in hands:
            todo.put(None)
        for hand in hands:
            hand.join()
    return judged


def line_of(one: Judged) -> str:
    """One mutant, for people."""
    mutant = one.mutant
    said = f"caught by {one.by}" if one.caught else "SURVIVED"
    return f"{mutant.path}:{mutant.line}: {mutant.where}: {mutant.what}   [{said}, {one.seconds:.1f} s]"


def table(judged: list[Judged]) -> str:
    """The survivors, and the share that was caught in each package."""
    counted: defaultdict[str, list[bool]] = defaultdict(list)
    for one in judged:
        counted[one.mutant.package].append(one.caught)
    lines = ["", *sorted(line_of(one) for one in judged if not one.caught), ""]
    lines.append(f"{'package':20} {'mutants':>8} {'caught':>8} {'share':>7}")
    for package in (*(name for name in PACKAGES if name in counted), "all"):
        caught = counted[package] if package != "all" else [one.caught for one in judged]
        lines.append(f"{package:20} {len(caught):8} {sum(caught):8} {sum(caught) / len(caught):7.1%}")
    return "\n".join(lines)


def main() -> int:
    """Judge mutants; exit status 1 if fewer than `--least` of them are caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chosen", nargs="*", help="packages or modules below src/postil")
    parser.add_argument("--sample", type=int, default=0, help="so many of each package, or in all with --least")
    parser.add_argument("--seed", default="", help="what decides which are taken")
    parser.add_argument("--least", type=int, default=0, help="fail when fewer are caught")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", type=float, default=15, help="seconds of tests for one mutant")
    parser.add_argument("--all", action="store_true", help="not only one of three")
    parser.add_argument("--open", action="store_true", help="those that no test caught when they were listed")
    parser.add_argument("--map", action="store_true", help="first find out which test runs which line")
    parser.add_argument("--keys", type=Path, help="only those that this file names, one a line")
    parser.add_argument("--list", action="store_true", help="only name them")
    given = parser.parse_args()
    mutants = every_mutant(given.chosen, listed=not given.open, whole=given.all)
    if given.open:
        known = Listed()
        mutants = [mutant for mutant in mutants if mutant.key in known.open]
    if given.keys:
        named = {*given.keys.read_text("utf-8").splitlines()}
        mutants = [mutant for mutant in mutants if mutant.key in named]
    if given.sample:
        mutants = sample(mutants, given.sample, given.seed)
    if given.list:
        print(*(f"{m.path}:{m.line}: {m.where}: {m.what}" for m in mutants), f"{len(mutants)} mutants", sep="\n")
        return 0
    if given.map:
        make_map()
    judged = judge_all(mutants, given.workers, given.budget, loud=True)
    print(table(judged))
    return 1 if sum(one.caught for one in judged) < given.least else 0


def sample(mutants: list[Mutant], size: int, seed: str) -> list[Mutant]:
    """So many of them, the same for the same seed."""
    return random.Random(_number(seed)).sample(mutants, min(size, len(mutants)))


if __name__ == "__main__":
    sys.exit(main())
