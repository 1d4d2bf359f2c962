"""Texts that people give on the command line: a word, a file, or what they type into their editor (on a terminal)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from postil.core import limits
from postil.tracker.failures import InvalidParams
from postil.tracker.model import Entity
from postil.tracker.text import strip_address
from postil.workspace.disk import read_named
from postil.workspace.editing.editor import run_editor
from postil.workspace.repository import Repository

_LARGEST = 4 << 20
_DROPPED = "# These two lines are dropped."


def read_text_or_file(what: str, text: str | None, file: str | None) -> str | None:
    """Returns the text itself or a file's content. Raises InvalidParams if both are given."""
    if text is not None and file is not None:
        raise InvalidParams(f"Both --{what} and --{what}-file were given", advice="Give one of them")
    return read_text(file) if file is not None else text


def read_text(path: str) -> str:
    """Returns the text of a file that the user named."""
    text = read_whole(path)
    if len(text) > _LARGEST:
        raise InvalidParams(f"{path} has more than {_LARGEST} characters", advice="Name a smaller file")
    return text


def read_whole(path: str) -> str:
    """Returns the text of a file, which may be an import; `-` is standard input."""
    try:
        if path == "-":
            said = sys.stdin.buffer.read(limits.IMPORT + 1)
            if len(said) > limits.IMPORT:
                raise InvalidParams(f"Standard input has more than {limits.IMPORT} bytes", advice="Import it in parts")
            return said.decode("utf-8")
        return read_named(path, limits.IMPORT).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        named = "Standard input" if path == "-" else path
        raise InvalidParams(f"{named} cannot be read: {reason}", advice="Name a readable text file") from None


def read_labels(labels: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """Returns labels given one by one and those of files, one a line."""
    listed = [line for path in files for line in read_text(path).splitlines() if not line.startswith("#")]
    return (*labels, *listed)


def edit_text(repository: Repository, editor: str, hint: str, text: str = "") -> str:
    """Returns what the user's editor made of the text. Only our hint above it is dropped, not a user's heading."""
    typed = run_editor(editor, f"# {hint}\n{_DROPPED}\n{text or chr(10)}", "EDIT.md", repository)
    return "\n".join(row for row in typed.split("\n") if row.rstrip() not in (f"# {hint}", _DROPPED)).strip("\n")


def cut_preview(text: str) -> str:
    """Returns the first line, 79 characters of it."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 79 else line[:79] + "…"


def quote_comment(entity: Entity, quote: str) -> str:
    """Returns the comment whose id begins so, as lines to reply to."""
    found = [comment for comment in entity.comments if comment.id.startswith(quote)] if quote else []
    if len(found) != 1:
        said = "No comment has" if not found else f"{len(found)} comments have"
        raise InvalidParams(
            f"{said} an id that begins with `{quote[:64]}`", advice="`show` lists the ids of comments; give one of them"
        )
    lines = "\n".join(f"> {line}" for line in found[0].body.split("\n"))
    return f"> {strip_address(found[0].author)} wrote:\n{lines}\n\n"
