"""How a log is kept in git, and how it is read: what of it is new since a commit already read.

One commit a command: its message is `postil <position> <count> <clock>` and the events as lines of JSON. Every few
hundred events the tree gains a segment, a blob with the lines sealed so far, so that a reader who starts from
nothing reads few large blobs and a short tail of commits. The commits are the truth; segments repeat them. (A bulk
import writes segments only.) Nothing here knows what the lines mean.

A later format that this version must not read begins with `postil/<format>`; an event that it must not believe has a
greater `v`.
"""

from __future__ import annotations

import fcntl
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

import msgspec

from postil.core import call, limits
from postil.core.failure import StorageFailed
from postil.workspace.git import ask_git, git_dialogue

SEAL = 256
"""Events after which a segment is sealed."""
_PIPE = 1 << 20
_SHORT = 64
_NO = (1, 128)
"""How a git ends that does not find it: 128 where one of the commits is not here."""
"""A gap of so many commits is walked; a longer one is read from segments where they exist."""
_NUMBER = re.compile(r"[0-9]{1,15}\Z")
_ORIGIN = re.compile(rb"tree ([0-9a-f]{40,64})\n(?:parent ([0-9a-f]{40,64})\n)?(?:author |(parent ))")
"""What a commit names is an object and nothing else: git also takes names of refs, which may lead round in a circle."""


class LogDamaged(StorageFailed):
    """A log that cannot be read; `verify` says more."""

    lost = True
    """Whether something is missing here. Otherwise somebody wrote what no version of ours writes."""
    ended = False
    """Whether nothing more can be asked of the git that was asked for it."""

    def __init__(self, oid: str, why: str) -> None:
        super().__init__(
            f"The tracker's log is damaged at {oid[:12]}: {why}",
            advice="Run `git mile verify`; what other clones hold comes back with `git mile pull`",
            oid=oid,
        )


class LogRefused(LogDamaged):
    """A log that is not read because of what it is: too large, or nothing that the tracker writes."""

    lost = False

    def __init__(self, oid: str, why: str) -> None:
        super().__init__(oid, why)
        self.message = f"The log is not read at {oid[:12]}: {why}"
        self.advice = "Ask whoever writes it; `git mile verify` names all such logs"


class LogTooNew(LogRefused):
    """A log of a later format: nothing is wrong with it."""

    def __init__(self, oid: str, format_: str) -> None:
        super().__init__(oid, "")
        self.message = f"The tracker's log at {oid[:12]} has the format {format_}, which this version cannot read"
        self.advice = "Install a newer Postil; what it holds is kept"


def _end(fault: LogDamaged) -> LogDamaged:
    fault.ended = True
    return fault


class LogCommit(msgspec.Struct, frozen=True):
    """One commit of a log."""

    oid: str
    tree: str
    parent: str | None
    position: int
    count: int
    clock: int
    lines: bytes

    @property
    def end(self) -> int:
        """How many events the log has with this commit."""
        return self.position + self.count


class Segment(msgspec.Struct, frozen=True):
    """A sealed run of events."""

    position: int
    count: int
    oid: str

    @property
    def end(self) -> int:
        """The position after its last event."""
        return self.position + self.count


