"""The one way to run git: answers whole, as a stream, or as a dialogue.

Every call is hardened against the repository it runs in (hardening.py says how). Not here: what the output means.
"""

from __future__ import annotations

import os
import select
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader, RawIOBase
from typing import IO, TYPE_CHECKING

import msgspec

from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.disk import find_special, read_regular
from postil.workspace.failures import GitMissing, GitTimedOut, GitTooLarge, OddRepository, explain_refusal
from postil.workspace.hardening import GitMode, prepare, read_version, shares_new_files
from postil.workspace.repository import Repository, locate
from postil.workspace.spawn import LOOK_AFTER, TooMuchOutput, bound_memory, run

if TYPE_CHECKING:
    import subprocess

    from _typeshed import WriteableBuffer

TIMEOUT = 60.0
MOST_FOLDERS = 20_000
"""Folders that are looked into when git takes long."""
LOCAL = GitMode()
DURABLE = GitMode(durable=True)
NETWORK = GitMode(network=True, durable=True)


def check_repository(root: str) -> str:
    """Returns the folder in which git would find its objects and refs, for who needs no process to read or write them.

    Raises whatever keeps git itself from being started in this repository.
    """
    return prepare(root, ("for-each-ref",), None, LOCAL).environment["GIT_COMMON_DIR"]


def find_object_folder(root: str) -> str | None:
    """Returns where objects may be put as files of their own; None where the settings say how that is to be done.

    Those of another format, or for a group of users, only git writes. Raises as `check_repository` does.
    """
    common = check_repository(root)
    config = (read_regular(os.path.join(common, "config"), 2 * limits.CONFIG) or b"objectformat").lower()
    if b"objectformat" in config or b"sharedrepository" in config or shares_new_files(root):
        return None
    return os.path.join(common, "objects")


class GitResult(msgspec.Struct, frozen=True):
    """How git ended, for callers to whom a refusal is an answer."""

    status: int
    out: bytes
    err: bytes


def run_git(
    root: str,
    *arguments: str,
    input: bytes = b"",
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    mode: GitMode = LOCAL,
    largest: int = limits.GIT_OUTPUT,
) -> bytes:
    """What git printed; raises GitFailed when it ends with another status than 0."""
    result = try_git(root, *arguments, input=input, env=env, timeout=timeout, mode=mode, largest=largest)
    if result.status != 0:
        raise explain_refusal(_verb(arguments), result.status, result.err.decode("utf-8", "replace"))
    return result.out


def ask_git(root: str, *arguments: str, no: Collection[int] = (1,), timeout: float = TIMEOUT) -> bytes | None:
    """Returns what git printed, or None where it says no, by ending with one of some statuses.

    Raises GitFailed for any other: a program that failed, or was ended, says nothing.
    """
    result = try_git(root, *arguments, timeout=timeout)
    if result.status and result.status not in no:
        raise explain_refusal(_verb(arguments), result.status, result.err.decode("utf-8", "replace"))
    return None if result.status else result.out


def try_git(
    root: str,
    *arguments: str,
    input: bytes = b"",
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    mode: GitMode = LOCAL,
    largest: int = limits.GIT_OUTPUT,
) -> GitResult:
    """Run git and hand back how it ended, whatever that is. Raises GitTimedOut, GitTooLarge and GitMissing."""
    command = prepare(root, arguments, env, mode)
    try:
        return GitResult(*run(*command[:2], input, timeout, largest, partial(_refuse_special, root), command.memory))
    except FileNotFoundError as error:
        raise GitMissing from error
    except TimeoutError as error:
        raise GitTimedOut(_verb(arguments), timeout) from error
    except TooMuchOutput:
        raise GitTooLarge(_verb(arguments), largest) from None


