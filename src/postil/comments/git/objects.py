"""Many of git's objects with one question: by id, or by revision and path."""

from __future__ import annotations

from collections.abc import Iterable

from postil.core import limits
from postil.workspace.failures import GitFailed, GitTooLarge
from postil.workspace.git import run_git


def read_objects(root: str, names: Iterable[str], largest: int = limits.GIT_OBJECT) -> dict[str, bytes]:
    """Returns the files of these names (`<blob>` or `<revision>:<path>`), but for what is no file or too large."""
    asked = [name for name in dict.fromkeys(names) if name and "\n" not in name]
    if not asked:
        return {}
    try:
        return _read(root, asked, largest)
    except (GitTooLarge, GitFailed):  # one of them is a giant: ask for the sizes first
        small = _list_small(root, asked, largest)
        found: dict[str, bytes] = {}
        while small:
            part: list[str] = []
            size = 0
            while small and (not part or size + small[-1][1] < limits.GIT_OUTPUT // 2):
                part.append(small[-1][0])
                size += small.pop()[1]
            found |= _read(root, part, largest)
        return found


def _list_small(root: str, asked: list[str], largest: int) -> list[tuple[str, int]]:
    """Returns the names of files that are not too large, with the sizes that git announces."""
    said = run_git(root, "cat-file", "--batch-check", input=_join(asked)).split(b"\n")
    rows = ((name, line.rsplit(b" ", 2)) for name, line in zip(asked, said, strict=False))
    return [
        (name, int(words[2]))
        for name, words in rows
        if len(words) == 3 and words[1] == b"blob" and words[2].isdigit() and int(words[2]) <= largest
    ]


def _join(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")


def _read(root: str, asked: list[str], largest: int) -> dict[str, bytes]:
    answer = run_git(root, "cat-file", "--batch", input=_join(asked))
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
        at += size + 1
    return found
