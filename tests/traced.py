"""One of our executables with every call of our functions written down: `python -m tests.traced OUT FUNCTION WORD…`.

The calls are written to OUT as JSON when the program ends: the moment (nanoseconds of the monotonic clock, which all
processes share), the file inside the package and the function. What a client did between two moments is cut out of it.
"""

import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple, NoReturn

PACKAGE = str(Path(__file__).resolve().parents[1] / "src" / "postil") + "/"


class Step(NamedTuple):
    """One call of one of our functions."""

    moment: int
    file: str
    function: str

    @property
    def package(self) -> str:
        """The part, or the layer, that the file belongs to."""
        return self.file.partition("/")[0]


class Way:
    """The calls between two moments, and what they cost a reader."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.calls = len(steps)
        self.files = len({step.file for step in steps})
        packages = [step.package for step in steps]
        self.switches = sum(1 for before, after in pairwise(packages) if before != after)

    def __str__(self) -> str:
        lines = [f"{self.calls} calls, {self.files} files, {self.switches} package switches"]
        before, functions = "", list[str]()
        for step in [*self.steps, Step(0, "", "")]:
            if step.file != before and functions:
                lines.append(f"  {before}: {' '.join(_counted(functions))}")
                functions = []
            before = step.file
            functions.append(step.function)
        return "\n".join(lines)


def _counted(functions: list[str]) -> list[str]:
    """Repetitions in a row as one: `read read read` is `read ×3`."""
    said: list[tuple[str, int]] = []
    for name in functions:
        if said and said[-1][0] == name:
            said[-1] = (name, said[-1][1] + 1)
        else:
            said.append((name, 1))
    return [name if count == 1 else f"{name}×{count}" for name, count in said]


def read(path: Path, since: int = 0, until: int = sys.maxsize) -> Way:
    """The way that a traced program wrote down, between two moments."""
    steps = [Step(*step) for step in json.loads(path.read_text("utf-8"))]
    return Way([step for step in steps if since <= step.moment <= until])


def is_function(code: CodeType) -> bool:
    """Neither the body of a module or a class nor a comprehension: somebody who reads would have to go there."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


def main() -> int:
    """Run the executable; write the calls whatever happens."""
    out, function, *words = sys.argv[1:]
    steps: list[tuple[int, str, str]] = []
    importing = threading.local()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name == "<module>":  # what a module does while it is loaded is no step of the way
            importing.depth = getattr(importing, "depth", 0) + (1 if event == "call" else -1)
        elif event == "call" and is_function(code) and not getattr(importing, "depth", 0):
            steps.append((time.monotonic_ns(), code.co_filename[len(PACKAGE) :], code.co_qualname))

    def end(status: int, leave: Callable[[int], NoReturn] = os._exit) -> NoReturn:
        Path(out).write_text(json.dumps(steps), "utf-8")
        leave(status)

    from postil.surfaces.shell import main as programs

    os._exit = end  # a server leaves so when its input has ended
    sys.argv = [function, *words]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        return getattr(programs, function)()
    finally:
        sys.setprofile(None)
        Path(out).write_text(json.dumps(steps), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
