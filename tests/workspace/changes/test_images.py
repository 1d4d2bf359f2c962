"""Pictures that changed."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from postil.core.content import Image
from postil.core.failure import NotFound
from postil.workspace.changes.images import LARGEST, find_kind
from postil.workspace.operations.changes import ChangeTools
from tests.workspace.repositories import git, new_repository, workspace

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"<?xml version='1.0'?><svg xmlns=''>", "image/svg+xml"),
        (b"plain text about <svg", ""),
        (b"<script>", ""),
        (b"", ""),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(content: bytes, kind: str) -> None:
    assert find_kind(content) == kind


def test_a_picture_is_shown_on_both_sides(tmp_path: Path) -> None:
    repo = new_repository(tmp_path)
    (repo / "a.png").write_bytes(PNG)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "a picture")
    (repo / "a.png").write_bytes(PNG + b"\0")
    tools = ChangeTools(workspace(repo))
    assert tools.show_picture("a.png", side="old").for_person() == PNG
    new = tools.show_picture("a.png")
    assert new.data == PNG + b"\0"
    assert new.for_model() == [Image(base64.b64encode(new.data).decode(), "image/png")]
    assert tools.show_picture("a.png", "HEAD").data == PNG


def test_what_is_no_picture_or_too_large_is_not_shown(tmp_path: Path) -> None:
    repo = new_repository(tmp_path, a__txt="x\n")
    (repo / "a.txt").write_text("y\n")
    (repo / "large.png").write_bytes(PNG + b"\0" * LARGEST)
    tools = ChangeTools(workspace(repo))
    for name in ("a.txt", "large.png", "gone.png", "../a.png"):
        with pytest.raises(NotFound):
            tools.show_picture(name)
