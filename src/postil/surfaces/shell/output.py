"""How answers reach a person: data on stdout, talk on stderr, colour, progress and pager only on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO, cast

import msgspec

from postil.core.answer import Answer, Verbatim, in_rows
from postil.core.call import Call, Caller, Level, Question, current
from postil.core.failure import Failure, InvalidArguments
from postil.core.others.visible import harmless, paint
from postil.settings.model import Settings, Terminal
from postil.workspace.program import find_program


class ShellCall(Call):
    """A call from the command line: progress is drawn on a terminal, warnings are told, questions only to a person."""

    def __init__(self, *, interactive: bool, terminal: Terminal | None = None) -> None:
        super().__init__(Caller(client=f"shell:{os.getpid()}", surface="shell", types=os.isatty(0)))
        self.interactive = interactive
        self.columns = measure_columns()
        self.terminal = sys.stdout.isatty()
        self.colors = terminal is not None and (
            terminal.color == "always" or (terminal.color == "auto" and self.terminal)
        )
        self.person = True
        self.damaged = False
        self._drawn = False
        self._last = ""
        self._undelivered: list[tuple[Callable[[], None], Callable[[], None]]] = []

    def when_delivered(self, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        """Wait with both until the answer is printed: see `report_delivery`."""
        self._undelivered.append((confirmed, lost))

    def report_delivery(self, *, printed: bool) -> None:
        """Tell those who wait for it whether what was printed reached its reader."""
        if not self._undelivered:
            return
        from postil.surfaces.shell.delivery import is_printed_and_read  # only for what must not be lost

        waiting, self._undelivered = self._undelivered, []
        try:
            reached = printed and is_printed_and_read()
        except OSError:
            reached = False
        for confirmed, lost in waiting:
            (confirmed if reached else lost)()

    def tell_moment(self, moment: str, plain: str = "") -> str:
        """Returns how long ago a moment was; for a pipe, which programs read, the moment itself."""
        if not self.terminal:
            return plain or moment
        from datetime import UTC, datetime  # only for people

        from postil.core.others.age import tell_age

        return tell_age(moment, datetime.now(UTC))

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Draw how far the work is."""
        if not sys.stderr.isatty():
            return
        drawn = _bar(done, total, harmless(message))
        if drawn != self._last:
            self._last = drawn
            self._drawn = True
            sys.stderr.write(f"\r\x1b[K{drawn}")
            sys.stderr.flush()

    def resolve(self, path: str, root: str) -> str:
        """Returns what a person means by a path, which counts from where they stand, as a path from the root."""
        if not path:
            return path
        whole = os.path.realpath(path) if os.path.isabs(path) else os.path.join(os.getcwd(), path)
        inside = os.path.relpath(whole, root)
        outside = inside == ".." or inside.startswith("../")
        if outside or not os.path.lexists(os.path.join(root, inside)):
            return path  # as it is: a glob, a path from the root, or one to refuse
        return "" if inside == "." else inside

    def log(self, level: Level, data: object, logger: str = "") -> None:
        """Tell what is worth knowing; the rest is for connected clients."""
        if level not in ("debug", "info", "notice"):
            self.clear()
            say(f"{level}: {harmless(data if isinstance(data, str) else msgspec.json.encode(data).decode())}")

    def tell_damage(self, what: str) -> None:
        """Say it on stderr, and remember to end with 7."""
        self.damaged = True
        super().tell_damage(what)

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, object]:
        """Ask the person, if there is one."""
        if not self.interactive:
            return await super().ask(questions)
        from postil.surfaces.shell.ask import ask

        self.clear()
        return ask(questions)

    def clear(self) -> None:
        """Take the progress bar away."""
        if self._drawn:
            self._drawn = False
            sys.stderr.write("\r\x1b[K")


def _bar(done: float, total: float | None, message: str) -> str:
    if not total:
        return message[:78]
    share = min(max(done / total, 0.0), 1.0)
    filled = round(share * 24)
    return f"{'█' * filled}{'░' * (24 - filled)} {share:4.0%} {message[:40]}"


def show(result: object, settings: Settings, *, as_json: bool) -> int:
    """Print what an operation answered; the exit status is 0 unless the result has one of its own."""
    doing = current()
    try:
        status = _show(result, settings, as_json=as_json)
    except BaseException:
        if isinstance(doing, ShellCall):
            doing.report_delivery(printed=False)
        raise
    if isinstance(doing, ShellCall):
        doing.report_delivery(printed=True)
    return status


def _show(result: object, settings: Settings, *, as_json: bool) -> int:
    wish = settings.terminal.color
    colors = wish == "always" or (wish == "auto" and sys.stdout.isatty())
    if isinstance(result, Iterator):  # a long answer: each piece goes out as it comes
        for piece in cast("Iterator[object]", result):
            if isinstance(piece, (str, bytes)) and not as_json:
                _write(paint(_visible(piece), colors) if isinstance(piece, str) else piece)
            else:
                _write(_json(piece))
            sys.stdout.flush()
        return 0
    if as_json:
        _write(_json(result))
    else:
        said = readable(result)
        if isinstance(said, bytes) and sys.stdout.isatty():
            raise InvalidArguments(
                "This is no text: its bytes would steer the terminal", advice="Write them to a file: add > FILE"
            )
        _paged(said, settings.terminal, colors)
    return result.exit_status if isinstance(result, Answer) else 0


