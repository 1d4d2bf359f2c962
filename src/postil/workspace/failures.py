"""What can go wrong with a git workspace, each with what to do next."""

from __future__ import annotations

from postil.core.failure import Conflict, Failure, InvalidArguments, NotFound, StorageFailed, Unreachable


class NoRepository(NotFound):
    """There is no git repository here or above."""

    def __init__(self, start: str) -> None:
        super().__init__(
            f"No git repository at {printable(start)} or above it",
            advice="Change into a repository, or make one with `git init`",
        )


class DamagedRepository(StorageFailed):
    """A `.git` file that leads nowhere."""

    def __init__(self, link: str) -> None:
        super().__init__(
            f"{printable(link)} does not lead to a git directory",
            advice="Run `git worktree repair` or `git submodule update --init` and try again",
        )


class GitMissing(Unreachable):
    """The git program itself cannot be started."""

    def __init__(self) -> None:
        super().__init__("The git program was not found", advice="Install git and put it on PATH")


class GitFailed(Failure):
    """git ran and said no."""

    def __init__(self, command: str, status: int, said: str) -> None:
        self.status = status
        self.said = said
        first = said.strip().partition("\n")[0] or f"exit status {status}"
        super().__init__(
            f"git {command} failed: {first}",
            advice="Run the same git command in the repository to see all that it says",
            command=command,
            status=status,
        )


class GitTimedOut(Unreachable):
    """git did not end in the time allowed."""

    def __init__(self, command: str, seconds: float) -> None:
        super().__init__(
            f"git {command} did not end within {seconds:g} seconds",
            advice="See whether another git process holds the repository, then try again",
        )


class UnsafePath(InvalidArguments):
    """A path that would leave the workspace, or cannot name a file in it."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{printable(path)!r} {why}",
            advice="Give the path of a file inside the repository",
            path=printable(path),
        )


class FileMissing(NotFound):
    """A file of the workspace that is not there."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{printable(path)} does not exist",
            advice="Check the spelling; paths are relative to the root of the repository",
            path=printable(path),
        )


class FileTooLarge(InvalidArguments):
    """A file over the limit of what is read into memory."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(
            f"{printable(path)} has {size} bytes; at most {limit} are read",
            advice="Use a smaller file",
            path=printable(path),
            size=size,
            limit=limit,
        )


class FileUnreadable(StorageFailed):
    """A file that is there and cannot be read."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{printable(path)} cannot be read: {why}",
            advice="Check the permissions of the file and of its folder",
            path=printable(path),
        )


class WriteFailed(StorageFailed):
    """A file that could not be written; what was there before is untouched."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{printable(path)} cannot be written: {why}",
            advice="Free some space or check the permissions, and try again; the old content is untouched",
            path=printable(path),
        )


class LockBusy(Conflict):
    """Another process holds a lock for longer than we are ready to wait."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            f"Another process has held {printable(what)} for {seconds:g} seconds",
            advice="Wait for it to end and try again",
        )


def printable(path: str) -> str:
    """The path as text that can be shown and sent: bytes that are not UTF-8 become `\\xNN`."""
    try:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a surrogate that stands for no byte: it came in a JSON escape
        return path.encode("utf-8", "backslashreplace").decode()