def git_lines(root: str, *arguments: str, separator: bytes = b"\n", mode: GitMode = LOCAL) -> Generator[bytes]:
    """Yield the output line by line (or by NUL, with `-z`), for answers too large to hold.

    Leaving early ends git. Raises GitFailed at the end when git ends with another status than 0.
    """
    import tempfile  # only here: stderr goes to a file, so that a talkative git cannot fill a pipe nobody reads

    with tempfile.TemporaryFile() as said:
        with _start_git(root, arguments, mode, errors=said) as process:
            assert process.stdout is not None
            answers = BufferedReader(_Watched(process.stdout, root))
            rest = b""
            while chunk := answers.read(65536):
                *whole, rest = (rest + chunk).split(separator)
                yield from whole
                if len(rest) > limits.GIT_OBJECT:
                    raise GitTooLarge(_verb(arguments), limits.GIT_OBJECT)
            if rest:
                yield rest
            status = process.wait()
        if status != 0:
            said.seek(0)
            raise explain_refusal(_verb(arguments), status, said.read(65536).decode("utf-8", "replace"))


def list_rows(printed: bytes) -> Iterator[str]:
    """Yields what stands between NULs, one after another: a list of all would take several times its bytes."""
    at = 0
    while (end := printed.find(b"\0", at)) >= 0:
        yield printed[at:end].decode("utf-8", "surrogateescape")
        at = end + 1


@contextmanager
def git_dialogue(root: str, *arguments: str, mode: GitMode = LOCAL) -> Generator[tuple[IO[bytes], IO[bytes]]]:
    """A git that is asked and answers many times (`cat-file --batch`): its stdin, to be flushed, and its stdout."""
    with _start_git(root, arguments, mode) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin, BufferedReader(_Watched(process.stdout, root), 65536)


class _Watched(RawIOBase):
    """What a git says. Where that takes long, it is looked whether a FIFO holds it."""

    def __init__(self, answers: IO[bytes], root: str) -> None:
        self._answers, self._root = answers, root
        self._poll = select.poll()
        self._poll.register(answers, select.POLLIN)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._answers.fileno()

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        wait = LOOK_AFTER
        while not self._poll.poll(wait * 1000):
            _refuse_special(self._root)
            wait *= 2  # git works; looking takes time, too
        return os.readv(self.fileno(), [buffer])


def _refuse_special(root: str) -> None:
    """git waits for ever for a FIFO where it expects a file: name one that an archive brought. Raises OddRepository."""
    where = locate(root)
    if where is None:
        return
    found = find_special(where.common_dir, "", MOST_FOLDERS)
    if found is None and not where.git_dir.startswith(f"{where.common_dir}/"):
        found = find_special(where.git_dir, "", MOST_FOLDERS)
    if found is None and not where.bare:
        found = find_special(where.root, ".git", MOST_FOLDERS)
    if found is not None:
        raise OddRepository(found, "is not a regular file")


@contextmanager
def _start_git(
    root: str, arguments: tuple[str, ...], mode: GitMode, *, errors: IO[bytes] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """A running git, ended on leaving. With a file for its `errors` nobody talks to it."""
    import subprocess  # 8 ms, and most commands need no stream

    talks = errors is None
    command = prepare(root, arguments, None, mode)
    try:
        process = subprocess.Popen(
            command.words,
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if talks else errors,
            env=command.environment,
        )
    except FileNotFoundError as error:
        raise GitMissing from error
    bound_memory(process.pid, command.memory)
    try:
        yield process
    finally:
        process.kill()
        for stream in (process.stdout, process.stdin):
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
        process.wait()


def read_blob(root: str, name: str, largest: int = limits.GIT_OBJECT) -> bytes | None:
    """Returns the content of a blob (`<id>` or `<revision>:<path>`); None without such a one, or for a giant."""
    try:
        done = try_git(root, "cat-file", "blob", name, largest=largest)
    except GitTooLarge:
        return None
    return done.out if done.status == 0 else None


def change_config(repository: Repository, *arguments: str) -> GitResult:
    """Run `git config` on the repository's own file, which git never sees otherwise. Raises OddRepository."""
    file = os.path.join(repository.common_dir, "config")
    if os.path.islink(file):
        raise OddRepository(file, "is a link, so that a setting would be written elsewhere")
    return try_git(repository.root, "config", "--file", file, *arguments)


def read_git_version(folder: str) -> str:
    """Return git's version, such as 2.39.5; empty where there is no git. A damaged repository does not stop it."""
    try:
        said = read_version(folder)
    except Failure:
        return ""
    return said.strip().removeprefix("git version ").partition(" ")[0]


def _verb(arguments: tuple[str, ...]) -> str:
    return arguments[0] if arguments else ""
