"""One run of the command line: find the command, read its words, run it, print the answer, return the exit status."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Struct

from postil.core import call
from postil.core.catalogue import OperationEntry
from postil.core.failure import Failure, InternalError, NotAllowed, UnknownOperation
from postil.core.registry import Registry
from postil.surfaces.shell.argv import PROGRAMS, Globals, find, split_globals

if TYPE_CHECKING:
    from postil.surfaces.composition import Compose, Composition
    from postil.surfaces.shell.commands import Common

Builtin: TypeAlias = "Callable[[Composition, list[str], str, Globals], int]"


_BUILTINS = {
    "call": "shell.builtins",
    "tools": "shell.builtins",
    "key": "shell.builtins",
    "audit": "shell.builtins",
    "backup": "shell.builtins",
    "restore": "shell.builtins",
    "setup": "setup.connect",
    "doctor": "setup.doctor",
    "init": "setup.init",
    "open": "page.open_command",
    "completion": "shell.completion",
    "complete-words": "shell.completion",
}
_SHARED = ("setup",)
"""Built-in words under which parts declare commands of their own, such as `setup lazygit`."""


_RUN_BY_OTHERS = (("inbox", "hook"),)
"""Commands that other programs run in the middle of a person's work and whose other statuses mean something to them:
2 refuses the person's prompt. They end with 0 or 1, whatever is broken."""


class Program(Struct, frozen=True):
    """One of the executables: its name, the first words its users leave unsaid, and its part if it has only one."""

    name: str
    prefixes: tuple[str, ...]
    part: str


def run(words: list[str], program: str, compose: Compose, part: str = "") -> int:
    """Run one command line to its end. Whatever happens becomes a sentence and a status of docs/errors.md.

    A program of one part knows the commands of that part alone.
    """
    status = _run(words, program, compose, part)
    if status and any(pair in _RUN_BY_OTHERS for pair in pairwise(words)):
        return 1
    return status


def _run(words: list[str], program: str, compose: Compose, part: str) -> int:
    settings = None
    _print_utf8()
    try:
        options, words = split_globals(readable_words(words))
        if words[:1] == ["help"] and len(words) > 1:
            words = [*words[1:], "--help"]  # `help serve` is what `serve --help` is
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
        return _leave_pipe()
    except OSError as error:
        if _has_no_room(error):  # nothing more can be opened, not even a module that would say it better
            sys.stderr.write(f"error: The system has no room for this: {error.strerror}\n")
            sys.stderr.write("hint: End other programs or raise the limit (`ulimit -n`, `ulimit -v`), and try again\n")
            return 7
        if not _is_output(error):
            return _tell_bug(settings is not None and settings.debug)
        _leave_pipe()
        sys.stderr.write(f"error: The output cannot be written: {error.strerror}\n")
        return 7
    except Exception:
        return _tell_bug(settings is not None and settings.debug)


