"""Texts that people give on the command line: a word, a file, or what they type into their editor (on a terminal)."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence

from postil.core import call
from postil.tracker.failures import InvalidParams

_LARGEST = 4 << 20


def text_or_file(what: str, text: str | None, file: str | None) -> str | None:
    """The text itself or a file's content; not both."""
    if text is not None and file is not None:
        raise InvalidParams(f"Both --{what} and --{what}-file were given", advice="Give one of them")
    return read_text(file) if file is not None else text


def read_text(path: str) -> str:
    """A file of text the user named."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidParams(f"{path} cannot be read: {reason}", advice="Name a readable text file") from None


def labels_from(labels: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Labels given one by one and those of files, one a line."""
    listed = [line for path in files for line in read_text(path).splitlines() if not line.startswith("#")]
    return (*labels, *listed)


def can_edit() -> bool:
    """Whether there is a person to open an editor for."""
    return call.current().interactive


def edited(editor: str, template: str, suffix: str = ".md") -> str:
    """What the user's editor made of the template; lines that begin with # at its top are dropped."""
    if not can_edit():
        raise InvalidParams("There is no terminal to open an editor on", advice="Give the text with a flag or a file")
    command = shlex.split(editor or "vi")
    with tempfile.TemporaryDirectory(prefix="postil-") as folder:
        path = os.path.join(folder, f"EDIT{suffix}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(template)
        try:
            status = subprocess.call([*command, path])
        except OSError as error:
            raise InvalidParams(
                f"The editor {command[0]} cannot be started: {error.strerror}", advice="Set VISUAL or EDITOR"
            ) from None
        if status != 0:
            raise InvalidParams(f"The editor ended with status {status}; nothing was written", advice="Try again")
        text = read_text(path)
    return without_hints(text)


def without_hints(text: str) -> str:
    """The text without the lines that begin with # at its top."""
    lines = text.split("\n")
    while lines and (lines[0].startswith("#") and not lines[0].startswith("##")):
        lines.pop(0)
    return "\n".join(lines).strip("\n")


def preview(text: str) -> str:
    """The first line, 79 characters of it."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 79 else line[:79] + "…"
