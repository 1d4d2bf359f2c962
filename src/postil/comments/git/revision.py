"""The comments that a revision held, in the places they had in its code. Reads git and the sidecars, writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from postil.comments.anchoring.reader import CommentReader
from postil.comments.anchoring.travel import LOST
from postil.comments.failures import FileAccessDenied, tell_problem
from postil.comments.git.blame import list_sidecars_at, require_revision
from postil.comments.git.file_names import find_new_name, list_old_names
from postil.comments.git.objects import read_objects
from postil.comments.git.recent_versions import RecentVersions
from postil.comments.git.submodules import CommittedTree, find_past, list_pasts
from postil.comments.model import Damage, Located, OtherFile
from postil.comments.operations.answers import CommentNow, comment_now
from postil.comments.search.filters import file_matches
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import Source, decode
from postil.comments.storage.store import SUFFIX, Store, is_sidecar, is_text
from postil.core import call, limits
from postil.workspace.digest import blob_id
from postil.workspace.git import read_blob
from postil.workspace.paths import RelativePath

if TYPE_CHECKING:
    from postil.comments.index.known_files import KnownFiles

AT_ONCE = 200
ELSEWHERE = "git names it, and has not got its content here"
TOGETHER = 8 * limits.MIB
"""Bytes of sources and sidecars that are held at once, unless they are of one file."""
MOST_FOLLOWED = 100
"""Files whose name at the commit is looked for in the history: each costs several processes."""


class AtRevision(NamedTuple):
    """Comments at a commit."""

    commit: str
    held: list[CommentNow]
    """What the commit itself held, as far as it is wanted; a page of it."""
    total: int
    """How much of it is wanted."""
    later: list[CommentNow]
    """Comments made since, where their code was then; the first of them."""
    made_since: int
    """How many of them there are."""
    without: int
    """How many more were made since, whose code was not there then."""
    among: int
    """How many of these files it held in all."""
    damaged: list[Damage]
    """Sidecars, of then or of now, that could not be read."""


def list_at(
    reader: CommentReader,
    revision: str,
    file: str,
    skip: int,
    limit: int,
    is_wanted: Callable[[CommentNow], bool],
    known_files: KnownFiles | None = None,
) -> AtRevision:
    """Returns the comments of a revision in these files: a page of those that it held, and the first of later ones.

    `known_files` knows in which other files their code may have been then. Raises NotFound for no such revision.
    """
    commit = require_revision(reader.tree, revision)
    pasts = list_pasts(reader.tree.root, commit.id)
    held, present = _choose_files(reader, pasts, file, known_files)
    find_name, find_old_name = _make_name_finder(), _make_old_name_finder()
    damaged: list[Damage] = []
    listed: list[CommentNow] = []
    known: set[str] = set()
    among = total = 0
    for past in pasts:
        then = _CommittedComments(reader, past, None, find_name, damaged, known_files)
        for each, others in then.read(_of(past, pasts, held)):
            known.add(each.id)
            if file and not _is_about(file, each, others):
                continue
            among += 1
            if is_wanted(each):
                total += 1
                if skip < total <= skip + limit:  # there may be very many: no more is held than is shown
                    listed.append(each)
    first: list[CommentNow] = []
    since = without = 0
    for past in pasts:
        today = _CommittedComments(reader, past, reader.store, find_old_name, damaged, known_files)
        for each, others in today.read(_of(past, pasts, present)):
            if each.id in known or not is_wanted(each) or (file and not _is_about(file, each, others)):
                continue
            if each.state == "orphaned":
                without += 1
                continue
            since += 1
            if since <= limit:
                first.append(each)
    named = [*{each.filePath: each for each in damaged}.values()]
    return AtRevision(commit.id, listed, total, first, since, without, among, named)


def _choose_files(
    reader: CommentReader, pasts: Sequence[CommittedTree], file: str, known_files: KnownFiles | None
) -> tuple[list[str], list[RelativePath]]:
    """Returns the files whose comments may be asked for: those that had some then, and those where some came since."""
    committed = {
        past.outside(name): blob for past in pasts for name, blob in list_sidecars_at(past.root, past.commit).items()
    }
    keepers = known_files.list_keepers(file) if file and known_files is not None else ()

    def may_hold(path: str) -> bool:
        return not file or path in keepers or file_matches(file, path)

    held = [
        name.removesuffix(SUFFIX)
        for name in committed
        if is_sidecar(name.rsplit("/", 1)[-1]) and is_text(name) and may_hold(name.removesuffix(SUFFIX))
    ]
    present = [
        path
        for path in reader.store.paths()
        if may_hold(path) and not _is_same(reader, path, committed.get(path + SUFFIX, ""))
    ]
    return held, present


def _is_about(file: str, each: CommentNow, others: Collection[str]) -> bool:
    """Whether a comment was in such a file, or is kept there; of one that was nowhere whether it is or was there."""
    paths = (each.filePath, each.path, *(others if each.state == "orphaned" else ()))
    return any(file_matches(file, path) for path in paths)


def list_lost_at(
    reader: CommentReader, commit: str, paths: Collection[str], changed: Iterable[str]
) -> set[tuple[str, str]]:
    """Returns the files and ids of those comments that a commit held in some files without their code, or in doubt.

    Where it had one of these files not yet: of those that changed and have no comment file any more the ids, too,
    without a file. They went along with their file.
    """
    lost: set[tuple[str, str]] = set()
    find_name, damaged = _make_name_finder(), list[Damage]()
    for past in list_pasts(reader.tree.root, commit) if paths else ():
        there = {past.outside(name) for name in list_sidecars_at(past.root, past.commit)}
        held = sorted(path for path in paths if path + SUFFIX in there)
        if len(held) < len(paths):
            left = {path for path in changed if path + SUFFIX in there and not reader.store.has(RelativePath(path))}
            held = [*held, *sorted(left.difference(held))]
        for each, _ in _CommittedComments(reader, past, None, find_name, damaged).read(held):
            if each.state in ("orphaned", "review"):
                lost.add((each.filePath if each.filePath in paths else "", each.id))
    return lost


def _make_name_finder() -> Callable[[CommittedTree, str], str]:
    """Returns what finds the name that a commit's file has in it; in the history it is looked for a few times."""
    left = iter(range(MOST_FOLLOWED))

    def find_name(past: CommittedTree, path: str) -> str:
        found = find_new_name(past.root, past.inside(path), past.commit) if next(left, None) is not None else ""
        return past.outside(found) if found else ""

    return find_name


