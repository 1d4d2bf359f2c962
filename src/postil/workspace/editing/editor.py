"""The person's editor: a text goes in, what became of it comes back, and nothing that was typed is lost."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from postil.core import call
from postil.core.failure import Failure, InvalidArguments
from postil.workspace.files import atomic_write, make_folder
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

LARGEST = 4 << 20
"""Characters; operations have smaller bounds of their own."""


def run_editor(editor: str, text: str, name: str, repository: Repository | None) -> str:
    """Returns what the person's editor made of the text. Raises InvalidArguments where there is no terminal."""
    if not call.current().interactive:
        raise InvalidArguments("There is no terminal to open an editor on", advice="Give the text with a flag instead")
    import shlex  # only who types in an editor pays for these
    import subprocess
    import tempfile

    command = shlex.split(editor or "vi")
    with tempfile.TemporaryDirectory(prefix="postil-") as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            status = subprocess.call([*command, path])
        except OSError as error:
            raise InvalidArguments(
                f"The editor {command[0]} cannot be started: {error.strerror}", advice="Set VISUAL or EDITOR"
            ) from None
        typed = ""
        with suppress(FileNotFoundError), open(path, encoding="utf-8", errors="replace") as file:
            typed = file.read(4 * LARGEST)  # what is too long is kept all the same
    if status != 0:
        with keep_typed(repository, typed if typed != text else ""):
            raise InvalidArguments(f"The editor ended with status {status}; nothing was changed", advice="Try again")
    if len(typed) > LARGEST:
        with keep_typed(repository, typed):
            raise InvalidArguments(f"The text has more than {LARGEST} characters", advice="Make it shorter")
    return typed


@contextmanager
def keep_typed(repository: Repository | None, text: str | None) -> Generator[None]:
    """Lose nothing that was typed: when it is refused, a file that the failure names holds it.

    The file is in the git folder, which no program empties; outside of a repository it is a temporary one.
    """
    try:
        yield
    except Failure as failure:
        if text and text.strip():
            content = text.rstrip("\n").encode("utf-8", "replace") + b"\n"
            failure.advice = f"{failure.advice}; what you typed is in {_keep(repository, content)}".lstrip("; ")
        raise


def _keep(repository: Repository | None, content: bytes) -> str:
    name = RelativePath(f"postil/unsent-{os.urandom(4).hex()}.md")
    if repository is not None:
        try:
            make_folder(repository.common_dir, "postil", 0o700)
            atomic_write(repository.common_dir, name, content)
            return os.path.join(repository.common_dir, name)
        except Failure:
            pass  # a git folder that cannot be written to
    import tempfile

    handle, path = tempfile.mkstemp(prefix="postil-unsent-", suffix=".md")
    with open(handle, "wb") as file:
        file.write(content)
    return path
