"""Texts that people write in their editor."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from postil.core import call
from postil.core.failure import Failure, InvalidArguments
from postil.inbox.model import LONGEST_COMMENT


def edit_text(editor: str, text: str) -> str:
    """Returns what the person's editor made of the text. Raises InvalidArguments where there is no terminal."""
    if not call.current().interactive:
        raise InvalidArguments("There is no terminal to open an editor on", advice="Give the text with --comment")
    import shlex  # only who types in an editor pays for these
    import subprocess
    import tempfile

    command = shlex.split(editor or "vi")
    with tempfile.TemporaryDirectory(prefix="postil-") as folder:
        path = os.path.join(folder, "REMARK.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        try:
            status = subprocess.call([*command, path])
        except OSError as error:
            raise InvalidArguments(
                f"The editor {command[0]} cannot be started: {error.strerror}", advice="Set VISUAL or EDITOR"
            ) from None
        with open(path, encoding="utf-8", errors="replace") as file:
            typed = file.read(4 * LONGEST_COMMENT).strip("\n")
    if status != 0:
        with keep_typed(typed if typed != text else ""):
            raise InvalidArguments(f"The editor ended with status {status}; nothing was changed", advice="Try again")
    return typed


@contextmanager
def keep_typed(text: str) -> Generator[None]:
    """Lose nothing that was typed: when it is refused, a file that the failure names holds it."""
    try:
        yield
    except Failure as failure:
        if text.strip():
            import tempfile

            handle, path = tempfile.mkstemp(prefix="postil-unsent-", suffix=".md")
            with open(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text + "\n")
            failure.advice = f"{failure.advice}; what you typed is in {path}".lstrip("; ")
        raise