def _make_old_name_finder() -> Callable[[CommittedTree, str], str]:
    """Returns what finds the name that a file of now had in a commit."""

    @cache
    def list_names(past: CommittedTree) -> dict[str, str]:  # asked once, and only where a file was not there
        return list_old_names(past.root, past.commit)

    def find_old_name(past: CommittedTree, path: str) -> str:
        found = list_names(past).get(past.inside(path), "")
        return past.outside(found) if found else ""

    return find_old_name


def _is_same(reader: CommentReader, path: RelativePath, blob: str) -> bool:
    """Whether a sidecar is what it was at the commit: nothing was said in it since."""
    try:
        data = reader.store.read_bytes(path) if blob else None
    except (FileAccessDenied, Unreadable):
        return False
    return data is not None and blob_id(data, reader.tree.id_width) == blob


def _of(past: CommittedTree, pasts: Sequence[CommittedTree], paths: Sequence[str]) -> Sequence[str]:
    """Returns those of some files that belong to a repository."""
    return [path for path in paths if find_past(pasts, path) is past] if len(pasts) > 1 else paths


class _CommittedComments:
    """Reads comments in the code of a commit; without a store, the comment files are the commit's own."""

    def __init__(
        self,
        reader: CommentReader,
        past: CommittedTree,
        store: Store | None,
        other_name: Callable[[CommittedTree, str], str],
        damaged: list[Damage],
        known_files: KnownFiles | None = None,
    ) -> None:
        self._reader, self._past, self._store, self._known_files = reader, past, store, known_files
        self._other_name = other_name
        """Says what a file that the commit does not have was called in it."""
        self._damaged = damaged
        """Gets the comment files that cannot be read."""
        self._recent = RecentVersions(reader.tree)

    def read(self, paths: Sequence[str]) -> Iterator[tuple[CommentNow, Sequence[str]]]:
        """Yields the comments of these files; with each that is lost the other files that it was looked for in."""
        past = self._past
        self._recent.expect(paths)
        for first in range(0, len(paths), AT_ONCE):
            call.current().check()
            call.current().progress(first, len(paths), f"reading {past.commit[:12]}")
            elsewhere = set[str]()
            for some, there, large in self._read_together(paths[first : first + AT_ONCE], elsewhere):
                self._damaged += [Damage(path, ELSEWHERE) for path in some if past.name(path) in elsewhere]
                yield from self._locate_some([path for path in some if past.name(path) not in elsewhere], there, large)

    def _read_together(
        self, paths: Sequence[str], elsewhere: set[str]
    ) -> Iterator[tuple[Sequence[str], dict[str, bytes], set[str]]]:
        """Yields some of the files, what the commit holds of them, and what is too large: as many as are held at once.

        `elsewhere` gets what it holds and a partial clone does not.
        """
        past = self._past
        large: set[str] = set()
        ends = ("",) if self._store else ("", SUFFIX)
        names = (f"{past.name(path)}{end}" for path in paths for end in ends)
        most = TOGETHER if len(paths) > 1 else 2 * limits.GIT_OBJECT
        there = read_objects(past.root, names, most=most, left_out=large, elsewhere=elsewhere)
        if large and len(paths) > 1:
            del there
            half = len(paths) // 2
            yield from self._read_together(paths[:half], elsewhere)
            yield from self._read_together(paths[half:], elsewhere)
        else:
            yield paths, there, large

    def _locate_some(
        self, paths: Sequence[str], there: Mapping[str, bytes], large: Collection[str]
    ) -> Iterator[tuple[CommentNow, Sequence[str]]]:
        reader, past, store = self._reader, self._past, self._store
        for path in paths:
            source, sidecar = past.name(path), past.name(path + SUFFIX)
            called, content = path, there.get(source)
            if content is None and source not in large and (other := self._other_name(past, path)):
                called, content = other, read_blob(past.root, past.name(other))
            try:
                if called != path and content is None:
                    raise Unreadable(ELSEWHERE)
                data = store.read_bytes(RelativePath(path)) if store else there.get(sidecar)
                if sidecar in large:
                    raise Unreadable("it is too large")
                if data is None and store is None:  # of a partial clone, or damaged
                    raise Unreadable(ELSEWHERE)
                apart = partial(_locate_apart, reader, path, past, called, present=store is not None)
                is_large = _is_large(data, content)
                located = apart() if is_large else _locate(reader, path, data, content, apart, self._recent)
                for found, others in self._look_elsewhere(located, data, content):
                    each = comment_now(found)
                    yield replace(each, movedTo=each.movedTo or called) if called != path else each, others
            except Unreadable as fault:
                self._damaged.append(Damage(path, str(fault)))
            except FileAccessDenied as fault:
                self._damaged.append(Damage(path, tell_problem(fault)))

    def _look_elsewhere(
        self, located: Iterable[Located], data: bytes | None, content: bytes | None
    ) -> Iterator[tuple[Located, Sequence[str]]]:
        """Yields some comments of a file; those that lost their code where it was in a file that is known to have it.

        With each the other files that are known.
        """
        past, known_files = self._past, self._known_files
        again: dict[str, tuple[Located, Sequence[str]]] = {}
        for each in located:
            others = known_files.list_of(each) if known_files is not None and each.place.state in LOST else ()
            if others and not _is_large(data, content):
                again[each.comment.id] = each, others
            else:
                yield each, others
        if not again:
            return
        path = next(each.filePath for each, _ in again.values())
        names = {past.name(other): other for _, others in again.values() for other in others}
        there = read_objects(past.root, names, largest=limits.HERE, most=TOGETHER) if not past.folder else {}
        elsewhere = [OtherFile(names[name], decode(text)) for name, text in there.items()]
        for found in _locate(self._reader, path, data, content, None, self._recent, elsewhere) if elsewhere else ():
            if found.comment.id in again:
                _, others = again[found.comment.id]
                if found.place.path in others:
                    again[found.comment.id] = found, others
        yield from again.values()


