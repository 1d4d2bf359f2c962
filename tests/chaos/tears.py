"""Torn caches: pages of a cache are zeroes, noise, or those of an earlier time; or its end is missing.

What is shown afterwards is what the files hold; or the check that `doctor` makes says that it is not.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from postil.comments.operations.contract import ContractTools
from postil.comments.part import CommentsContext
from postil.tracker.operations.assistant import AssistantTools
from tests.chaos.kills import make_issues, prepare_comments, prepare_repository

PAGE, SECTOR = 4096, 512


class Torn(NamedTuple):
    """What a campaign found."""

    tears: int
    noticed: int
    """Shown wrongly, and said so by the check."""
    wrong: int
    """Shown wrongly without a word, or not at all."""


class Cached(NamedTuple):
    """A cache: how its folder begins, what is added to it, what is shown of it, and whether a check finds it wrong."""

    prepare: Callable[[Path], None]
    add: Callable[[Path, int], None]
    show: Callable[[Path], list[str]]
    check: Callable[[Path], bool]
    suffix: str


def tear_caches(cached: Cached, tears: int, chance: random.Random) -> Torn:
    """Tear a cache so many times, each time as it was, and look at what is shown."""
    noticed = wrong = 0
    with tempfile.TemporaryDirectory(prefix="postil-chaos-") as base:
        folder, whole = Path(base) / "run", Path(base) / "whole"
        folder.mkdir()
        cached.prepare(folder)
        for n in range(30):
            cached.add(folder, n)
        cached.show(folder)
        old = {path: path.read_bytes() for path in _find(folder, cached.suffix)}
        for n in range(30, 60):
            cached.add(folder, n)
        truth = sorted(cached.show(folder))
        shutil.copytree(folder, whole, symlinks=True)
        for _ in range(tears):
            shutil.rmtree(folder)
            shutil.copytree(whole, folder, symlinks=True)
            torn = chance.choice([path for path in _find(folder, cached.suffix) if path.stat().st_size > PAGE])
            _tear(torn, old.get(torn, b""), chance)
            if sorted(cached.show(folder)) != truth:
                said = cached.check(folder)
                noticed, wrong = noticed + said, wrong + (not said)
    return Torn(tears, noticed, wrong)


def _find(folder: Path, suffix: str) -> list[Path]:
    return sorted(path for path in folder.rglob(f"*{suffix}") if path.is_file())


def _tear(path: Path, old: bytes, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    size = chance.choice([SECTOR, PAGE])
    at = chance.randrange(max(1, len(content) // size)) * size
    noise = chance.randbytes(size)
    kind = chance.choice(["zeroes", "noise", "earlier", "end"])
    if kind == "end":
        del content[chance.randrange(len(content)) :]
    else:
        content[at : at + size] = {
            "zeroes": bytes(size),
            "noise": noise,
            "earlier": old[at : at + size].ljust(size, b"\0"),
        }[kind]
    path.write_bytes(content)


def _context(folder: Path) -> CommentsContext:
    return CommentsContext(str(folder), cache_home=str(folder / "cache"))


def _add_comment(folder: Path, n: int) -> None:
    ContractTools(_context(folder)).add("a.py" if n % 2 else f"f{n % 16}.py", 1 + n % 40, f"note {n}", "NOTE")


def _show_comments(folder: Path) -> list[str]:
    return [each.comment.text for each in _context(folder).overview.everything()]


def _check_comments(folder: Path) -> bool:
    return bool(_context(folder).overview.find_lies())


def _add_issue(folder: Path, n: int) -> None:
    AssistantTools(make_issues(folder)).create(title=f"issue {n}")


def _show_issues(folder: Path) -> list[str]:
    return [title for (title,) in make_issues(folder).refresh().index.query("SELECT title FROM ent")]


def _notice_nothing(folder: Path) -> bool:
    return False  # there is no such check: the index must be right


CACHES = {
    "the cache of comments": Cached(prepare_comments, _add_comment, _show_comments, _check_comments, ".db"),
    "the index of issues": Cached(prepare_repository, _add_issue, _show_issues, _notice_nothing, ".db"),
}
