"""What can go wrong with a git workspace, each with what to do next."""

from __future__ import annotations

import errno
import os

from postil.core.failure import (
    Conflict,
    Failure,
    InvalidArguments,
    NotAllowed,
    NotFound,
    StorageFailed,
    Unreachable,
)

READ_FIRST = "first read its .git/config (`postil doctor` names settings in it that run programs)"
"""What is said wherever plain git is named: it runs what a repository's config says, and Postil does not."""


class NoRepository(NotFound):
    """There is no git repository here or above."""

    def __init__(self, start: str, unheeded: str = "") -> None:
        advice = "Change into a repository, or make one with `git init`"
        if unheeded:
            advice = f"{unheeded}: name a folder of a repository (`postil -C FOLDER`)"
        super().__init__(f"No git repository at {printable(start)} or above it", advice=advice)


class DamagedRepository(StorageFailed):
    """A `.git` file that leads nowhere."""

    def __init__(self, link: str) -> None:
        advice = (
            f"Run `git worktree repair` or `git submodule update --init`; in a clone that others made, {READ_FIRST}"
        )
        super().__init__(f"{printable(link)} does not lead to a git directory", advice=advice)


class DamagedConfig(StorageFailed):
    """A repository's config that git could not read, either."""

    def __init__(self, file: str, line: int = 0) -> None:
        where = f" in line {line}" if line else ""
        super().__init__(f"{printable(file)} cannot be read{where}", advice="Correct the file, or restore it")


class UnknownExtension(StorageFailed):
    """A repository in a format that we cannot judge."""

    def __init__(self, file: str, extension: str) -> None:
        advice = "Use a newer Postil, or a clone without that extension"
        super().__init__(
            f"{printable(file)} asks for an extension that Postil does not know: {extension}", advice=advice
        )


class OddRepository(NotAllowed):
    """A git folder with a link or a special file where git would follow it out of the repository."""

    def __init__(self, path: str, why: str, *, allowed: bool = False) -> None:
        advice = "Look at it, then remove it, or make it an ordinary file or folder"
        advice += f", or allow it: {trust_command(path)}" if allowed else ""
        super().__init__(f"{printable(path)} {why}", advice=advice)


class ForeignOwner(NotAllowed):
    """A repository that belongs to somebody else, whose settings git would obey."""

    def __init__(self, root: str, path: str) -> None:
        said = f"The repository {printable(root)} belongs to another user ({printable(path)})"
        advice = f"If you trust them: git config --global --add safe.directory {_quote(printable(root))}"
        super().__init__(said, advice=advice)


class UntrustedPath(NotAllowed):
    """Another repository on this machine that would be written to, or read from, because this one says so."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{what} {printable(path)}", advice=f"If that is meant: {trust_command(path)}")


class GitMissing(Unreachable):
    """The git program itself cannot be started."""

    def __init__(self) -> None:
        super().__init__("The git program was not found", advice="Install git and put it on PATH")


_FULL = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT))
_OUT_OF_MEMORY = ("ut of memory", "over limit", "Cannot allocate memory", "failed to allocate")
ELSEWHERE = "promisor remote"
"""What git says of an object that a partial clone has left at its remote."""


_DAMAGE = (
    r"unable to read (?:tree )?[(]?[0-9a-f]{40}|[Cc]ould not read [0-9a-f]{40}|missing (?:blob|tree) object|"
    r"(?:object file|packfile|object) [^\n]* (?:is empty|is corrupt)|corrupt or missing|inflate: data stream error"
)
"""What git says of an object that the repository needs and does not have whole."""
_MOST_SAID = 500
"""Characters of what git said that are told."""


class GitFailed(Failure):
    """git ran and said no."""

    def __init__(self, command: str, status: int, said: str) -> None:
        self.status = status
        self.said = said
        self.lacks_memory = any(words in said for words in _OUT_OF_MEMORY)
        lines = [line for line in said.strip().split("\n") if not line.startswith("warning: ")]
        first = next(filter(None, lines), f"exit status {status}")
        if len(first) > _MOST_SAID:
            first = f"{first[: _MOST_SAID - 1]}…"
        advice = f"Look with `postil doctor`. Before you run git in the repository yourself, {READ_FIRST}"
        if ELSEWHERE in said:
            advice = f"This clone has left files at its remote; a git of your own fetches them: {READ_FIRST}"
        if self.lacks_memory:
            advice = (
                "A commit or folder here holds more than git gets memory for: name a smaller commit, or fewer files"
            )
        if any(words in said for words in _FULL):
            advice = "Free some space and do it again; everything stored before is intact"
        super().__init__(f"git {command} failed: {first}", advice=advice, command=command, status=status)


class ObjectDamaged(GitFailed):
    """git lacks an object that the repository needs, or has it damaged."""

    exit_status = StorageFailed.exit_status

    def __init__(self, command: str, status: int, said: str) -> None:
        super().__init__(command, status, said)
        self.advice = f"Fetch it from another clone. Before you run git in this one, {READ_FIRST}"


def explain_refusal(command: str, status: int, said: str) -> GitFailed:
    """Returns the failure that git's words mean."""
    import re  # only where git says no

    is_damage = ELSEWHERE not in said and re.search(_DAMAGE, said) is not None
    return (ObjectDamaged if is_damage else GitFailed)(command, status, said)