def _print_utf8() -> None:
    """Print UTF-8 whatever the locale says: a program that reads our JSON has to rely on it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def readable_words(words: list[str]) -> list[str]:
    """Returns the words if all of them are text. Raises Usage: bytes that are not UTF-8 would be damaged later."""
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
    from postil.surfaces.shell.commands import Words  # not for a server, which is started for every window
    from postil.surfaces.shell.output import ShellCall, show, warn

    for warning in composed.settings.warnings if words[:1] != ["doctor"] else ():  # which lists them itself
        warn(warning)
    own = program.name == "postil" or (program.name == "git mile" and words[:1] in (["completion"], ["complete-words"]))
    builtin = _builtin(words[0]) if words and own else None
    if builtin is not None and words[0] not in _SHARED:
        call.enter(ShellCall(interactive=False, terminal=composed.settings.terminal))
        return builtin(composed, words, program.name, options)
    registry = composed.registry((program.part,) if program.part else composed.parts_with(words[0] if words else ""))
    found = find(registry.operations.values(), words, program.prefixes)
    if found is None and builtin is not None:
        return builtin(composed, words, program.name, options)
    if found is None:
        from postil.surfaces.shell.help import explain, refuse_withheld

        registry = composed.registry((program.part,) if program.part else ())
        refuse_withheld(registry.withheld, words, program.name, program.prefixes, composed.settings)
        return explain(list(registry.operations.values()), words, program.name, program.prefixes)
    entry, rest = found
    reader = Words(entry, f"{program.name} {' '.join(words[: len(words) - len(rest)])}")
    arguments, common = reader.read(rest)
    if any(name not in arguments for name in reader.required):  # a command may need more than its operation
        reader.check(arguments)
    if options.no_input:
        common = common._replace(no_input=True)
    result = perform(composed, registry, entry, arguments, common, reader.check)
    status = show(result, composed.settings, as_json=common.as_json)
    return status or (7 if getattr(call.current(), "damaged", False) else 0)


def run_named(composed: Composition, name: str, arguments: Any, common: Common) -> object:
    """Run an operation by its name, or by an older name of it. Raises UnknownOperation."""
    registry = composed.registry()
    entry = registry.find(name)
    if entry is None:
        hidden = next((each for each in registry.withheld if name in (each.name, *each.aliases)), None)
        if hidden is not None:
            from postil.surfaces.shell.help import explain_withheld

            why, advice = explain_withheld(hidden, composed.settings)
            raise NotAllowed(f"{name} is not offered here: {why}", advice=advice)
        from postil.surfaces.shell.commands import near

        raise UnknownOperation(
            f"Unknown operation: {name[:100]}{near(name, registry.operations)}",
            advice="`postil tools` lists what assistants see; docs/reference.md every operation",
            name=name[:100],
        )
    return perform(composed, registry, entry, arguments, common)


def perform(
    composed: Composition,
    registry: Registry,
    entry: OperationEntry,
    arguments: Any,
    common: Common,
    explain: Callable[[Any], None] | None = None,
) -> object:
    """Run one operation as the person at this terminal.

    `explain` may raise a better failure for arguments that the operation refused; without it they are JSON that a
    person gave, and are read as those of an assistant are.
    """
    from postil.surfaces.shell.output import ShellCall

    talks = not common.no_input and sys.stdin.isatty() and sys.stderr.isatty()
    doing = ShellCall(interactive=talks, terminal=composed.settings.terminal)
    call.enter(doing)
    given: Any = arguments
    if entry.settled and isinstance(given, dict):  # what the words settle nobody gives otherwise
        given = cast("dict[str, Any]", given) | entry.settled
    operation = registry.operation(entry.name)
    if composed.settings.read_only:
        for name in entry.writes_with:
            if name in arguments:
                raise NotAllowed("Only reading is allowed here", advice=f"Leave out --{name}, or --read-only")
    try:
        if given is not arguments:
            operation.refuse(arguments, entry.settled)
        decoded = operation.decode(given, from_shell=True, as_meant=explain is None)
    except Failure:
        if explain is not None:
            explain(arguments)
        raise

    def start() -> object:
        if not operation.is_async:
            return operation.run(**decoded)
        import asyncio  # only the operations that wait need it

        return asyncio.run(operation.run(**decoded))

    try:
        if common.key and operation.mark.effect != "reads":
            from postil.core.invoke import once

            return once(operation, arguments | entry.settled, common.key, composed.keys(), start)
        return start()
    finally:
        doing.clear()


def _builtin(word: str) -> Builtin | None:
    module = _BUILTINS.get(word)
    if module:
        from importlib import import_module

        return getattr(import_module(f"postil.surfaces.{module}"), f"run_{word.replace('-', '_')}")
    return None


def _is_output(error: OSError) -> bool:
    """Whether the output itself failed: a full disk behind a redirection. Files of ours have failures of their own."""
    import errno

    return error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG)


def _has_no_room(error: OSError) -> bool:
    """Whether a limit of the system was reached: open files of this process or of all, or memory."""
    import errno

    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def _leave_pipe() -> int:
    """Make no second complaint when Python flushes at exit: that the reader is gone (`… | head`) is no fault."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _tell_bug(debug: bool) -> int:
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
