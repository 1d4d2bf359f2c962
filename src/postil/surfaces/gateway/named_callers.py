"""The names in the operator's lists. One that nobody can have shuts people out: it stops the start."""

from __future__ import annotations

import re
from collections.abc import Iterable

from postil.core import codes
from postil.core.failure import Failure
from postil.settings.model import Settings

_USERNAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_NUMBER = re.compile(r"[1-9][0-9]{0,18}")
_EXAMPLES = {"id": "42", "oauth": "SUBJECT", "group": "our/group", "key": "NAME", "gitlab": "HOST:42"}
MEMBERS, CALLERS = ("id", "oauth"), ("id", "group")


class NobodysName(Failure):
    """A name in a list of the settings that no caller can have."""

    code = codes.INVALID_PARAMS
    exit_status = 2


def check_names(settings: Settings) -> None:
    """Raises NobodysName where a list of callers, members or readers names somebody whom there cannot be."""
    _check("http.members", settings.http.members, MEMBERS)
    _check("http.callers", settings.http.callers, CALLERS)
    _check("http.operators", settings.http.operators, (*MEMBERS, "key", "gitlab"))
    for name, each in settings.workspaces.items():
        _check(f"workspaces.{name}.members", each.members, (*MEMBERS, "key"))
        _check(f"workspaces.{name}.readers", each.readers, (*MEMBERS, "key"))


def find_strangers(settings: Settings) -> list[str]:
    """Returns warnings of names that the chosen way of signing in gives to nobody."""
    if settings.http.auth != "key":
        return []
    lists = {"http.members": settings.http.members, "http.operators": settings.http.operators}
    for name, each in settings.workspaces.items():
        lists |= {f"workspaces.{name}.members": each.members, f"workspaces.{name}.readers": each.readers}
    return [
        f"{where} names {name!r}, but with --auth key there are access keys alone: "
        + ("a key made with --workspace is a member" if where == "http.members" else f"say key:{name}")
        for where, names in lists.items()
        for name in names
        if name != "*" and not name.startswith("key:")
    ]


def _check(where: str, names: Iterable[str], kinds: tuple[str, ...]) -> None:
    for name in names:
        kind, mark, rest = name.partition(":")
        if not mark:
            fits = _USERNAME.fullmatch(name) is not None or name == "*"
        elif kind == "id":
            fits = _NUMBER.fullmatch(rest) is not None
        else:
            fits = kind in kinds and bool(rest.strip())
        if not fits:
            forms = ", ".join(f"{each}:{_EXAMPLES[each]}" for each in kinds)
            advice = f"Give usernames of GitLab (without @), {forms} or *"
            if kind == "key" and kind not in kinds:
                advice = "An access key is let in by `postil key create NAME --workspace`, not by this list"
            raise NobodysName(f"{where} names {name[:100]!r}, which is nobody's name there", advice=advice)
