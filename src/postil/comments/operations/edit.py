"""Changing and deleting comments whose file is known."""

from __future__ import annotations

from postil.comments.failures import CommentChanged
from postil.comments.operations.answers import Deleted, Edited
from postil.comments.operations.validation import wanted
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.format import detect_tag, now
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.storage.store import Store
from postil.workspace.paths import RelativePath


class Editing:
    """Changes what comments say."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def edit(self, path: RelativePath, comment: str, text: str, tag: str | None = None, expected: str = "") -> Edited:
        """Change text or tag; a text that begins with another tag changes it. Refused when `expected` is outdated."""

        def change(sidecar: Sidecar) -> Edited:
            found = wanted(sidecar, comment)
            if expected and found.updated != expected:
                raise CommentChanged(path, found.id, found.updated)
            new_tag = tag or detect_tag(text) or found.tag
            updated = now()
            values: JsonObject = {"text": text or found.text, "updated": updated}
            if new_tag != found.tag:
                values["tag"] = new_tag
            sidecar.change(found.id, values)
            return Edited(found.id, path, updated, new_tag)

        return self._store.change(path, change)

    def delete(self, path: RelativePath, comment: str) -> Deleted:
        """Take a comment away, and its marker when nothing else hangs on it."""

        def change(sidecar: Sidecar) -> Deleted:
            found = wanted(sidecar, comment)
            sidecar.remove(found.id)
            return Deleted(found.id, path)

        return self._store.change(path, change)