def _is_large(data: bytes | None, content: bytes | None) -> bool:
    return len(content or b"") > limits.HERE or len(data or b"") > limits.COMMENTS_HERE


def _locate_apart(
    reader: CommentReader, path: str, past: CommittedTree, called: str, *, present: bool
) -> Iterator[Located]:
    if past.folder:
        raise Unreadable(f"it is large, and in the submodule {past.folder}: ask there")
    from postil.comments.git.past_worker import TakesTooLong, locate_past  # only for large files

    try:
        return locate_past(reader.tree, path, past.commit, called, present)
    except TakesTooLong as fault:
        raise Unreadable(fault.message) from None


def locate_at(reader: CommentReader, path: str, commit: str, called: str, present: bool) -> list[Located]:
    """Returns the comments of a file in the code of a commit, which calls it `called`; with the sidecar of now or then.

    Raises Unreadable for a damaged sidecar.
    """
    root = reader.tree.root
    data = reader.store.read_bytes(RelativePath(path)) if present else read_blob(root, f"{commit}:{path}{SUFFIX}")
    return _locate(reader, path, data, read_blob(root, f"{commit}:{called}"))


def _locate(
    reader: CommentReader,
    path: str,
    data: bytes | None,
    content: bytes | None,
    apart: Callable[[], Iterable[Located]] | None = None,
    recent: RecentVersions | None = None,
    elsewhere: Sequence[OtherFile] = (),
) -> list[Located]:
    source = None
    if content is not None:
        source = Source(RelativePath(path), decode(content), blob_id(content, reader.tree.id_width))
    return reader.locate(Sidecar(path, data), source, elsewhere, apart and (lambda: [*apart()]), recent)
