"""Many of git's objects with one question: by id, or by revision and path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postil.core import limits
from postil.workspace.failures import ELSEWHERE, GitFailed, GitTooLarge
from postil.workspace.git import run_git, try_git

FIRST = 8 * limits.MIB
"""Bytes that are asked for together."""
EVERY = 1 << 62
MOST_ELSEWHERE = 300
"""Objects that a partial clone has left at its remote: git ends at each, and is asked again about those behind it."""


def read_objects(
    root: str,
    names: Iterable[str],
    largest: int = limits.GIT_OBJECT,
    most: int = EVERY,
    left_out: set[str] | None = None,
    elsewhere: set[str] | None = None,
) -> dict[str, bytes]:
    """Returns the files of these names (`<blob>` or `<revision>:<path>`), but for what is no file or too large.

    Where all are larger than `most` together, the last are too large as well. `left_out` gets the names of such files,
    `elsewhere` those that a partial clone has left at its remote: nobody knows what they hold.
    """
    return dict(iterate_objects(root, names, largest, most, left_out, elsewhere))


def iterate_objects(
    root: str,
    names: Iterable[str],
    largest: int = limits.GIT_OBJECT,
    most: int = EVERY,
    left_out: set[str] | None = None,
    elsewhere: set[str] | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Yields what `read_objects` returns, in the order of the names, and holds few of them at once."""
    asked = [name for name in dict.fromkeys(names) if name and "\n" not in name]
    if not asked:
        return
    large: set[str] = set() if left_out is None else left_out
    try:
        found = _read(root, asked, largest, large, min(most, FIRST))
    except (GitTooLarge, GitFailed):  # one of them is a giant, or they are many: ask for the sizes first
        pass
    else:
        yield from found.items()
        return
    part: list[str] = []
    size = 0
    for name, announced in _list_sizes(root, asked, set() if elsewhere is None else elsewhere):
        if announced > min(largest, most):
            large.add(name)
            continue
        most -= announced
        if part and size + announced > FIRST:
            yield from _read(root, part, largest, large).items()
            part, size = [], 0
        part.append(name)
        size += announced
    if part:
        yield from _read(root, part, largest, large).items()


def _list_sizes(root: str, asked: list[str], elsewhere: set[str]) -> list[tuple[str, int]]:
    """Returns the names of files with the sizes that git announces; `elsewhere` gets those that it has not got here."""
    rows: list[tuple[str, bytes]] = []
    for _ in range(MOST_ELSEWHERE):
        done = try_git(root, "cat-file", "--batch-check", input=_join(asked))
        said = done.out.split(b"\n")[:-1]  # a name that is missing is said again, with any other end of a line in it
        rows += zip(asked, said, strict=False)
        if done.status == 0:
            break
        if ELSEWHERE.encode() not in done.err:
            raise GitFailed("cat-file", done.status, done.err.decode("utf-8", "replace"))
        elsewhere.update(asked[len(said) : len(said) + 1])
        asked = asked[len(said) + 1 :]
        if not asked:
            break
    else:
        elsewhere.update(asked)  # as far as is known
    parted = ((name, line.rsplit(b" ", 2)) for name, line in rows)
    return [
        (name, int(words[2]))
        for name, words in parted
        if len(words) == 3 and words[1] == b"blob" and words[2].isdigit()
    ]


def _join(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")


def _read(
    root: str, asked: list[str], largest: int, left_out: set[str], most: int = limits.GIT_OUTPUT
) -> dict[str, bytes]:
    answer = run_git(root, "cat-file", "--batch", input=_join(asked), largest=most)
    found: dict[str, bytes] = {}
    at = 0
    for name in asked:
        end = answer.find(b"\n", at)
        words = answer[at:end].rsplit(b" ", 2)
        at = end + 1
        if len(words) != 3 or not words[2].isdigit():  # missing, or ambiguous
            continue
        size = int(words[2])
        if words[1] == b"blob" and size <= largest:
            found[name] = answer[at : at + size]
        elif words[1] == b"blob":
            left_out.add(name)
        at += size + 1
    return found