def _json(result: object) -> str:
    plain = str(result) if isinstance(result, Verbatim) else result.plain() if isinstance(result, Answer) else result
    text = msgspec.json.encode(plain).decode("utf-8")
    if (text.isascii() and "\x7f" not in text) or not sys.stdout.isatty():
        return text
    import json  # most output of a fast command is ASCII

    from postil.core.others.untrusted import split_hidden

    return "".join(seen + json.dumps(hidden)[1:-1].replace("\x7f", "\\u007f") for seen, hidden in split_hidden(text))


def _visible(text: str) -> str:
    """Returns what people read with all that hides in it made visible, in a pipe too: behind it are eyes as well.

    A document for programs stays as it is unless it is printed on a terminal.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text  # nearly always
    return text if isinstance(text, Verbatim) and not sys.stdout.isatty() else harmless(text)


def _write(piece: str | bytes) -> None:
    if isinstance(piece, bytes):
        sys.stdout.flush()
        sys.stdout.buffer.write(piece)
        return
    sys.stdout.write(piece if piece.endswith("\n") or not piece else piece + "\n")


def readable(result: object) -> str | bytes:
    """Returns a result for people: what it says itself, else its fields, line by line."""
    if result is None:
        return ""
    if isinstance(result, (str, bytes)):
        return result
    if isinstance(result, Answer):
        result = in_rows(result)
        said = result.for_person()
        if said is None and result.says_itself():
            read = result.for_model()
            said = read if isinstance(read, str) else None
        if said is not None:
            return said
    return "\n".join(_lines(msgspec.to_builtins(result), ""))


def _lines(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        for key, item in fields.items():
            if item in (None, "", [], {}):
                continue
            if isinstance(item, (Mapping, list)):
                yield f"{indent}{key}:"
                yield from _lines(cast("object", item), indent + "  ")
            else:
                said = _scalar(item)
                yield f"{indent}{key}: {current().tell_moment(said) if key.endswith('_at') else said}"
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            inner = list(_lines(item, ""))
            yield from (f"{indent}{'- ' if first == 0 else '  '}{line}" for first, line in enumerate(inner))
    else:
        yield indent + _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _paged(text: str | bytes, terminal: Terminal, colors: bool) -> None:
    if isinstance(text, str):
        text = _visible(text)
        if not text.isascii():  # a style is no ASCII
            text = paint(text, colors)
    if isinstance(text, str) and sys.stdout.isatty() and _is_long(text):
        import shlex
        import subprocess

        # The pager is the user's own choice, from their environment, as in git.
        command = shlex.split(terminal.pager) if terminal.pager else ["less", "-FRX"]
        try:
            subprocess.run([find_program(command[0]), *command[1:]], input=text.encode("utf-8", "replace"), check=False)
            return
        except OSError:
            pass  # no such program: the text itself is what matters
    _write(text)


def measure_columns() -> int:
    """Returns how wide the terminal is on which answers are printed; 0 where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80  # a terminal that does not know
    except (OSError, ValueError):
        return 0


def _is_long(text: str) -> bool:
    try:
        rows = os.get_terminal_size(sys.stdout.fileno()).lines
    except OSError:
        return False
    return text.count("\n") >= rows > 0


def tell_failure(failure: Failure, settings: Settings | None, *, as_json: bool = False) -> int:
    """Say what went wrong and what to do next, on stderr; answer the exit status."""
    if as_json:
        error = {"name": failure.name, "message": failure.message, "code": failure.code, "data": failure.details()}
        say(msgspec.json.encode({"error": error}, enc_hook=str).decode("utf-8"))
        return failure.exit_status
    paint = colored(sys.stderr, settings.terminal if settings else Terminal())
    sentence = failure.text().removesuffix(failure.advice).rstrip() if failure.advice else failure.text()
    say(f"{paint('error:', 31)} {harmless(sentence)}")
    if failure.advice:
        say(f"{paint('hint:', 36)} {harmless(failure.advice)}")
    return failure.exit_status


def warn(sentence: str) -> None:
    """A warning, which may quote what somebody else wrote."""
    say(f"warning: {harmless(sentence)}")


def tell(sentence: str) -> None:
    """One line on stdout for people, which may quote what somebody else wrote."""
    sys.stdout.write(f"{harmless(sentence)}\n")


def say(sentence: str) -> None:
    """Talk: one line on stderr, never in the way of the data."""
    sys.stderr.write(sentence.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def colored(stream: TextIO, terminal: Terminal) -> Callable[[str, int], str]:
    """Returns a function that colours text for this stream, and leaves it alone where colour has no place."""
    on = terminal.color == "always" or (terminal.color == "auto" and stream.isatty())
    return lambda text, code: f"\x1b[{code}m{text}\x1b[0m" if on else text


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, aligned."""
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
