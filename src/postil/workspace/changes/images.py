"""Pictures that changed: their bytes on either side, and what kind of picture they are, by their first bytes."""

from __future__ import annotations

from typing import Literal

from postil.core.failure import Failure
from postil.workspace.changes.changed_files import ChangedFile
from postil.workspace.changes.compared import Compared
from postil.workspace.files import read_file
from postil.workspace.git import read_blob
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

LARGEST = 4 * 1024 * 1024
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\0\0\1\0", "image/x-icon"),
)


def find_kind(content: bytes) -> str:
    """Returns the type of a picture that browsers show; empty for anything else."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if b"<svg" in content[:1024].lower() and content.lstrip()[:1] == b"<":
        return "image/svg+xml"
    return next((kind for start, kind in _KINDS if content.startswith(start)), "")


def read_content(
    repository: Repository, compared: Compared, one: ChangedFile, side: Literal["old", "new"]
) -> bytes | None:
    """Returns the bytes of a changed file on one side; None where it has none there, or too many."""
    if side == "old" or compared.new or compared.is_staged:
        name = one.old if side == "old" else one.new
        return read_blob(repository.root, name, LARGEST) if name else None
    try:
        return read_file(repository.root, RelativePath(one.file), LARGEST)
    except Failure:
        return None
