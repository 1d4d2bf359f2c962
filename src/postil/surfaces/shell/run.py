"""One run of the command line: find the command, parse its words, run it, print the answer, say the exit status."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from postil.core.failure import Failure, InternalError
from postil.surfaces.composition import Compose, Composition
from postil.surfaces.shell.argv import PROGRAMS, Globals, find, split_globals

Builtin: TypeAlias = Callable[["Composition", list[str], str, Globals], int]


_BUILTINS = {
    "call": "shell.tools",
    "tools": "shell.tools",
    "setup": "setup.connect",
    "doctor": "setup.doctor",
    "key": "shell.keys",
    "audit": "shell.keys",
    "init": "setup.init",
    "completion": "shell.completion",
    "complete-words": "shell.completion",
}
_SHARED = ("setup",)
"""Built-in words under which parts declare commands of their own, such as `setup lazygit`."""


class Program(NamedTuple):
    """One of the executables: its name, the first words its users leave unsaid, and its part if it has only one."""

    name: str
    prefixes: tuple[str, ...]
    part: str


def run(words: list[str], program: str, compose: Compose, part: str = "") -> int:
    """Run one command line to its end. Whatever happens becomes a sentence and a status of docs/errors.md.

    A program of one part knows the commands of that part alone.
    """
    options = Globals()
    settings = None
    _speak_utf8()
    try:
        words = readable_words(words)
        options, words = split_globals(words)
        if words[:1] == ["serve"]:
            from postil.surfaces.shell.serve import serve

            return serve(words[1:], program, compose, options)
        from postil.settings.load import load

        settings = load(cwd=options.folder, flags=options.flags, file=options.config)
        return _command(compose(settings), words, Program(program, PROGRAMS.get(program, ()), part), options)
    except Failure as failure:
        from postil.surfaces.shell.output import tell_failure

        return tell_failure(failure, settings, as_json="--json" in words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _reader_gone()
    except Exception:
        return _bug(settings is not None and settings.debug)


def _speak_utf8() -> None:
    """What we print is UTF-8 whatever the locale says: a program that reads our JSON has to rely on it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def readable_words(words: list[str]) -> list[str]:
    """The words, all of them text: bytes that are not UTF-8 would be damaged on their way."""
    for word in words:
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:
            from postil.surfaces.shell.commands import Usage

            shown = word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            raise Usage(
                f"An argument is not valid UTF-8: {shown}", advice="Convert it to UTF-8, or rename the file"
            ) from None
    return words


def _command(composed: Composition, words: list[str], program: Program, options: Globals) -> int:
    for warning in composed.settings.warnings:
        from postil.surfaces.shell.output import warn

        warn(warning)
    builtin = _builtin(words[0]) if words and program.name == "postil" else None
    if builtin is not None and words[0] not in _SHARED:
        return builtin(composed, words, program.name, options)
    registry = composed.registry()
    entries = [entry for entry in registry.operations.values() if program.part in ("", entry.part)]
    found = find(entries, words, program.prefixes)
    if found is None and builtin is not None:
        return builtin(composed, words, program.name, options)
    if found is None:
        from postil.surfaces.shell.help import explain, say_if_withheld

        say_if_withheld(registry.withheld, words, program.name, program.prefixes)
        return explain(entries, words, program.name, program.prefixes)
    entry, rest = found
    from postil.surfaces.shell.operations import run_operation

    used = " ".join(words[: len(words) - len(rest)])
    return run_operation(composed, registry, entry, rest, f"{program.name} {used}", options)


def _builtin(word: str) -> Builtin | None:
    module = _BUILTINS.get(word)
    if module:
        from importlib import import_module

        return getattr(import_module(f"postil.surfaces.{module}"), f"run_{word.replace('-', '_')}")
    return None


def _reader_gone() -> int:
    """The reader closed the pipe (`postil … | head`): no fault, and no second complaint when Python flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _bug(debug: bool) -> int:
    import traceback

    from postil.surfaces.shell.output import tell_failure

    if debug:
        traceback.print_exc()
    kind, _, trace = sys.exc_info()
    place = traceback.extract_tb(trace)[-1] if trace else None
    where = f" ({kind.__name__} in {place.name}, line {place.lineno})" if kind and place else ""
    return tell_failure(
        InternalError(f"Something unexpected happened{where}", advice="Run it again with POSTIL_DEBUG=1 and report it"),
        None,
    )
