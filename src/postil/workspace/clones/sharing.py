"""Whom our files in a git directory are for: this user alone, or whom `core.sharedRepository` says, as git's own are.

Where it says nothing, nothing is changed. Only what lies in the folder `postil` of a git directory is given to others.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from postil.core import limits
from postil.workspace.disk import read_regular

GROUP, EVERYBODY = 0o660, 0o664
_WORDS = {
    **dict.fromkeys(("group", "true", "yes", "on", "1"), GROUP),
    **dict.fromkeys(("all", "world", "everybody", "2"), EVERYBODY),
}
_OURS = re.compile(r"/postil(?=/|\Z)")


def make_own_folder(path: str) -> None:
    """Make a folder of ours, with those above it, and share each that was made."""
    missing: list[str] = []
    above = path
    while above and not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    os.makedirs(path, mode=0o700, exist_ok=True)
    for each in missing:
        share(each)


def make_own_file(path: str) -> None:
    """Make an empty file of ours, unless there is one, and share it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        share(path)


def share(path: str) -> None:
    """Give a file or folder that was just made to whom the repository that it lies in is shared with."""
    said = read_sharing(find_git_dir(path))
    if not said:
        return
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(file).st_mode
            os.fchmod(file, stat.S_IMODE(_widen(mode, said)))
        finally:
            os.close(file)


def choose_mode(path: str) -> int | None:
    """Returns the mode of a file that is written there; None where nothing is said of it."""
    said = read_sharing(find_git_dir(path))
    return stat.S_IMODE(_widen(stat.S_IFREG | 0o600, said)) if said else None


def find_git_dir(path: str) -> str:
    """Returns the git directory in whose folder `postil` a path lies; empty where it lies in none."""
    for found in _OURS.finditer(path):
        git_dir = path[: found.start()]
        if os.path.isfile(os.path.join(git_dir, "HEAD")):
            return git_dir
    return ""


def read_sharing(git_dir: str) -> int:
    """Returns the rights that `core.sharedRepository` of a git directory adds to files; negative: it sets them all."""
    config = read_regular(os.path.join(git_dir, "config"), limits.CONFIG) if git_dir else None
    if not config or b"sharedrepository" not in config.lower():
        return 0
    from postil.core.failure import Failure
    from postil.workspace.git_config import parse_config  # only where it may say so

    said = ""
    with suppress(Failure):
        for each in parse_config(config.decode("utf-8", "replace"), "config"):
            if (each.section, each.name, each.key) == ("core", None, "sharedrepository"):
                said = "true" if each.value is None else each.value.strip().lower()
    if said in _WORDS:
        return _WORDS[said]
    if re.fullmatch(r"0?[67][0-7]{2}", said):
        return -(int(said, 8) & 0o666)
    return 0


def _widen(mode: int, said: int) -> int:
    """Returns the mode of a file or folder as git would make it."""
    rights = abs(said)
    if stat.S_ISDIR(mode):
        rights |= (rights & 0o444) >> 2
    wider = (mode & ~0o777) | rights if said < 0 else mode | rights
    return wider | stat.S_ISGID if stat.S_ISDIR(mode) else wider
