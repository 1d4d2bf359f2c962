"""Judges mutants of functions in forks of one pytest session: collect once, exchange the code of a function, run.

A fifth of a second to two seconds for one. A test that fails or hangs has caught a mutant only if the same test alone
passes without it, and fails again with it. What cannot be exchanged (constants, defaults) is left to `copied`, and so
is what no test here notices: other processes, which load the source anew, may.
"""

import gc
import inspect
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

from scripts.mutants.copied import run_pytest
from scripts.mutants.make import ROOT, SRC, Mutant
from scripts.mutants.near import Judged, near, quick, tests_for
from scripts.mutants.scratch import end_servers, make_folder

MAP = ROOT / "build" / "mutants-map.json"
STILL = 20.0
"""Seconds that one test may take before it counts as hanging; without the mutant it has as many."""
PASSED, FAILED = 0, 1


class Exchange(NamedTuple):
    """A function that runs now, and its code with a mutant in it."""

    function: FunctionType
    code: CodeType

    @property
    def name(self) -> str:
        """How the map names the function."""
        path = os.path.relpath(self.function.__code__.co_filename, SRC / "postil")
        return f"{path}:{self.function.__code__.co_qualname}"


def find_exchange(mutant: Mutant) -> Exchange | None:
    """Returns the function that the mutant changes, with its new code; None where it changes something else."""
    name = "postil." + mutant.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    module = sys.modules.get(name)
    function = find_function(module, mutant.where) if module is not None else None
    if function is None:
        return None
    old = function.__code__
    source = (SRC / "postil" / mutant.path).read_bytes()
    mutated = source[: mutant.start] + mutant.text.encode("utf-8") + source[mutant.end :]
    before, after = (find_code(text, old) for text in (source, mutated))
    if after is None or after == before or len(after.co_freevars) != len(old.co_freevars):
        return None
    return Exchange(function, after)


def find_function(module: ModuleType, where: str) -> FunctionType | None:
    """Returns the outermost function on this way into a module, below its decorators."""
    found: Any = module
    for name in where.split("."):
        found = inspect.getattr_static(found, name, None)
        if not isinstance(found, type):
            break
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, classmethod | staticmethod):
        found = found.__func__
    elif not isinstance(found, FunctionType):
        found = getattr(found, "func", found)  # a cached property
    found = inspect.unwrap(found) if callable(found) else None
    return found if isinstance(found, FunctionType) else None


def find_code(source: bytes, like: CodeType) -> CodeType | None:
    """Returns the code of the function with the same name in a source."""
    todo = [compile(source, like.co_filename, "exec", dont_inherit=True)]
    while todo:
        code = todo.pop()
        if code.co_qualname == like.co_qualname:
            return code
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
    return None


# ----- the session --------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """How a fork ended: how, at which test, and after how long."""

    ended: str
    test: str
    seconds: float


