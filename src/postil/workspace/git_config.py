"""A repository's config, read without git, and the part of it that git is allowed to see.

An allow-list: only settings that say what the repository *is* (its formats, its remotes' addresses, how its files are
written) are copied. Whatever else stands there, also what a later git will invent, is left out, so none of it can name
a program, a file or a header. Included files are not read. Where the copy is kept and used: git_folder.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postil.core import limits
from postil.workspace.failures import DamagedConfig, UnknownExtension

LARGEST = limits.CONFIG


class Setting(NamedTuple):
    """One line of a config file. Section and key are in lower case, as git compares them."""

    section: str
    name: str | None
    """The part in quotes: the name of a remote, for example. None where the section has none."""
    key: str
    value: str | None
    """None for a key without `=`, which means true."""


# No patterns: compiling them would cost every first call of git more than all the rest here.
_TRUTH = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", ""})
_FORMATS = frozenset({"sha1", "sha256"})
_MODES = frozenset({"umask", "group", "all", "world", "everybody", "0660", "0640", "0664", "0644", "0666", "2", "3"})
_TEXT = frozenset[str]()
"""Any text in one line."""
_ALLOWED = {
    "core": {
        "repositoryformatversion": frozenset({"0", "1"}),
        "filemode": _TRUTH,
        "bare": _TRUTH,
        "symlinks": _TRUTH,
        "ignorecase": _TRUTH,
        "precomposeunicode": _TRUTH,
        "autocrlf": _TRUTH | {"input"},
        "eol": frozenset({"lf", "crlf", "native"}),
        "sparsecheckout": _TRUTH,
        "sparsecheckoutcone": _TRUTH,
        "sharedrepository": _TRUTH | _MODES,
        "logallrefupdates": _TRUTH | {"always"},
    },
    "index": {"sparse": _TRUTH},
    "remote": {"pushdefault": _TEXT},  # it only names, as those of a branch do
    "user": {"name": _TEXT, "email": _TEXT, "useconfigonly": _TRUTH},
    "extensions": {
        "noop": _TEXT,
        "noop-v1": _TEXT,
        "objectformat": _FORMATS,
        "compatobjectformat": _FORMATS,
        "refstorage": frozenset({"files", "reftable"}),
        "preciousobjects": _TRUTH,
        "partialclone": _TEXT,
        "relativeworktrees": _TRUTH,
        "submodulepathconfig": _TRUTH,
    },
}
_ALLOWED_OF_A_REMOTE = {
    "url": _TEXT,
    "pushurl": _TEXT,
    "fetch": _TEXT,
    "promisor": _TRUTH,
    "partialclonefilter": _TEXT,
}
_ALLOWED_OF_A_BRANCH = {"remote": _TEXT, "pushremote": _TEXT, "merge": _TEXT}  # they only name
_HANDLED = "worktreeconfig"  # the file that it announces is read here, and git is not told of it
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def parse_config(text: str, shown: str) -> Iterator[Setting]:
    """Yields the settings in their order. Raises DamagedConfig where git would refuse the file, too."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    at, section, name = 0, "", None
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] in "#;":
            at = _find_line_end(text, at)
        elif text[at] == "[":
            section, name, at = _read_header(text, at + 1, shown)
        elif section:
            key, value, at = _read_setting(text, at, shown)
            yield Setting(section, name, key, value)
        else:
            raise DamagedConfig(shown, text.count("\n", 0, at) + 1)


def _find_line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _read_header(text: str, at: int, shown: str) -> tuple[str, str | None, int]:
    """Returns the section, its name and where the header ends: `[section]`, `[section "name"]`, `[section.name]`."""
    end = _find_line_end(text, at)
    close, quote = text.find("]", at, end), text.find('"', at, end)
    name: str | None = None
    if quote >= 0 and quote < close:
        section = text[at:quote].rstrip(" \t")
        made: list[str] = []
        at = quote + 1
        while at < end and text[at] != '"':
            at += text[at] == "\\"
            made.append(text[at : at + 1])
            at += 1
        name, close = "".join(made), at + 1
        whole = text[quote - 1] in " \t" and close < end and text[close] == "]"
    else:
        section, whole = text[at:close], close >= 0
        if "." in section:  # an old spelling
            section, _, name = section.partition(".")
            name = name.lower()
    section = section.lower()
    if not whole or not section or not {*section} <= _LETTERS:
        raise DamagedConfig(shown, text.count("\n", 0, at) + 1)
    return section, name, close + 1


