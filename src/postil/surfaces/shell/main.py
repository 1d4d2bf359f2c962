"""The executables: `postil` and the three programs whose contracts it keeps.

This module only finds out what is wanted; the work is in its siblings, imported when needed. Nothing but `sys` is
imported at the top, so that `postil --version` costs little more than starting Python.
"""

from __future__ import annotations

import sys

_KINDS = frozenset({"issue", "milestone", "mile", "identity"})


def main() -> int:
    """Returns the `postil` command."""
    _open_closed()
    words = sys.argv[1:]
    if words == ["--version"] or words == ["-V"]:
        return _version("postil")
    return 0 if _quick("postil", words) else _run(words, "postil")


def lazygit_mcp_bridge() -> int:
    """The `lazygit-mcp-bridge` command: `server` and `send`, as its contract says, with its two exit statuses."""
    _open_closed()
    words = sys.argv[1:]
    if words == ["--version"] or words == ["version"]:
        return _version("lazygit-mcp-bridge")
    if not words and not sys.stdin.isatty():
        words = ["server"]
    if words[:1] == ["server"]:
        return _run(["serve", "--parts", "inbox", *words[1:]], "lazygit-mcp-bridge")
    return 1 if _run(words, "lazygit-mcp-bridge", "inbox") else 0


def git_mile() -> int:
    """Returns the `git-mile` command, which git also runs as `git mile`."""
    _open_closed()
    words = sys.argv[1:]
    if words == ["--version"]:
        return _version("git-mile")
    first, words = _mile_globals(words)
    if words[:1] == ["mcp-server"]:
        more, rest = _mile_globals(words[1:])  # the published entry names the repository after the command
        first, words = [*first, *more], ["mcp-server", *rest]
        return _run([*first, "serve", "--parts", "tracker", *words[1:]], "git mile")
    if not first and _quick("git mile", words):
        return 0
    if words[:1] in (["comment"], ["label"]) and len(words) > 1 and words[1] not in _KINDS:
        words = [f"{words[0]}-by-id", *words[1:]]  # the id knows its kind
    if words[:1] == ["list"] and len(words) > 1 and not _names_kind(words[1:]):
        words = ["list", "issue", *words[1:]]  # words that name no kind are looked for in the issues
    return _run([*first, *words], "git mile", "tracker")


def _names_kind(words: list[str]) -> bool:
    """Returns whether one of the words is a kind of entity, or the first was probably meant to be one: `issues`."""
    if not _KINDS.isdisjoint(words):
        return True
    first = words[0].lower().removesuffix("s")
    return any(first in (kind, kind[:at] + kind[at + 1 :]) for kind in _KINDS for at in range(len(kind)))


def _mile_globals(words: list[str]) -> tuple[list[str], list[str]]:
    """git-mile's options before the command: `--repo` is our `-C`; the author is an option of commands that write."""
    first: list[str] = []
    last: list[str] = []
    while words and words[0].partition("=")[0] in ("--repo", "--author", "--email"):
        name, joined, value = words[0].partition("=")
        if not joined and len(words) < 2:
            break
        value, words = (value, words[1:]) if joined else (words[1], words[2:])
        if name == "--repo":
            first += ["-C", value]
        else:
            last.append(f"{name}={value}")
    return first, [*words, *last] if words else words


def paired_comments() -> int:
    """Returns the `paired-comments-mcp-server` command: a server, and nothing else."""
    _open_closed()
    words = sys.argv[1:]
    if words == ["--version"]:
        return _version("paired-comments-mcp-server")
    return _run(["serve", "--parts", "comments", *words], "paired-comments-mcp-server")


def _open_closed() -> None:
    """Where the caller closed a standard stream, open nothing in its place: a database must not become our output."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        import os

        while os.open(os.devnull, os.O_RDWR) < 3:  # the lowest that is free
            pass
        sys.stdin = sys.stdin or open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - open to the end
        sys.stdout = sys.stdout or open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115 - open to the end
        sys.stderr = sys.stderr or open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115 - open to the end


def _quick(program: str, words: list[str]) -> bool:
    """Answer a list without starting the application, where that can be done. Costs nothing for other commands."""
    if "list" not in words[:2]:
        return False
    from postil.fast_answer import answer_fast

    text = answer_fast(program, words)
    if text is None:
        return False
    try:
        sys.stdout.write(text + "\n" if text else "")
        sys.stdout.flush()
    except OSError:
        return False  # the ordinary way knows what to do when nobody reads
    return True


def _version(program: str) -> int:
    from postil import __version__

    sys.stdout.write(f"{program} {__version__}\n")
    return 0


def _run(words: list[str], program: str, part: str = "") -> int:
    from postil.core.startup import prepare, release

    prepare()
    from postil.app import App  # the one place where a surface asks for the composition
    from postil.surfaces.shell.run import run

    status = run(words, program, App, part)
    release()
    return status
