"""Everything works without this file: it answers `git mile list` before the application is composed.

What it is not sure of takes the ordinary way; `tests/tracker/shell/test_fast_list.py` keeps both ways equal.
"""

from __future__ import annotations

import os
from collections.abc import Sequence


def answer_fast(program: str, words: Sequence[str]) -> str | None:
    """Returns the whole output of a command line, or None if there is no short cut for it."""
    if program == "git mile" and words[:1] == ["list"]:
        kind, rest = None, words[1:]
    elif len(words) > 1 and words[0] in ("issue", "milestone") and words[1] == "list":
        kind, rest = words[0], words[2:]
    else:
        return None
    if _is_configured():
        return None
    environ = os.environ
    if "FORCE_COLOR" in environ or "CLICOLOR_FORCE" in environ:
        return None  # what they say about colours, the settings know
    from postil.tracker.shell.fast_list import fast_list

    try:
        width = os.get_terminal_size(1).columns or 80
    except OSError:
        return fast_list(kind, rest, os.getcwd())
    if "NO_COLOR" in environ or "CLICOLOR" in environ or environ.get("TERM", "dumb") == "dumb":
        return None
    from postil.core.others.visible import paint

    text = fast_list(kind, rest, os.getcwd(), width, colors=True)
    return None if text is None else paint(text, colors=True)


def _is_configured() -> bool:
    """Returns whether settings could say that this is not offered, or that colours or pagers matter."""
    environ = os.environ
    if any(name.startswith("POSTIL_") for name in environ):
        return True
    config = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(environ.get("HOME", ""), ".config")
    return any(os.path.exists(os.path.join(config, "postil", f"postil.{kind}")) for kind in ("toml", "yaml", "yml"))
