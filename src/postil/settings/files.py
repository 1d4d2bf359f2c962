"""Reading `postil.toml` and `postil.yaml`: the user's file, and the repository's, which may set only harmless keys.

A repository is somebody else's text: if it could name a host or a credential, cloning it could send the user's token
away. What it may not set is left out with a warning. A fault in the user's own file stops us, because a mistyped
security setting must not vanish in silence. What a repository brings is small, or it is not used: every command
reads it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast, get_args

import msgspec

from postil.core import limits
from postil.settings.decoding import decode_toml, decode_yaml
from postil.settings.load import ENVIRONMENT
from postil.settings.model import BadSettings, Layer, Settings, WorkspaceSettings
from postil.workspace.disk import read_named, read_whole

HARMLESS = frozenset(
    {"parts", "read_only", "allow_tools", "deny_tools", "gitlab.projects", "gitlab.toolsets", "anchoring.caution"}
)
_OURS = frozenset({"folders", "terminal", "cwd", "secret", "debug", "warnings", "origins", "gitlab.token"})
LARGEST = limits.SETTINGS
LARGEST_OF_REPOSITORY = limits.REPOSITORY_SETTINGS
MOST_LISTED = 256
"""Items of a list in a repository's file: patterns are compared with every tool, at every start."""
LONGEST_LISTED = 256
MOST_WARNED = 5
"""Keys that a warning of a repository's file names."""
LONGEST_NAMED = 60


def read_layers(user: str, repository: str) -> tuple[list[tuple[str, Layer]], tuple[str, ...]]:
    """Returns the layers of both files with their paths, the weaker first, and what was refused."""
    layers: list[tuple[str, Layer]] = []
    warnings: list[str] = []
    if repository and repository != user:
        try:
            layers.append(
                (repository, _keep_harmless(read_file(repository, os.path.dirname(repository)), repository, warnings))
            )
        except BadSettings as failure:  # a broken file in a clone must not take the user's tools away
            warnings.append(f"{failure.message}; it is not used")
    if user:
        layers.append((user, _check(read_file(user), user)))
    return layers, tuple(warnings)


def read_file(path: str, inside: str = "") -> Layer:
    """Returns the content of one file as nested tables, hyphens in keys as underscores. Raises BadSettings.

    `inside` names the folder that a link must not lead out of.
    """
    try:
        content = read_whole(path, LARGEST_OF_REPOSITORY, inside) if inside else read_named(path, LARGEST)
        text = content.decode("utf-8")
        tables = _read_tables(decode_toml(text) if path.endswith(".toml") else decode_yaml(text) or {})
        if isinstance(tables.get("state"), str):  # the address alone
            tables["state"] = {"address": tables["state"]}
        return tables
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadSettings(
            f"The settings file {path} cannot be read: {reason}", advice="Correct the file, or move it away"
        ) from error


def _read_tables(value: object) -> Layer:
    if not isinstance(value, dict):
        raise ValueError("it has to be a table of keys")
    table = cast("dict[object, Any]", value)
    read = {
        str(key).replace("-", "_"): _read_tables(cast("object", item)) if isinstance(item, dict) else item
        for key, item in table.items()
    }
    named = table.get("workspaces")
    if isinstance(named, dict):  # their names are the operator's, hyphens included
        read["workspaces"] = {str(key): _read_tables(item) for key, item in cast("dict[object, object]", named).items()}
    return read


def _check(layer: Layer, path: str) -> Layer:
    known = settable_keys()
    for key in _list_keys(layer):
        if key == "gitlab.token":
            raise BadSettings(
                f"{path} holds a GitLab token",
                advice="Put the token into a file of its own (mode 0600) and name it as gitlab.token_file",
            )
        if key not in known:
            raise BadSettings(f"{path} has an unknown key `{key}`", advice=_advise(key, known))
    try:
        msgspec.convert(layer, Settings)
    except msgspec.ValidationError as error:
        said = f"{path}: {error}{list_words(str(error))}"
        raise BadSettings(said, advice="docs/settings.md lists every key and its values") from None
    return layer


def list_words(said: str) -> str:
    """Returns the words that a setting takes, where it is one of a few: `$.parts[0]` names it."""
    where: object = Settings
    for name in re.findall(r"\.(\w+)", said.rpartition("`$")[2]) if "Invalid enum value" in said else ():
        kinds = [one for one in (where, *get_args(where)) if isinstance(one, type) and issubclass(one, msgspec.Struct)]
        found = [one.type for kind in kinds for one in msgspec.structs.fields(kind) if one.name == name]
        where = found[0] if found else None
    words = re.findall(r"'([\w-]+)'", str(where)) if "Literal[" in str(where) else []
    return f" (one of {', '.join(words)})" if words else ""


def _keep_harmless(layer: Layer, path: str, warnings: list[str]) -> Layer:
    known = settable_keys()
    kept: Layer = {}
    refused: list[str] = []
    unknown: list[str] = []
    for key in _list_keys(layer):
        section, _, field = key.rpartition(".")
        if key in HARMLESS:
            source = layer[section] if section else layer
            _check_list(source[field], key, path)
            (kept.setdefault(section, {}) if section else kept)[field] = source[field]
        else:
            (refused if key in known or key in _OURS else unknown).append(key)
    if refused:
        warnings.append(
            f"{path} may not set {_name_keys(refused)}: a repository could send your credentials elsewhere. "
            "If you want it so, set it in your own postil.toml"
        )
    if unknown:
        warnings.append(f"{path} has an unknown key {_name_keys(unknown)}; it is not used")
    return _check(kept, path)


def _check_list(value: object, key: str, path: str) -> None:
    """Refuse a list that costs every command too much."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    if len(items) > MOST_LISTED or any(isinstance(item, str) and len(item) > LONGEST_LISTED for item in items):
        said = f"has more than {MOST_LISTED} items, or one of over {LONGEST_LISTED} characters"
        raise BadSettings(f"{path}: `{key}` {said}")


def _name_keys(keys: Sequence[str]) -> str:
    named = ", ".join(f"`{key[:LONGEST_NAMED]}`" for key in keys[:MOST_WARNED])
    more = len(keys) - MOST_WARNED
    return f"{named} and {more} more" if more > 0 else named


def _list_keys(layer: Layer) -> Iterator[str]:
    for key, value in layer.items():
        if key == "workspaces" and isinstance(value, dict):
            fields = {field for one in cast("dict[str, Layer]", value).values() for field in one}
            yield from (f"{key}.NAME.{field}" for field in sorted(fields))
        elif isinstance(value, dict):
            yield from (f"{key}.{field}" for field in cast(Layer, value))
        else:
            yield key


def list_harmless_variables() -> frozenset[str]:
    """Returns our own variables that a repository may say, as its settings file may."""
    return frozenset(name for name, key in ENVIRONMENT.items() if key in HARMLESS and name.startswith("POSTIL_"))


def settable_keys() -> frozenset[str]:
    """Returns every key a user's file may hold, as `section.key`."""
    keys: set[str] = set()
    for field in msgspec.structs.fields(Settings):
        inner: object = field.type
        if field.name == "workspaces":
            keys.update(f"workspaces.NAME.{below.name}" for below in msgspec.structs.fields(WorkspaceSettings))
        elif isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            keys.update(f"{field.name}.{below.name}" for below in msgspec.structs.fields(inner))
        else:
            keys.add(field.name)
    return frozenset(key for key in keys if key not in _OURS and key.partition(".")[0] not in _OURS)


def _advise(key: str, known: frozenset[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key[:100], sorted(known), 1)
    return f"Did you mean `{near[0]}`?" if near else "docs/settings.md lists every key"