class Session:
    """A pytest plugin: when all is collected it judges, in forks, and never comes to run the tests itself."""

    def __init__(self, judge: Callable[["Session"], NoReturn], folder: Path) -> None:
        self._judge, self._folder = judge, folder
        self.tests: dict[str, Any] = {}
        self._session: Any = None
        self._observer: Observer | None = None
        self._forks = 0

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = quick(items)

    def pytest_collection_finish(self, session: Any) -> None:
        self._session = session
        self.tests = {item.nodeid: item for item in session.items}
        gc.collect()
        gc.freeze()
        self._judge(self)

    def start(self, tests: Iterable[str], observer: "Observer", prepare: Callable[[], None]) -> tuple[int, Path]:
        """Fork; the child prepares itself and runs these tests. Returns its process and its folder."""
        self._forks += 1
        folder = self._folder / str(self._forks)
        folder.mkdir()
        if child := os.fork():
            return child, folder
        os.setsid()
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            prepare()
            observer.begin(folder)
            self._observer = observer
            self._session.items[:] = [self.tests[test] for test in tests]
            self._session.config.hook.pytest_runtestloop(session=self._session)
            observer.end()
        finally:
            os._exit(FAILED)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self._observer is not None:
            self._observer.start_test(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if self._observer is not None:
            self._observer.report(report)


class Observer:
    """What a fork does with its tests: it ends at the first that fails, or when its processor time is used up."""

    def __init__(self, budget: float) -> None:
        self._budget = budget

    def begin(self, folder: Path) -> None:
        self._current = folder / "current"
        self._until = time.process_time() + self._budget

    def start_test(self, nodeid: str) -> None:
        if time.process_time() > self._until:
            os._exit(PASSED)
        self._current.write_text(nodeid, "utf-8")

    def report(self, report: Any) -> None:
        if report.failed:
            os._exit(FAILED)

    def end(self) -> None:
        os._exit(PASSED)


class Mapper(Observer):
    """Runs all tests, and writes down which functions each of them enters and how long it takes."""

    def __init__(self) -> None:
        super().__init__(float("inf"))
        self._entered: dict[str, list[str]] = {}
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._seen: set[CodeType] = set()
        self._test = ""

    def start_test(self, nodeid: str) -> None:
        super().start_test(nodeid)
        self._test = nodeid
        self._seen.clear()
        sys.settrace(self._enter)

    def begin(self, folder: Path) -> None:
        import threading

        super().begin(folder)
        threading.settrace(self._enter)

    def _enter(self, frame: Any, event: str, argument: object) -> None:
        code = frame.f_code
        if code in self._seen:
            return
        self._seen.add(code)
        if code.co_filename.startswith(f"{SRC}/postil/"):
            name = f"{code.co_filename.removeprefix(f'{SRC}/postil/')}:{code.co_qualname}"
            tests = self._entered.setdefault(name, [])
            if self._test not in tests[-1:]:
                tests.append(self._test)

    def report(self, report: Any) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self._failed.add(report.nodeid)

    def end(self) -> None:
        sys.settrace(None)
        quickest = {
            name: sorted({*tests} - self._failed, key=lambda test: self._seconds.get(test, 0.0))
            for name, tests in self._entered.items()
        }
        MAP.parent.mkdir(exist_ok=True)
        MAP.write_text(json.dumps(quickest), "utf-8")
        os._exit(PASSED)


# ----- judging ------------------------------------------------------------------------------------------------------


class Judge:
    """Judges mutants, several at a time."""

    def __init__(self, session: Session, budget: float, mapped: dict[str, list[str]]) -> None:
        self._session, self._budget, self._mapped = session, budget, mapped
        self._sound: dict[str, bool] = {}
        """Tests that caught something: whether they pass without a mutant, and have failed twice with each."""

    def judge(self, mutants: list[Mutant], workers: int) -> Generator[Judged]:
        """Yields what became of each mutant that can be exchanged."""
        todo = [(mutant, exchange) for mutant in mutants if (exchange := find_exchange(mutant)) is not None]
        todo.reverse()
        running: list[tuple[Running, Mutant, Exchange]] = []
        try:
            while todo or running:
                while todo and len(running) < workers:
                    mutant, exchange = todo.pop()
                    running.append((self._start(self._tests_for(mutant, exchange), exchange), mutant, exchange))
                for one in [one for one in running if one[0].has_ended()]:
                    running.remove(one)
                    run, mutant = one[0].end(), one[1]
                    if run.ended == "passed":
                        yield Judged(mutant, False, "", run.seconds)
                    elif self._is_sound(run.test, one[2]):
                        yield Judged(mutant, True, f"{run.test}{' hanging' * (run.ended == 'hung')}", run.seconds)
                    else:  # again, without the test that fails by itself or by chance
                        todo.append(one[1:])
                time.sleep(0.005)
        finally:
            for fork, _, _ in running:
                fork.end()

    def _tests_for(self, mutant: Mutant, exchange: Exchange) -> list[str]:
        if self._mapped:
            known = self._mapped.get(exchange.name, [])
        else:
            files = [file for files in tests_for(mutant.path) for file in files]
            place = {file: number for number, file in enumerate(files)}
            known = [test for test in self._session.tests if test.partition("::")[0] in place]
            known.sort(key=lambda test: place[test.partition("::")[0]])
        return [test for test in known if test in self._session.tests and self._sound.get(test, True)]

    def _start(self, tests: list[str], exchange: Exchange | None = None) -> "Running":
        def prepare() -> None:
            if exchange is not None:
                exchange.function.__code__ = exchange.code  # pyright: ignore[reportAttributeAccessIssue]

        child, folder = self._session.start(tests, Observer(self._budget), prepare)
        return Running(child, folder)

    def _is_sound(self, test: str, exchange: Exchange) -> bool:
        if test not in self._sound:
            self._sound[test] = not test or self._passes_alone(test)
        if test and self._sound[test]:
            self._sound[test] = not self._passes_alone(test, exchange)
        return self._sound[test]

    def _passes_alone(self, test: str, exchange: Exchange | None = None) -> bool:
        alone = self._start([test], exchange)
        try:
            return alone.wait().ended == "passed"
        finally:
            alone.end()


class Running:
    """A fork that runs tests."""

    def __init__(self, child: int, folder: Path, still: float | None = None) -> None:
        self._still = STILL if still is None else still
        self._child, self._folder, self._began = child, folder, time.monotonic()
        self._ended = ""

    def has_ended(self) -> bool:
        ended, status = os.waitpid(self._child, os.WNOHANG)
        if ended:
            self._ended = "passed" if os.waitstatus_to_exitcode(status) == PASSED else "failed"
        elif self._seconds_of_test() > self._still:
            os.killpg(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
            self._ended = "hung"
        return bool(self._ended)

    def _seconds_of_test(self) -> float:
        """How long the test runs that runs now."""
        current = self._folder / "current"
        return time.time() - (current if current.exists() else self._folder).stat().st_mtime

    def wait(self) -> Run:
        """Wait until it ends by itself."""
        while not self.has_ended():
            time.sleep(0.005)
        return self.end()

    def end(self) -> Run:
        """Returns how it ended; what a test left behind ends too."""
        try:
            os.killpg(self._child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        end_servers(self._folder)
        current = self._folder / "current"
        test = current.read_text("utf-8") if current.exists() else ""
        shutil.rmtree(self._folder, ignore_errors=True)
        return Run(self._ended, test, time.monotonic() - self._began)


def judge_all(mutants: list[Mutant], workers: int, budget: float, *, mapped: bool) -> Iterator[Judged]:
    """Yields what became of each mutant that can be exchanged; the others it leaves out."""
    read, write = multiprocessing.get_context("fork").Pipe(duplex=False)
    with make_folder("pm-") as folder:
        folder.chmod(0o711)  # PostgreSQL runs as nobody, in a folder below it
        if (child := os.fork()) == 0:
            read.close()
            _serve(mutants, workers, budget, folder, write, mapped=mapped)
        write.close()
        try:
            while (one := read.recv()) is not None:
                yield one
        except EOFError:
            raise RuntimeError((folder / "log").read_text("utf-8")) from None
        finally:
            read.close()
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)


def _serve(mutants: list[Mutant], workers: int, budget: float, folder: Path, write: Any, *, mapped: bool) -> NoReturn:
    """Collect the tests and judge; the child of `judge_all`."""

    def judge(session: Session) -> NoReturn:
        if mapped:
            mapping = Running(*session.start(session.tests, Mapper(), lambda: None), still=600)
            assert mapping.wait().ended == "passed", "the tests could not be traced"
        known = json.loads(MAP.read_text("utf-8")) if mapped else {}
        verdicts = Judge(session, budget, known).judge(mutants, workers)
        try:
            for one in verdicts:
                write.send(one)
            write.send(None)
        except (SystemExit, BrokenPipeError):  # enough is known
            pass
        finally:
            verdicts.close()
        os._exit(PASSED)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(PASSED))
    with open(folder / "log", "wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    files = dict.fromkeys(str(file.relative_to(ROOT)) for mutant in mutants for file in near(mutant.package))
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    run_pytest(SRC, ["--capture=no", "--timeout=0", *files], Session(judge, folder))
    os._exit(FAILED)
