"""Texts that people write in their editor."""

from __future__ import annotations

import os

from postil.core import call
from postil.core.failure import InvalidArguments
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
        if status != 0:
            raise InvalidArguments(f"The editor ended with status {status}; nothing was changed", advice="Try again")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4 * LONGEST_COMMENT).strip("\n")