def _read_setting(text: str, at: int, shown: str) -> tuple[str, str | None, int]:
    """Returns the key, its value and where the setting ends."""
    end = _find_line_end(text, at)
    line = text[at:end]
    key, equals, value = line.partition("=")
    key = key.rstrip(" \t").lower()
    if not equals:
        for sign in "#;":  # a key alone, with a comment behind it
            key = key.partition(sign)[0].rstrip(" \t")
    if not key or not key[0].isalpha() or not {*key} <= _LETTERS:
        raise DamagedConfig(shown, text.count("\n", 0, at) + 1)
    if not equals:
        return key, None, end
    if '"' in value or "\\" in value or "#" in value or ";" in value:
        start = end - len(value)
        while text[start : start + 1] in (" ", "\t"):
            start += 1
        return key, *_read_value(text, start, shown)
    return key, value.strip(" \t"), end


def _read_value(text: str, at: int, shown: str) -> tuple[str, int]:
    """Returns a value with quotes, escapes, continued lines or a comment, and where the next line begins."""
    made: list[str] = []
    kept = 0  # trailing blanks outside of quotes do not count
    quoted = False
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\n":
            break
        if char == '"':
            quoted = not quoted
        elif char == "\\":
            following = text[at : at + 1]
            at += 1
            if following == "\n":
                continue
            if following not in _ESCAPES:
                raise DamagedConfig(shown, text.count("\n", 0, at) + 1)
            made.append(_ESCAPES[following])
            kept = len(made)
            continue
        elif char in "#;" and not quoted:
            end = text.find("\n", at)
            at = len(text) if end < 0 else end + 1
            break
        else:
            made.append(char)
            if not quoted and char in " \t":
                continue
        kept = len(made)
    if quoted:
        raise DamagedConfig(shown, text.count("\n", 0, at) + 1)
    return "".join(made[:kept]), at


def is_true(value: str | None) -> bool:
    """Returns what git makes of a truth value."""
    return value is None or value.lower() in ("true", "yes", "on", "1")


def keep_allowed(settings: list[Setting], shown: str) -> list[Setting]:
    """Returns the settings that git may see. Raises UnknownExtension where leaving one out would misread the data."""
    versions = [s.value for s in settings if s[:3] == ("core", None, "repositoryformatversion")]
    if versions and versions[-1] not in ("0", "1", ""):
        raise UnknownExtension(shown, f"repositoryformatversion = {versions[-1]}"[:80])
    strict = bool(versions) and versions[-1] == "1"
    kept: list[Setting] = []
    for setting in settings:
        section, name, key, value = setting
        given = "true" if value is None else value
        if section == "remote" and name:
            allowed = None if name.startswith("-") else _ALLOWED_OF_A_REMOTE.get(key)
        elif section == "branch" and name:
            allowed = None if given.startswith("-") else _ALLOWED_OF_A_BRANCH.get(key)
        else:
            option = section == "remote" and given.startswith("-")  # the name of a remote that git would misread
            allowed = _ALLOWED.get(section, {}).get(key) if name is None and not option else None
        if allowed is not None and (given.lower() in allowed if allowed else _is_one_line(given)):
            kept.append(setting)
        elif strict and section == "extensions" and name is None and key != _HANDLED:
            raise UnknownExtension(shown, f"{key} = {given[:64]}")
    return kept


def _is_one_line(text: str) -> bool:
    return min(text, default=" ") >= " " and "\x7f" not in text


def write_config(settings: list[Setting]) -> str:
    """Returns the text of a config file that holds these settings."""
    lines: list[str] = []
    at: tuple[str, str | None] = ("", None)
    for section, name, key, value in settings:
        if (section, name) != at:
            at = section, name
            lines.append(f"[{section}]" if name is None else f'[{section} "{_escape(name)}"]')
        lines.append(f"\t{key}" if value is None else f'\t{key} = "{_escape(value)}"')
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
