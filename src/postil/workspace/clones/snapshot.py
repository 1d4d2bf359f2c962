"""A snapshot of what Postil keeps in a workspace: a commit whose tree holds the comment files, and whose text the refs.

Each snapshot is a child of the one before it, and of every new end of a log that it names: so whoever fetches one has
all of them. Not here: who may make one (storage/postgresql/postgres_leases.py).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import suppress

from msgspec import Struct

from postil.core import limits
from postil.workspace.failures import GitFailed, GitTooLarge
from postil.workspace.git import DURABLE, ask_git, git_dialogue, git_lines, run_git

SUFFIX = ".comments"
LOGS = "refs/postil/log/"
_SOURCE = "source "
_REF = "ref "


class Snapshot(Struct, frozen=True):
    """What was recorded."""

    commit: str = ""
    source: str = ""
    """The commit of the served branch that the files stood beside."""
    refs: Mapping[str, str] = {}
    """The logs of issues, and where each ended."""
    files: Mapping[str, str] = {}
    """The comment files, each with the name of its blob."""


def read_snapshot(root: str, commit: str) -> Snapshot:
    """Returns the snapshot that a commit is. Raises GitFailed where it is not there."""
    text = run_git(root, "cat-file", "commit", commit).decode("utf-8", "replace").partition("\n\n")[2]
    source, refs = "", dict[str, str]()
    for line in text.splitlines():
        if line.startswith(_SOURCE):
            source = line.removeprefix(_SOURCE)
        elif line.startswith(_REF):
            oid, _, ref = line.removeprefix(_REF).partition(" ")
            refs[ref] = oid
    return Snapshot(commit, source, refs, list_blobs(root, commit))


def list_blobs(root: str, commit: str) -> dict[str, str]:
    """Returns the comment files of a commit, each with the name of its blob; a link or a folder has none.

    Raises GitTooLarge for one of very many files: a few folders that name each other hold a thousand million.
    """
    found: dict[str, str] = {}
    size = 0
    for entry in git_lines(root, "ls-tree", "-r", "-z", "--full-tree", commit, separator=b"\0"):
        size += len(entry)
        if size > limits.GIT_OUTPUT:
            raise GitTooLarge("ls-tree", limits.GIT_OUTPUT)
        facts, _, name = entry.partition(b"\t")
        mode, _, rest = facts.partition(b" ")
        if name.endswith(SUFFIX.encode()):
            is_file = mode in (b"100644", b"100755")
            found[os.fsdecode(name)] = rest.partition(b" ")[2].decode("ascii") if is_file else ""
    return found


def list_files(root: str) -> list[str]:
    """Returns the comment files of the work tree, tracked or not, that can be read: no links, and no giants."""
    listed = run_git(root, "ls-files", "-z", "--ignored", "--cached", "--others", "--exclude", f"*{SUFFIX}")
    names = dict.fromkeys(os.fsdecode(name) for name in listed.split(b"\0") if name)
    return [name for name in names if _can_be_read(os.path.join(root, name))]


def _can_be_read(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= limits.FILE


def list_refs(root: str) -> dict[str, str]:
    """Returns the logs that are written in this clone, and where each ends."""
    listed = run_git(root, "for-each-ref", "--format=%(objectname) %(refname)", LOGS)
    pairs = (line.partition(" ") for line in listed.decode("utf-8", "replace").splitlines())
    return {ref: oid for oid, _, ref in pairs}


def read_sizes(root: str, names: Collection[str]) -> dict[str, int]:
    """Returns how large blobs are, without giants. Raises GitFailed where one is missing."""
    asked = sorted(filter(None, names))
    told = run_git(root, "cat-file", "--batch-check", input="".join(f"{name}\n" for name in asked).encode("ascii"))
    found: dict[str, int] = {}
    for name, line in zip(asked, told.splitlines(), strict=True):
        size = line.rpartition(b" ")[2]
        if not size.isdigit():
            raise GitFailed("cat-file", 1, f"{name} is missing")
        if int(size) <= limits.FILE:
            found[name] = int(size)
    return found


def read_blobs(root: str, names: Collection[str]) -> Generator[bytes | None]:
    """Yields the content of blobs that are there, one after the other: nobody holds all of them. None for a giant."""
    if not names:
        return
    with git_dialogue(root, "cat-file", "--batch") as (ask, answer):
        for name in names:
            ask.write(name.encode("ascii") + b"\n")
            ask.flush()
            head = answer.readline(1024).split()
            if len(head) != 3:
                raise GitFailed("cat-file", 1, f"{name} is missing")
            left = int(head[2])
            if left <= limits.FILE:
                yield answer.read(left)
            else:
                while left > 0:
                    left -= len(answer.read(min(left, 1 << 20))) or left
                yield None
            answer.read(1)


def write_snapshot(
    root: str, before: Snapshot, changed: Iterable[tuple[str, bytes | None]], refs: Mapping[str, str], ref: str, by: str
) -> str:
    """Make the snapshot that follows `before`. Returns its commit.

    `ref` is moved to it. A changed file without content is removed. Each is sent to git before the next one is asked
    for: nobody holds all of them.
    """
    lines = [f"{_SOURCE}{before.source}", *(f"{_REF}{oid} {name}" for name, oid in sorted(refs.items()))]
    said = "\n".join(["Postil: a change of the workspace", "", *lines, ""]).encode()
    who = "".join(letter for letter in by if letter.isprintable() and letter not in "<>")[:100] or "postil"
    out = [b"commit %s\nmark :1\ncommitter %s <> now\ndata %d\n%s" % (ref.encode(), who.encode(), len(said), said)]
    parents = ([before.commit] if before.commit else []) + _new_ends(before.refs, refs)
    out += [b"%s %s\n" % (b"merge" if n else b"from", oid.encode()) for n, oid in enumerate(parents)]
    if not before.commit:
        out.append(b"deleteall\n")  # the first parent may be the end of a log, whose files are none of ours
    with git_dialogue(root, "fast-import", "--quiet", "--force", "--date-format=now", mode=DURABLE) as (ask, answer):
        with suppress(BrokenPipeError):  # it has ended, and made nothing
            ask.writelines(out)
            for name, content in changed:
                quoted = _quote(name)
                if content is None:
                    ask.write(b"D %s\n" % quoted)
                else:
                    ask.write(b"M 100644 inline %s\ndata %d\n" % (quoted, len(content)))
                    ask.write(content)
                    ask.write(b"\n")
            ask.write(b"get-mark :1\ndone\n")
            ask.flush()
        made = answer.read(256).strip().decode("ascii")  # until it ends: then all is safe on the disk
    if not made or find_commit(root, ref) != made:
        raise GitFailed("fast-import", 1, "the snapshot was not made")
    return made


def set_refs(root: str, wanted: Mapping[str, str]) -> None:
    """Make the logs of this clone these, and no others."""
    present = list_refs(root)
    commands = [f"update {ref}\0{oid}\0\0" for ref, oid in wanted.items() if present.get(ref) != oid]
    commands += [f"delete {ref}\0\0" for ref in present if ref not in wanted]
    if commands:
        run_git(root, "update-ref", "-z", "--no-deref", "--stdin", input="".join(commands).encode(), mode=DURABLE)


def find_commit(root: str, ref: str) -> str:
    """Returns the commit that a ref leads to; empty where there is none."""
    found = ask_git(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", no=(1, 128))
    return found.strip().decode("ascii") if found is not None else ""


def _new_ends(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return [oid for ref, oid in sorted(now.items()) if before.get(ref) != oid][:64]


def _quote(name: str) -> bytes:
    raw = os.fsencode(name)
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % escaped
