"""Comparing large versions of the past in a process of its own, which the kernel ends when it takes too much.

The server itself compares what is small (`limits.HERE`). A worker reads the versions from git, compares them, answers
on standard output, which is a file without a name, and writes no other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from postil.anchor.syntax.languages import parse_everything_here
from postil.comments.anchoring.reader import CommentReader
from postil.comments.git.blame import list_touches
from postil.comments.git.culprits import Suspicion, find_culprits
from postil.comments.git.evaluate import follow_lines
from postil.comments.git.revision import locate_at
from postil.comments.index.notes import make_note
from postil.comments.index.refresh_worker import allow_time, limit_memory
from postil.comments.index.worker_answers import Read, read_answer, write_answer
from postil.comments.model import Located
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.comments.storage.move_journal import find_moved
from postil.comments.storage.store import Store
from postil.core import call, limits
from postil.core.failure import Failure
from postil.core.others.unreadable import UNREADABLE
from postil.workspace.failures import READ_FIRST
from postil.workspace.worker_process import start_worker

LONGEST = 10.0
"""Seconds of CPU for a question: a history may have 500 versions."""
LOOK_EVERY = 0.2
"""Seconds after which it is looked whether the caller has given up."""

What: TypeAlias = Literal["at", "touches", "culprit", "lines", "moved"]
_T = TypeVar("_T")


class Question(Struct, frozen=True):
    """A function of the past with its arguments, and the workspace it is about."""

    root: str
    cache_home: str
    cautious: bool
    what: str  # plain types only: the module that a worker runs is not found by its name
    arguments: bytes


class TakesTooLong(Failure):
    """Versions that take too much to be compared."""

    def __init__(self, path: str) -> None:
        advice = f"`git log --follow` shows them; before you run it, {READ_FIRST}"
        super().__init__(f"Comparing the versions of {path} takes too much time or memory", advice=advice)


def ask_past(tree: SourceTree, what: What, path: str, arguments: tuple[object, ...], of: type[_T]) -> _T:
    """Returns what a worker found. Raises TakesTooLong."""
    try:
        with _ask(tree, what, path, arguments) as said:
            return msgspec.msgpack.decode(said.read(limits.DOCUMENT), type=of)
    except UNREADABLE:
        raise TakesTooLong(path) from None


def locate_past(tree: SourceTree, path: str, commit: str, called: str, present: bool) -> Iterator[Located]:
    """Yields what `locate_at` found in a worker: there may be very many, and one is held. Raises TakesTooLong."""
    decode = msgspec.msgpack.Decoder(Located).decode
    with _ask(tree, "at", path, (commit, called, present)) as said:
        found = read_answer(said)
    if found is None:
        raise TakesTooLong(path)
    return (decode(note.body) for note in found.notes or ())


def _ask(tree: SourceTree, what: What, path: str, arguments: tuple[object, ...]) -> IO[bytes]:
    """Returns a file with what a worker said. Raises TakesTooLong."""
    import tempfile
    from subprocess import TimeoutExpired

    cache_home = os.path.abspath(tree.cache_home) if tree.cache_home else ""  # a worker has another cwd
    encode = msgspec.msgpack.encode
    asked = encode(Question(tree.root, cache_home, tree.cautious, what, encode((path, *arguments))))
    with ExitStack() as open_:
        try:
            said = open_.enter_context(tempfile.TemporaryFile())
            worker = start_worker("postil.comments.git.past_worker", said)
        except OSError:
            raise TakesTooLong(path) from None
        with worker:
            try:
                given: bytes | None = asked
                while True:
                    call.current().check()
                    try:
                        worker.communicate(given, LOOK_EVERY)
                        break
                    except TimeoutExpired:
                        given = None  # it was taken
            finally:
                worker.kill()
        said.seek(0)
        open_.pop_all()  # it stays open for who reads it
        return said


def main() -> None:
    """Answer one question."""
    question = msgspec.msgpack.decode(sys.stdin.buffer.read(limits.SMALL_FILE), type=Question)
    tree = SourceTree(question.root, question.cache_home, cautious=question.cautious)
    versions = FileVersions(tree)
    limit_memory()
    allow_time(LONGEST)
    parse_everything_here()
    decode = msgspec.msgpack.decode
    match question.what:
        case "at":
            arguments = decode(question.arguments, type=tuple[str, str, str, bool])
            located = locate_at(CommentReader(tree, Store(tree), versions), *arguments)
            write_answer(sys.stdout.buffer, Read(arguments[0], "", [make_note(each) for each in located]))
            return
        case "touches":
            found = list_touches(tree, versions, *decode(question.arguments, type=tuple[str, int, int, str, float]))
        case "lines":
            path, then, lines = decode(question.arguments, type=tuple[str, str, list[int]])
            found = follow_lines(tree, path, then, lines)
        case "moved":
            found = find_moved(
                CommentReader(tree, Store(tree), versions), *decode(question.arguments, type=tuple[str, str])
            )
        case _:
            _, asked = decode(question.arguments, type=tuple[str, list[Suspicion]])
            found = find_culprits(tree, versions, asked)
    sys.stdout.buffer.write(msgspec.msgpack.encode(found))


if __name__ == "__main__":
    main()
