"""The short flags of the shell, in one table: a letter means what it means to git and gh.

An argument gets its letter in every command that has it as a flag. A mark's own `flags` come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LETTERS: Mapping[str, tuple[str, ...]] = {
    "A": ("author",),  # gh issue list -A
    "a": ("all",),  # git branch -a
    "B": ("target_branch", "base"),  # gh pr create -B
    "b": ("body",),  # gh issue comment -b
    "d": ("description",),
    "e": ("editor",),  # gh issue create -e
    "F": ("description_file", "comment_file"),  # gh issue create -F, git commit -F
    "H": ("source_branch",),  # gh pr create -H
    "L": ("limit", "per_page"),  # gh issue list -L
    "l": ("label", "labels"),  # gh issue list -l
    "m": ("message", "text", "reply", "summary"),  # git commit -m: the words themselves
    "n": ("dry_run", "dryRun"),  # git push -n
    "o": ("output",),  # git format-patch -o
    "q": ("quiet",),  # git commit -q
    "S": ("search",),  # gh issue list -S
    "s": ("status", "state"),  # gh issue list -s
    "t": ("title",),  # gh issue edit -t
    "y": ("yes",),
}
SECOND: Mapping[tuple[str, str], str] = {
    ("a", "assign"): "gh issue create -a: there is no --all there",
    ("a", "assignee_id"): "gh issue create -a, in GitLab's commands",
    ("a", "assignees"): "gh issue create -a, in GitLab's commands",
    ("a", "assignee"): "gh pr list -a, in GitLab's commands",
    ("c", "comment"): "lazygit-mcp-bridge send -c, a published contract",
    ("f", "file"): "lazygit-mcp-bridge send -f, a published contract",
    ("f", "force"): "git push -f: of `restore`, which has no file to name",
    ("f", "filter"): "git mile list -f, a published contract; no command has --file beside it",
    ("l", "line"): "lazygit-mcp-bridge send -l, a published contract: a remark has a line and no labels",
    ("m", "comment"): "git mile comment -m, a published contract; the words, as git's",
    ("m", "milestone"): "gh issue create -m, and git mile create -m, a published contract",
    ("r", "recursive"): "git ls-tree -r",
    ("r", "reviewers"): "gh pr create -r",
    ("t", "tag"): "a comment of the margin has a tag and no title",
}
"""Letters whose meaning is of one contract, or that mean something else in another command; and why."""

_WANTED = {name: letter for letter, names in LETTERS.items() for name in names} | {
    name: letter
    for letter, name in SECOND
    if name != "comment"  # which has two letters: a mark says which
}


def choose_letters(arguments: Iterable[str], marked: Mapping[str, str]) -> dict[str, str]:
    """Returns the letter of each argument that has one; the first argument of a command gets it."""
    chosen = dict(marked)
    for name in arguments:
        letter = _WANTED.get(name, "")
        if letter and name not in chosen and letter not in chosen.values():
            chosen[name] = letter
    return chosen
