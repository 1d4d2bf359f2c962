"""Writing a client's file: comments kept, the old content remembered, removal byte for byte.

The content before our first edit is kept in the state folder, beside a fingerprint of what we wrote. As long as nobody
else changed the file, removing gives exactly the old bytes back; after that, only our entry is taken out.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from postil.core import limits
from postil.core.failure import Conflict, StorageFailed
from postil.core.others.number import decode_json
from postil.core.others.one_line import on_one_line
from postil.settings.decoding import decode_toml, decode_yaml
from postil.surfaces.setup import hooks as client_hooks
from postil.surfaces.setup import jsonc, yaml_edit
from postil.surfaces.setup.clients import Client, command_of
from postil.surfaces.setup.original_files import LARGEST, OriginalFiles, Remembered, list_missing
from postil.workspace.disk import read_whole
from postil.workspace.files import atomic_write, make_folder
from postil.workspace.paths import RelativePath

MOST_NAMED, LONGEST_NAME = 8, 60


class Unreadable(Conflict):
    """A client's file that cannot be understood is never overwritten."""


class ClientFile:
    """One client's file."""

    def __init__(self, client: Client, path: str, state_folder: str) -> None:
        self.client = client
        self.path = path
        self._originals = OriginalFiles(os.path.join(state_folder, "setup"))
        # In a repository a symlink is somebody else's: following it could write anywhere. At home it is the user's own.
        self._inside = path.removesuffix(client.file) if client.place == "repository" else ""
        self._real = path if client.place == "repository" else os.path.realpath(path)

    def text(self) -> str | None:
        """Returns the content, or None when there is no file."""
        try:
            # Half of a file must not be written back as the whole: one that is too large is refused.
            largest = limits.REPOSITORY_FILE if self._inside else LARGEST
            return read_whole(self._real, largest, self._inside).decode("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise Unreadable(
                f"{self.path} cannot be read: {reason}", advice="Correct the file, or move it away"
            ) from error

    def entry(self) -> dict[str, Any] | None:
        """Returns our entry, if it is there."""
        text = self.text()
        found = None if text is None else self._get(text)
        return cast("dict[str, Any]", found) if isinstance(found, dict) else None

    def read_around(self) -> dict[str, Any]:
        """Returns what the file says as a whole; empty where it is not of JSON, or there is none."""
        if self.client.is_toml or self.client.is_yaml or (text := self.text()) is None:
            return {}
        try:
            whole: object = jsonc.read(text)
        except ValueError as error:
            raise self._not_understood(error) from error
        return cast("dict[str, Any]", whole) if isinstance(whole, dict) else {}

    def list_others(self) -> list[str]:
        """Returns the names of other servers in it, shortened: in a repository they may be anybody's."""
        if self.client.shape == "hooks" or (text := self.text()) is None:
            return []
        held = self._get(text, self.client.keys[:-1])
        names = [str(name) for name in cast("dict[object, object]", held)] if isinstance(held, dict) else []
        shown = [on_one_line(name)[:LONGEST_NAME] for name in names if name != self.client.keys[-1]]
        return shown if len(shown) <= MOST_NAMED else [*shown[:MOST_NAMED], f"{len(shown) - MOST_NAMED} more"]

    def with_entry(self, entry: dict[str, Any]) -> str:
        """Returns the content with our entry in it."""
        return self._edited(self.text() or "", entry)

    def write(self, entry: dict[str, Any]) -> bool:
        """Put our entry in, durably; False when it was there already."""
        before = self.text()
        after = self._edited(before or "", entry)
        if after == before:
            return False
        name, missing = self._note(), list_missing(os.path.dirname(self._real))
        old = self._originals.recall(name)
        kept = Remembered(
            os.path.realpath(self._real), _encoded(before), _print(after), missing, self._print_entry(after)
        )
        # A second edit of our own: what was there before the first is what a removal has to bring back.
        if old and before is not None and old.after == _print(before):
            kept = replace(old, after=kept.after, entry=kept.entry)
        elif old and before is not None and self._holds_ours(before):  # somebody else wrote between the two
            if old.entry in ("", self._print_entry(before)):
                kept = replace(old, after="", entry=kept.entry)
            else:  # the entry itself: it is theirs now, and what a removal brings back
                kept = replace(kept, folders=old.folders)
        self._originals.keep(name, kept)
        self._replace(after)
        return True

    def remove(self) -> bool:
        """Take our entry out; False when there is none. A file that we made and nobody else uses goes with the last."""
        current = self.text()
        if current is None or not self._holds_ours(current):
            return False
        name = self._note()
        old = self._originals.recall(name)
        as_left = old is not None and old.after == _print(current)
        rest = "" if as_left else self._give_back(current, old)
        if old is not None and old.before is None and (as_left or self._is_empty(rest)):
            os.unlink(self._real)
            if old.folders is None:
                self._remove_empty_folder()
            else:
                self._originals.remove_folders(name, old.folders)
        elif old is not None and old.before is not None and as_left:
            self._replace(base64.b64decode(old.before).decode("utf-8"))
        else:
            self._replace(rest)
            if old is not None:
                self._hand_over(name, old, current, rest)
        self._originals.forget(name)
        return True

    def _print_entry(self, text: str) -> str:
        return _print(msgspec.json.encode(self._get(text), order="deterministic").decode("utf-8"))

    def _hand_over(self, name: str, old: Remembered, current: str, rest: str) -> None:
        """Let an entry of ours that was put in after this one bring back what was there before both."""
        for other, found in self._originals.list_others(name):
            if found.path != os.path.realpath(self._real) or found.before is None:
                continue
            if _print(base64.b64decode(found.before).decode("utf-8")) == old.after:
                made = None if old.folders is None else (*old.folders, *(found.folders or ()))
                after = _print(rest) if found.after == _print(current) else ""
                self._originals.keep(other, replace(found, before=old.before, after=after, folders=made))

    def _is_empty(self, text: str) -> bool:
        """Whether nothing but what holds our entries is left, and no remark of anybody."""
        if self.client.is_yaml:
            return text.strip() in ("", f"{self.client.keys[0]}:", f"{self.client.keys[0]}: {{}}")
        try:
            held = cast("object", decode_toml(text) if self.client.is_toml else decode_json(text))
        except (ValueError, msgspec.DecodeError):
            return False
        if isinstance(held, dict) and self.client.shape == "hooks":
            held = {key: value for key, value in cast("dict[str, object]", held).items() if key != "version"}
        return _holds_nothing(cast("object", held)) and not (self.client.is_toml and "#" in text)

    def _holds_ours(self, text: str) -> bool:
        """Returns whether there is anything to take out; of the hooks, one that is left of three is enough."""
        if self.client.shape != "hooks":
            return self._get(text) is not None
        try:
            return client_hooks.remove(text, self.client.hook_shape) != text
        except ValueError as error:
            raise self._not_understood(error) from error

    def _get(self, text: str, keys: tuple[str, ...] = ()) -> object:
        keys = keys or self.client.keys
        try:
            if self.client.shape == "hooks":
                return client_hooks.find(text, self.client.hook_shape)
            if self.client.is_yaml:
                return yaml_edit.get(text, keys)
            if not self.client.is_toml:
                return jsonc.get(text, keys)
            found = decode_toml(text)
            for key in keys:
                found = cast("dict[str, object]", found).get(key) if isinstance(found, dict) else None
            return found
        except ValueError as error:
            raise self._not_understood(error) from error

    def _edited(self, text: str, entry: dict[str, Any]) -> str:
        """Returns the text with our entry, read again: it holds what was there, and our entry. Raises Unreadable."""
        after = self._put(text, entry)
        if self.client.shape == "hooks":
            self._get(after)  # its lists hold what others have there; it is read again all the same
            return after
        try:
            same = self._read(after) == _with_value(self._read(text), self.client.keys, entry)
        except ValueError:
            same = False
        if not same:
            raise Unreadable(
                f"{self.path} is written in a way that we cannot add our entry to",
                advice=f"Add it by hand: `postil setup {self.client.name} --print`; the file has not been touched",
            )
        return after

    def _read(self, text: str) -> object:
        if self.client.is_yaml:
            return decode_yaml(text)
        return decode_toml(text) if self.client.is_toml else jsonc.read(text)

    def _put(self, text: str, entry: dict[str, Any]) -> str:
        try:
            if self.client.shape == "hooks":
                return client_hooks.put(text, command_of(self.client, entry)[0], self.client.hook_shape)
            if self.client.is_yaml:
                return yaml_edit.put(text, (self.client.keys[0], self.client.keys[1]), entry)
            if not self.client.is_toml:
                return jsonc.put(text, self.client.keys, entry)
            return _toml_with(text, self.client.keys, entry)
        except ValueError as error:
            raise self._not_understood(error) from error

    def _give_back(self, text: str, old: Remembered | None) -> str:
        """Returns the text without our entry, or with the one that stood in its place before."""
        before = "" if old is None or old.before is None else base64.b64decode(old.before).decode("utf-8")
        found = self._get(before) if before and self.client.shape != "hooks" else None
        return self._edited(text, cast("dict[str, Any]", found)) if isinstance(found, dict) else self._without(text)

    def _without(self, text: str) -> str:
        if self.client.shape == "hooks":
            return client_hooks.remove(text, self.client.hook_shape)
        if self.client.is_yaml:
            return yaml_edit.remove(text, (self.client.keys[0], self.client.keys[1]))
        return _toml_without(text, self.client.keys) if self.client.is_toml else jsonc.remove(text, self.client.keys)

    def _not_understood(self, error: ValueError) -> Unreadable:
        kind = "TOML" if self.client.is_toml else "YAML" if self.client.is_yaml else "JSON"
        return Unreadable(
            f"{self.path} is not valid {kind}: {error}",
            advice="Correct it by hand; it has not been touched",
        )

    def _replace(self, text: str) -> None:
        folder, name = os.path.split(self._real)
        if self.client.place == "repository":
            root = self._real.removesuffix("/" + self.client.file)
            inside = os.path.dirname(self.client.file)
            if inside:
                make_folder(root, inside)
            atomic_write(root, RelativePath(self.client.file), text.encode("utf-8"))
            return
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise StorageFailed(f"{folder} cannot be made: {error.strerror}", advice="Check its permissions") from error
        atomic_write(folder, RelativePath(name), text.encode("utf-8"))

    def _remove_empty_folder(self) -> None:
        inside = os.path.dirname(self.client.file)
        if self.client.place == "repository" and inside:
            try:
                os.rmdir(os.path.dirname(self._real))
            except OSError:
                return  # something else lives there

    def _note(self) -> str:
        # Two entries of ours may stand in one file (Gemini's server and its hooks): each remembers its own edit.
        own = f"\0{self.client.name}" if self.client.shape == "hooks" and self.client.name != "claude-hooks" else ""
        return hashlib.sha256(os.fsencode(self.path + own)).hexdigest()[:24] + ".json"


