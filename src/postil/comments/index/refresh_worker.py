"""Reading many files at once and locating their comments, in processes of their own.

After a pull hundreds of files may have changed, and the anchoring engine needs a processor for each. A worker reads on
standard input which files it has to read, answers on standard output file by file, and ends with its parent. It writes
no file.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from postil.anchor.syntax.languages import parse_everything_here
from postil.comments.anchoring.line_holders import LineHolders
from postil.comments.anchoring.locate import PresentSource, locate_comments, place_by_number
from postil.comments.anchoring.reader import CommentReader, list_past, list_versions
from postil.comments.failures import SidecarDamaged, tell_problem
from postil.comments.index.fit import fit
from postil.comments.index.notes import TooLarge, make_note, tell_caution
from postil.comments.index.worker_answers import Read, read_answer, write_answer
from postil.comments.model import Located
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.comments.storage.store import SUFFIX, Store
from postil.core import limits
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath
from postil.workspace.worker_process import start_worker

if TYPE_CHECKING:
    from subprocess import Popen

ENOUGH = 80
"""With fewer files no second process is started."""
WORTH = 0.4
"""Seconds of reading that are left where workers pay for their start, of which each needs about a tenth of a second."""
FIRST = 4
"""Files that are read before it is judged how long the others will take."""
MOST_WORKERS = 8
PIECE = 50
"""So many files are read before their comments are located: git is asked for their old versions together."""
COLLECTED, LARGE_COLLECTED = 25, 5
"""Files after which a worker collects what it no longer needs."""
LARGEST_PIECE = 1 * limits.MIB
"""Characters of sources that are read before."""
LARGEST_OTHER = 4 * limits.MIB
"""A file in which a worker looks for code that a large one has lost."""
MOST_VERSIONS = 8 * limits.MIB
"""Bytes of their old versions that are held at once."""
LONGEST, MOST_LONGER, LARGEST = 2.0, 18.0, 384 * limits.MIB
"""Seconds of CPU and bytes of memory for a file that is large or has large versions; with very many comments more."""
SECONDS_A_BYTE = 8e-6
LONGEST_SEARCH = 15.0
"""Seconds of CPU for looking which other files hold what one has lost: the first time, all that changed are read."""
TOO_DEAR = "comparing it with the version it was written on takes too long"
TOO_LARGE = f"a comment in it has more than {limits.COMMENT >> 20} MB beside its text"
MOST_QUEUED = 20
"""Files that were read and are not kept yet."""
LONGER_PAST = 5.0
"""Seconds of CPU more for a large file whose versions in between are looked at, too."""


Past: TypeAlias = dict[str, list[tuple[str, str]]]
"""For versions of a file that its comments were made on, the commits since and what they made of it, oldest first."""
NO_PAST: Mapping[str, Past] = {}


class Job(Struct, frozen=True):
    """The share of a worker: files, and what was in each when it was read before."""

    root: str
    cache_home: str
    paths: list[str]
    known: dict[str, str]
    cautious: bool = False
    limited: bool = False
    """Whether each file may take LONGEST and LARGEST only: the worker ends where one takes more."""
    plain: bool = False
    """Whether nothing is compared: comments stay where their markers say, for a person to look at."""
    past: dict[str, dict[str, list[tuple[str, str]]]] = {}  # plain types only: its module is not found by its name
    """What is known of the versions in between."""


def read_many(
    reader: CommentReader, paths: Sequence[str], known: Mapping[str, str], past: Mapping[str, Past] = NO_PAST
) -> Iterator[Read]:
    """Yields files and their comments in their places, in any order; several processes read when there are enough.

    `past` are versions in between that are looked at, too. Of large files a worker asks itself.
    """
    large = dict.fromkeys(path for path in paths if _is_large(reader.tree, path))
    small = [path for path in paths if path not in large] if large else paths
    rest = yield from _read_while_quick(reader, small, known, large, past)
    left = dict.fromkeys(rest)
    if rest:
        workers = _count_workers(len(rest))
        jobs = [_make_job(reader.tree, rest[number::workers], known, past) for number in range(workers)]
        for read in _run_workers(jobs):
            left.pop(read.path, None)
            yield read
    # A worker that could not do it (no memory, no process) costs time, not an answer.
    yield from read_files(reader, list(left), known, large, past)
    yield from read_apart(reader, list(large), known)


def _read_while_quick(
    reader: CommentReader,
    paths: Sequence[str],
    known: Mapping[str, str],
    large: dict[str, None],
    past: Mapping[str, Past],
) -> Generator[Read, None, Sequence[str]]:
    """Yields files that this process reads: all of them, unless those before show that workers pay. Returns the rest.

    Files that hold what their comments were written on take a hundredth of the time of others.
    """
    done, spent = 0, 0.0
    while done < len(paths):
        left = len(paths) - done
        if done and spent / done * left > WORTH and _count_workers(left) >= 2:
            break
        piece = paths[done : done + min(max(FIRST, done), PIECE)]
        reads = read_files(reader, piece, known, large, past)
        while True:
            began = time.thread_time()  # of our own work, however busy the machine is
            read = next(reads, None)
            spent += time.thread_time() - began
            if read is None:
                break
            yield read
        done += len(piece)
    return paths[done:]


def _count_workers(files: int) -> int:
    return min(MOST_WORKERS, os.cpu_count() or 1, files // (ENOUGH // 2))


def _make_job(
    tree: SourceTree,
    paths: Sequence[str],
    known: Mapping[str, str],
    past: Mapping[str, Past] = NO_PAST,
    *,
    limited: bool = False,
    plain: bool = False,
) -> Job:
    cache_home = os.path.abspath(tree.cache_home) if tree.cache_home else ""  # a worker has another cwd
    held = {path: known[path] for path in paths if path in known}
    between = {path: past[path] for path in paths if path in past}
    return Job(tree.root, cache_home, list(paths), held, tree.cautious, limited, plain, between)


def _is_large(tree: SourceTree, path: str) -> bool:
    """Whether a file or its comments are too large to be compared by this process."""
    return tree.size(path) > limits.HERE or tree.size(path + SUFFIX) > limits.COMMENTS_HERE


def read_apart(reader: CommentReader, paths: Sequence[str], known: Mapping[str, str]) -> Iterator[Read]:
    """Yields files that are read by a worker, because they may take much time or memory.

    Where one takes too much, the worker ends: its comments stay where they were last, for a person to look at, and
    another worker reads the rest.
    """
    left: list[str] = list(paths)
    while left:
        workers = max(1, _count_workers(len(left)))
        parts = [left[number::workers] for number in range(workers)]
        done: set[str] = set()
        for read in _run_workers([_make_job(reader.tree, part, known, limited=True) for part in parts]):
            done.add(read.path)
            yield read
        for path in filter(None, [next((each for each in part if each not in done), "") for part in parts]):
            plain = _make_job(reader.tree, [path], {}, limited=True, plain=True)
            yield next(_run_workers([plain]), Read(path, problem=f"reading it takes more than {LARGEST >> 20} MB"))
            done.add(path)
        left = [each for each in left if each not in done]


def locate_apart(reader: CommentReader, path: str) -> list[Located]:
    """Returns the comments of one large file in their places."""
    decode = msgspec.msgpack.Decoder(Located).decode
    found: list[Located] = []
    for read in read_apart(reader, [path], {}):
        if read.problem:
            raise SidecarDamaged(path, read.problem)
        found += [decode(note.body) for note in read.notes or ()]
    return found


def read_files(
    reader: CommentReader,
    paths: Sequence[str],
    known: Mapping[str, str],
    large: dict[str, None],
    past: Mapping[str, Past] = NO_PAST,
) -> Iterator[Read]:
    """Yields the same, read by this process; `large` gets those that are left to a worker."""
    held: list[_Held] = []
    size = 0
    for path in paths:
        try:
            each = _hold(reader, RelativePath(path), known.get(path, ""), past.get(path, {}))
            if each is None:
                yield Read(path, known[path], None)
            elif len(each.now.lines) > limits.LINES_HERE:
                large[path] = None
            else:
                held.append(each)
                size += len(each.now.text)
        except Failure as fault:
            yield Read(path, problem=tell_problem(fault))
        if len(held) >= PIECE or size >= LARGEST_PIECE:
            yield from _locate_held(reader, held, large)
            held, size = [], 0
    yield from _locate_held(reader, held, large)


class _Held(NamedTuple):
    """A file that was read, and whose comments are to be located."""

    sidecar: Sidecar
    now: PresentSource
    content: str


def _hold(reader: CommentReader, path: RelativePath, before: str, past: Past) -> _Held | None:
    """Returns a file with its comments; None when it holds what it held before."""
    data, source = reader.store.read_bytes(path), reader.tree.source_or_none(path)
    ask = partial(list_past, reader.versions, past, len(source.text)) if past and source else None
    now = PresentSource(path, source, cautious=reader.tree.cautious, list_between=ask)
    digest = hashlib.sha1(data or b"", usedforsecurity=False).hexdigest()
    content = f"{digest} {now.blob}{tell_caution(now.cautious)}"
    return _Held(reader.store.parse(path, data), now, content) if content != before else None


def _locate_held(reader: CommentReader, held: Sequence[_Held], large: dict[str, None]) -> Iterator[Read]:
    texts = _read_versions(reader, held, large)
    for each in held:
        if each.sidecar.path not in large:
            yield _make_read(each, locate_comments(each.sidecar, each.now, texts))


def _read_versions(reader: CommentReader, held: Sequence[_Held], large: dict[str, None]) -> dict[str, str]:
    """Returns the versions that comments were written on; `large` gets the files that have large ones."""
    wanted = {each.sidecar.path: list_versions(each.sidecar, each.now) for each in held}
    if not any(wanted.values()):
        return {}
    left_out: set[str] = set()
    asked = (blob for some in wanted.values() for blob in some)
    texts = reader.versions.read(asked, limits.HERE, MOST_VERSIONS, left_out)
    left_out.update(blob for blob, text in texts.items() if text.count("\n") > limits.LINES_HERE)
    large |= dict.fromkeys(path for path, some in wanted.items() if some & left_out)
    return texts


def _make_read(each: _Held, located: list[Located], *, searched: bool = False) -> Read:
    lost = [one for one in located if one.place.state in ("orphaned", "review")]
    if searched:  # nobody looks for them again: one says that there are some
        lost = [fit(one) for one in lost[:1]]
    try:
        notes = [make_note(one) for one in located]
    except TooLarge:
        return Read(each.sidecar.path, problem=TOO_LARGE)
    versions = frozenset(list_versions(each.sidecar, each.now))
    return Read(each.sidecar.path, each.content, notes, lost, searched=searched, versions=versions)


def _read_large(reader: CommentReader, path: str, known: Mapping[str, str], changed: LineHolders) -> Read:
    """Returns a large file, and looks in other files for what it has lost."""
    seconds = _measure_time(reader.tree, path) + LONGER_PAST
    allow_time(seconds)
    try:
        each = _hold(reader, RelativePath(path), known.get(path, ""), {})
    except Failure as fault:
        return Read(path, problem=tell_problem(fault))
    if each is None:
        return Read(path, known[path], None)
    each = each._replace(now=reader.open(path, each.now.source))
    texts = reader.old_texts([(each.sidecar, each.now)])
    located = locate_comments(each.sidecar, each.now, texts)
    if lost := [one for one in located if one.marker and one.place.state in ("orphaned", "review")]:
        from postil.comments.anchoring.inner_repositories import find_in_all  # only where code was lost

        allow_time(LONGEST_SEARCH)
        elsewhere = find_in_all(reader.tree, lost, reader.versions, changed).get(path)
        allow_time(seconds)
        if elsewhere:
            located = locate_comments(each.sidecar, each.now, texts, elsewhere)
    return _make_read(each, located, searched=True)


def _measure_time(tree: SourceTree, path: str) -> float:
    """Returns the seconds of CPU that a file may take."""
    return LONGEST + min(MOST_LONGER, SECONDS_A_BYTE * tree.size(path + SUFFIX))


def list_large(reader: CommentReader, paths: Sequence[str]) -> list[str]:
    """Returns the files that this process does not compare with the versions that their comments were written on."""
    large = dict.fromkeys(path for path in paths if _is_large(reader.tree, path))
    small = [path for path in paths if path not in large]
    for at in range(0, len(small), PIECE):
        held: list[_Held] = []
        for path in small[at : at + PIECE]:
            with suppress(Failure):
                each = _hold(reader, RelativePath(path), "", {})
                held += [each] if each else []
        _read_versions(reader, held, large)
    return list(large)


def _run_workers(jobs: Sequence[Job]) -> Iterator[Read]:
    import threading  # these only where many files changed
    from queue import Empty, Queue

    heard: Queue[Read | None] = Queue(MOST_QUEUED)  # a worker waits until its answers are kept

    def ask(worker: Popen[bytes], job: Job) -> None:
        assert worker.stdin is not None
        assert worker.stdout is not None
        with worker.stdout as answers:
            with suppress(OSError), worker.stdin as pipe:
                pipe.write(msgspec.msgpack.encode(job))
            while (read := read_answer(answers)) is not None:
                heard.put(read)
        heard.put(None)

    workers: list[Popen[bytes]] = []
    listening: list[threading.Thread] = []
    try:
        for job in jobs:
            with suppress(OSError):
                workers.append(start_worker("postil.comments.index.refresh_worker"))
                listening.append(threading.Thread(target=ask, args=(workers[-1], job), daemon=True))
                listening[-1].start()
        left = len(workers)
        while left:
            read = heard.get()
            if read is None:
                left -= 1
            else:
                yield read
    finally:
        for worker, listener in zip(workers, listening, strict=True):
            worker.kill()  # one that has done its work is gone already
            while listener.is_alive():
                with suppress(Empty):
                    heard.get(timeout=0.01)
            worker.wait()


def main() -> None:
    """Answer one share of the work."""
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    tree = SourceTree(job.root, job.cache_home, cautious=job.cautious)
    reader = CommentReader(tree, Store(tree), FileVersions(tree))
    if not job.limited:
        _answer(read_and_collect(reader, job.paths, job.known, job.past))
        return
    limit_memory()
    parse_everything_here()
    _collect_by_hand()
    changed = LineHolders(tree, LARGEST_OTHER)  # read once for all files of this worker
    for number, path in enumerate(job.paths, 1):
        _answer([_read_plain(reader, path) if job.plain else _read_large(reader, path, job.known, changed)])
        if number % LARGE_COLLECTED == 0:
            gc.collect()


def _answer(reads: Iterable[Read]) -> None:
    for read in reads:
        write_answer(sys.stdout.buffer, read)


def read_and_collect(
    reader: CommentReader, paths: Sequence[str], known: Mapping[str, str], past: Mapping[str, Past] = NO_PAST
) -> Iterator[Read]:
    """Yields small files; large ones are not answered, and asked of another worker.

    What was compared refers to itself and stays in memory, a megabyte a file, until it is collected: that is done after
    some files, and not whenever Python thinks.
    """
    _collect_by_hand()
    for at in range(0, len(paths), COLLECTED):
        yield from read_files(reader, paths[at : at + COLLECTED], known, {}, past)
        gc.collect()


def _collect_by_hand() -> None:
    gc.freeze()  # what is here now stays, and is not looked at again
    gc.disable()


def _read_plain(reader: CommentReader, path: str) -> Read:
    allow_time(_measure_time(reader.tree, path))
    try:
        located = place_by_number(reader.store.read(RelativePath(path)), TOO_DEAR)
        return Read(path, "", [make_note(each) for each in located])
    except Failure as fault:
        return Read(path, problem=tell_problem(fault))
    except TooLarge:
        return Read(path, problem=TOO_LARGE)


def limit_memory() -> None:
    """Let this process hold LARGEST, and complain to nobody; then it ends."""
    import resource

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)  # whoever gets no memory complains
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (LARGEST, LARGEST))


def allow_time(seconds: float) -> None:
    """Let this process use so much CPU from now on; then it ends."""
    import resource

    used, hard = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = round(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
