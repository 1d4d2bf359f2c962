"""Many of git's objects with one question: by id, or by revision and path."""

from __future__ import annotations

from collections.abc import Iterable

from postil.workspace.git import run_git


def read_objects(root: str, names: Iterable[str], largest: int = 1 << 62) -> dict[str, bytes]:
    """Returns the files of these names (`<blob>` or `<revision>:<path>`), but for what is no file or too large."""
    asked = [name for name in dict.fromkeys(names) if name and "\n" not in name]
    if not asked:
        return {}
    listed = "".join(f"{name}\n" for name in asked).encode("utf-8", "surrogateescape")
    answer = run_git(root, "cat-file", "--batch", input=listed)
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