def _encoded(text: str | None) -> str | None:
    return None if text is None else base64.b64encode(text.encode("utf-8")).decode("ascii")


def _holds_nothing(value: object) -> bool:
    inside = cast("dict[str, object]", value).values() if isinstance(value, dict) else (value,)
    return all(each in ({}, []) or (isinstance(each, dict) and _holds_nothing(cast("object", each))) for each in inside)


def _with_value(held: object, keys: tuple[str, ...], value: object) -> object:
    """Returns a value with another one at a path of keys."""
    if not keys:
        return value
    table = cast("dict[str, object]", held) if isinstance(held, dict) else {}
    return {**table, keys[0]: _with_value(table.get(keys[0]), keys[1:], value)}


def _print(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _toml_with(text: str, keys: tuple[str, ...], entry: dict[str, Any]) -> str:
    import tomlkit  # comments survive; only Codex's file is TOML

    document = tomlkit.parse(text)
    table: Any = document
    for key in keys[:-1]:
        if key not in table:
            table[key] = tomlkit.table(is_super_table=True)
        table = table[key]
    ours: Any = tomlkit.table()
    ours.update(entry)
    if table.get(keys[-1]) == entry:
        return text
    table[keys[-1]] = ours
    return tomlkit.dumps(document)


def _toml_without(text: str, keys: tuple[str, ...]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    table: Any = document
    for key in keys[:-1]:
        table = table[key]
    del table[keys[-1]]
    return tomlkit.dumps(document)