class Objects:
    """A conversation with `git cat-file --batch`."""

    def __init__(self, asked: IO[bytes], answered: IO[bytes]) -> None:
        self._asked, self._answered = asked, answered

    def read(self, oid: str) -> tuple[str, bytes]:
        """Returns the type and content of an object."""
        self.ask(oid)
        return self.answer(oid)

    def ask(self, *oids: str) -> None:
        """Ask for objects without waiting for them."""
        try:
            self._asked.write("".join(f"{oid}\n" for oid in oids).encode())
            self._asked.flush()
        except OSError as error:
            raise _end(LogDamaged(oids[0], "git stopped reading objects")) from error

    def answer(self, oid: str) -> tuple[str, bytes]:
        """Returns the next object asked for."""
        head = self._answered.readline().split()
        if len(head) != 3:
            raise LogDamaged(oid, "the object is missing") if head else _end(LogDamaged(oid, "git could not read it"))
        size = int(head[2])
        if size > limits.LOG_OBJECT:
            raise _end(LogRefused(oid, f"it has {size} bytes, and at most {limits.LOG_OBJECT} are read"))
        if size > limits.LARGE:
            call.hold(size)
        content = self._answered.read(size)
        if len(content) != size or not self._answered.read(1):
            raise _end(LogDamaged(oid, "git could not read it"))
        return head[1].decode(), content

    def commit(self, oid: str) -> LogCommit:
        """Returns a commit of a log."""
        kind, content = self.read(oid)
        if kind != "commit":
            raise LogRefused(oid, f"a {kind} where a commit belongs")
        return parse_commit(oid, content)

    def segments(self, tree: str) -> list[Segment]:
        """Returns the segments of a tree, in order."""
        found: list[Segment] = []
        shelves = 0
        for name, oid in self._entries(tree):
            if name == "seg":
                for _, shelf in self._entries(oid):
                    for entry, blob in self._entries(shelf):
                        position, _, count = entry.partition("-")
                        if _NUMBER.match(position) and _NUMBER.match(count):
                            found.append(Segment(int(position), int(count), blob))
                    shelves += 1
                    if max(len(found), shelves) > limits.LOG_SEGMENTS:
                        raise LogRefused(tree, f"it has more than {limits.LOG_SEGMENTS} segments")
        if len({segment.oid for segment in found}) < len(found):
            raise LogRefused(tree, "a segment stands in it twice")
        return sorted(found, key=lambda segment: segment.position)

    def blobs(self, oids: list[str]) -> Iterator[bytes]:
        """Yields many blobs, asked for ahead so that git reads while we work."""
        ahead = 32
        if oids:
            self.ask(*oids[:ahead])
        for i, oid in enumerate(oids):
            content = self.segment(oid)
            if i + ahead < len(oids):
                self.ask(oids[i + ahead])
            yield content

    def segment(self, oid: str) -> bytes:
        """Returns the lines of the segment asked for next."""
        kind, content = self.answer(oid)
        if kind != "blob":
            raise LogRefused(oid, f"a {kind} where a segment belongs")
        return content

    def _entries(self, tree: str) -> list[tuple[str, str]]:
        kind, content = self.read(tree)
        if kind != "tree":
            raise LogRefused(tree, f"a {kind} where a tree belongs")
        try:
            return list(parse_tree(content, len(tree) // 2))
        except ValueError as error:
            raise LogRefused(tree, "it is no tree") from error


@contextmanager
def open_objects(root: str) -> Generator[Objects]:
    """Git's objects, for as long as they are needed."""
    with git_dialogue(root, "cat-file", "--batch") as (asked, answered):
        with suppress(OSError, AttributeError):  # several segments at a time: each change of the process costs
            fcntl.fcntl(answered, fcntl.F_SETPIPE_SZ, _PIPE)
        yield Objects(asked, answered)


def parse_commit(oid: str, content: bytes) -> LogCommit:
    """Returns the parts of a log's commit."""
    head, _, message = content.partition(b"\n\n")
    title, _, lines = message.partition(b"\n\n")
    words = title.split()
    origin = _ORIGIN.match(head)
    if origin is None or len({len(origin[1]), len(origin[2] or origin[1]), len(oid or origin[1])}) > 1:
        raise LogRefused(oid, "its tree and what came before it are not named as git names them")
    if origin[3]:
        raise LogRefused(oid, "a merge inside a log")
    tree, parent = origin[1].decode(), origin[2].decode() if origin[2] else None
    if words and words[0].startswith(b"postil/"):
        raise LogTooNew(oid, words[0].removeprefix(b"postil/")[:20].decode("utf-8", "replace"))
    if len(words) != 4 or words[0] != b"postil" or not all(word.isdigit() and len(word) < 16 for word in words[1:]):
        raise LogRefused(oid, "its message is not one of the tracker's")
    return LogCommit(oid, tree, parent, int(words[1]), int(words[2]), int(words[3]), lines)


def parse_tree(content: bytes, width: int) -> Iterator[tuple[str, str]]:
    """Yields the (name, object) pairs of a raw tree. Raises ValueError where it is none."""
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        name = content[at:end].partition(b" ")[2].decode("utf-8", "replace")
        if end + width >= len(content):
            raise ValueError("the name of an object is cut off")
        yield name, content[end + 1 : end + 1 + width].hex()
        at = end + 1 + width


class Unread(msgspec.Struct, frozen=True):
    """What a log has that is not known yet: segments still to be read, then commits. Some of it may be known."""

    segments: list[Segment] = []
    commits: list[LogCommit] = []


def find_unread(root: str, git: Objects, tip: LogCommit, known: tuple[str, int] | None) -> Unread | None:
    """Returns what came after a known (commit, end); None when the tip does not descend from it.

    Without a known commit: all of the log.
    """
    since, start = known or ("", 0)
    tail: list[LogCommit] = []
    size, at = 0, tip
    segments = git.segments(tip.tree) if tip.end - start > _SHORT else []
    sealed = segments[-1].end if segments else 0
    while at.oid != since and at.end > max(start, sealed):
        tail.append(at)
        size += len(at.lines)
        if size > limits.LOG_TAIL:
            raise LogRefused(at.oid, f"commits before it hold more than {limits.LOG_TAIL} bytes that are in no segment")
        if at.parent is None:
            break
        at = git.commit(at.parent)
    tail.reverse()
    walked = at.oid == since or (not since and bool(tail) and tail[0].parent is None)
    if since and not walked and not is_ancestor(root, since, tip.oid):
        return None
    # A bulk import's commits carry no lines: those are in its segments.
    if walked and all(commit.lines or not commit.count for commit in tail):
        return Unread(commits=tail)
    segments = [segment for segment in segments or git.segments(tip.tree) if segment.end > start]
    sealed = segments[-1].end if segments else 0
    return Unread(segments, [commit for commit in tail if commit.end > sealed])


def read_runs(root: str, new: Unread) -> Iterator[bytes]:
    """Yields its lines, run by run, in the order of the log."""
    if new.segments:
        with open_objects(root) as git:
            yield from git.blobs([segment.oid for segment in new.segments])
    for commit in new.commits:
        yield commit.lines


def read_whole_log(root: str, tip: str) -> list[bytes]:
    """Returns the lines of a whole log, as a reader who starts from nothing gets them. Raises LogDamaged."""
    with open_objects(root) as git:
        return _read_all_lines(root, git, tip)


def read_whole_logs(root: str, tips: Iterable[str]) -> Iterator[tuple[str, list[bytes] | None]]:
    """Yields the lines of many logs, of small ones with one git for all; None for one that cannot be read whole."""
    left = list(dict.fromkeys(tips))[::-1]
    while left:
        with open_objects(root) as git:
            while left:
                tip = left.pop()
                try:
                    lines = _read_all_lines(root, git, tip)
                except LogDamaged:
                    yield tip, None
                    break  # the conversation may have ended with it
                yield tip, lines


def _read_all_lines(root: str, git: Objects, tip: str) -> list[bytes]:
    unread = find_unread(root, git, git.commit(tip), None) or Unread()
    return [line for run in read_runs(root, unread) for line in run.split(b"\n") if line]


def find_uncopied(root: str, ends: Iterable[str], others: Iterable[str]) -> set[str]:
    """Returns those of some logs, by their ends, that have lines which stand in none of the others. All read once."""
    found: set[str] = set()
    held: dict[str, set[bytes]] = {}
    for oid, lines in read_whole_logs(root, ends):
        if lines is None:
            found.add(oid)
        else:
            held[oid] = set(lines)
    missing = set[bytes]().union(*held.values())
    for _, lines in read_whole_logs(root, others if missing else ()):
        missing.difference_update(lines or ())
        if not missing:
            break
    return found | {oid for oid, lines in held.items() if lines & missing}


def is_ancestor(root: str, one: str, other: str) -> bool:
    """Returns whether one commit is in the history of another; one that is not here is in none."""
    return ask_git(root, "merge-base", "--is-ancestor", one, other, no=_NO) is not None


def find_merge_base(root: str, one: str, other: str) -> str:
    """Returns the commit that two histories have in common; empty when they have none."""
    return (ask_git(root, "merge-base", one, other, no=_NO) or b"").decode().strip()
