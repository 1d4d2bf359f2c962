"""What is compared with what: the work tree, the index, a commit, a range, a branch with its base.

Written as one word: nothing (all that is not committed), `unstaged`, `staged`, a commit, `A..B`, `A...B` (since they
parted), or `branch`, `branch:NAME` (since it left its base).
"""

from __future__ import annotations

from msgspec import Struct

from postil.core.failure import NotFound
from postil.workspace.git import run_git, try_git
from postil.workspace.repository import Repository

UNSTAGED, STAGED, BRANCH = "unstaged", "staged", "branch"
MAIN = ("origin/HEAD", "main", "master", "origin/main", "origin/master", "trunk")
LONGEST = 500


class NoSuchVersion(NotFound):
    """A commit or branch that is not there."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no commit or branch {name[:100]!r}",
            advice="Give a commit, A..B, A...B, staged, unstaged or branch; nothing means all that is not committed",
        )


class Compared(Struct, frozen=True):
    """Two versions of the tree."""

    says: str
    """What this is, for people."""
    arguments: tuple[str, ...]
    """What `git diff` is given."""
    old: str
    """The commit or tree of the old side; empty for the index."""
    new: str = ""
    """The commit of the new side; empty for the work tree, and for the index where `is_staged`."""
    is_staged: bool = False
    has_untracked: bool = False

    @property
    def version(self) -> str:
        """How a remark names it: nothing for the work tree, `unstaged`, `staged`, or `BASE..COMMIT`."""
        if self.new:
            return f"{self.old}..{self.new}"
        return STAGED if self.is_staged else ("" if self.old else UNSTAGED)


def read_compared(repository: Repository, scope: str) -> Compared:
    """Returns what a word means in this repository now. Raises NoSuchVersion."""
    word = scope.strip()
    if word == UNSTAGED:
        return Compared("Changes that are not staged", (), "", has_untracked=True)
    if word in ("", STAGED):
        head = find_commit(repository, "HEAD") or find_empty_tree(repository)
        if word == STAGED:
            return Compared("Staged changes", ("--cached", head), head, is_staged=True)
        return Compared("Changes that are not committed", (head,), head, has_untracked=True)
    if word == BRANCH or word.startswith(f"{BRANCH}:"):
        return _compare_branch(repository, word.partition(":")[2] or repository.branch() or "HEAD")
    for dots in ("...", ".."):
        first, found, last = word.partition(dots)
        if found:
            old, new = _need_commit(repository, first or "HEAD"), _need_commit(repository, last or "HEAD")
            if dots == "...":
                old = _find_base(repository, old, new) or old
            return Compared(f"{first or 'HEAD'}{dots}{last or 'HEAD'}", (old, new), old, new)
    new = _need_commit(repository, word)
    old = find_commit(repository, f"{new}^1") or find_empty_tree(repository)
    said = run_git(repository.root, "log", "-1", "--format=%h %s", "--no-show-signature", "--end-of-options", new)
    return Compared(f"Commit {said.decode('utf-8', 'replace').strip()}", (old, new), old, new)


def _compare_branch(repository: Repository, name: str) -> Compared:
    new = _need_commit(repository, name)
    for main in MAIN:
        tip = find_commit(repository, main) if main != name else ""
        base = _find_base(repository, tip, new) if tip else ""
        if base:
            return Compared(f"{name} since {main}", (base, new), base, new)
    old = find_commit(repository, f"{new}^1") or find_empty_tree(repository)
    return Compared(f"{name}: its last commit, since there is no branch to compare with", (old, new), old, new)


def find_commit(repository: Repository, name: str) -> str:
    """Returns the id of a commit that a person named; empty without such a one."""
    if not name or len(name) > LONGEST:
        return ""
    asked = try_git(repository.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return asked.out.decode("ascii", "replace").strip() if asked.status == 0 else ""


def _need_commit(repository: Repository, name: str) -> str:
    found = find_commit(repository, name)
    if not found:
        raise NoSuchVersion(name)
    return found


def _find_base(repository: Repository, one: str, other: str) -> str:
    asked = try_git(repository.root, "merge-base", "--end-of-options", one, other)
    return asked.out.decode("ascii", "replace").strip() if asked.status == 0 else ""


def find_empty_tree(repository: Repository) -> str:
    """Returns git's name of no files at all, in this repository's own hash."""
    return run_git(repository.root, "hash-object", "-t", "tree", "--stdin").decode("ascii").strip()