class GitTimedOut(Unreachable):
    """git did not end in the time allowed."""

    def __init__(self, command: str, seconds: float) -> None:
        advice = "See whether another git process holds the repository, then try again"
        super().__init__(f"git {command} did not end within {seconds:g} seconds", advice=advice)


class GitTooLarge(StorageFailed):
    """git printed more than is held in memory."""

    def __init__(self, command: str, limit: int) -> None:
        said = f"git {command} printed more than {limit} bytes, which is more than Postil holds"
        super().__init__(said, advice="Name fewer or smaller files", limit=limit)


class UnsafePath(InvalidArguments):
    """A path that would leave the workspace, or cannot name a file in it."""

    def __init__(self, path: str, why: str) -> None:
        shown = printable(path)
        super().__init__(f"{shown!r} {why}", advice="Give the path of a file inside the repository", path=shown)


class FileMissing(NotFound):
    """A file of the workspace that is not there."""

    def __init__(self, path: str) -> None:
        shown, advice = printable(path), "Check the spelling; paths are relative to the root of the repository"
        super().__init__(f"{shown} does not exist", advice=advice, path=shown)


class FileTooLarge(InvalidArguments):
    """A file over the limit of what is read into memory."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        shown, said = printable(path), f"{printable(path)} has {size} bytes; at most {limit} are read"
        super().__init__(said, advice="Use a smaller file", path=shown, size=size, limit=limit)


class FileUnreadable(StorageFailed):
    """A file that is there and cannot be read."""

    def __init__(self, path: str, why: str) -> None:
        shown, advice = printable(path), "Check the permissions of the file and of its folder"
        super().__init__(f"{shown} cannot be read: {why}", advice=advice, path=shown)


class WriteFailed(StorageFailed):
    """A file that could not be written; what was there before is untouched."""

    def __init__(self, path: str, why: str) -> None:
        advice = "Free some space or check the permissions, and try again; the old content is untouched"
        super().__init__(f"{printable(path)} cannot be written: {why}", advice=advice, path=printable(path))


class LockBusy(Conflict):
    """Another process holds a lock for longer than we are ready to wait."""

    def __init__(self, what: str, seconds: float) -> None:
        said = f"Another process has held {printable(what)} for {seconds:g} seconds"
        super().__init__(said, advice="Wait for it to end and try again")


def trust_command(path: str) -> str:
    """Returns the line that puts a path into the user's own settings."""
    return f"git config --global --add postil.trusted {_quote(printable(path))}"


def _quote(path: str) -> str:
    """Returns one word of a shell. (`shlex` costs an import.)"""
    plain = all(char.isalnum() or char in "/._-+@%" for char in path)
    return path if plain and path else "'" + path.replace("'", "'\\''") + "'"


def printable(path: str) -> str:
    """The path as text that can be shown and sent: bytes that are not UTF-8 become `\\xNN`."""
    try:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a surrogate that stands for no byte: it came in a JSON escape
        return path.encode("utf-8", "backslashreplace").decode()
