"""Files and folders of the repository as GitLab holds it."""

from __future__ import annotations

import base64
import re

import pytest

from postil.gitlab.failures import GitLabFailure
from tests.emulator.app import Emulator
from tests.gitlab.answers import direct, structured, text
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_a_file_with_a_percent_sign_in_its_name_can_be_read(gitlab: Groups, emulator: Emulator) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.repository.get_file_content(123, "docs/100% sure.md")
    assert caught.value.status == 404  # asked for, and not there
    assert emulator.seen[-1].path.endswith("/files/docs%2F100%25%20sure.md")


async def test_a_very_large_file_is_cut_for_a_model_and_whole_for_a_program(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    files = {"large.txt": b"line\n" * 300_000, "large.bin": b"\xff\x00" * 500_000, "small.bin": b"\xff\x00"}
    emulator.world.commit_files(project, "Large", "John Doe", files)
    large = await gitlab.repository.get_file_content(123, "large.txt")
    assert len(text(large).encode()) <= 24_000
    assert re.search(r"lines 1-\d+ of 300000; lines=\d+- goes on", text(large))
    binary = await gitlab.repository.get_file_content(123, "large.bin")
    assert structured(binary)["content"] is None
    assert "not text" in text(binary)
    for name, answer in (("large.txt", large), ("large.bin", binary)):
        assert base64.b64decode(direct(answer)["content"]) == files[name]
    small = await gitlab.repository.get_file_content(123, "small.bin")
    assert "not text" in text(small)
    assert base64.b64decode(direct(small)["content"]) == files["small.bin"]


async def test_a_model_reads_a_file_as_text(gitlab: Groups) -> None:
    answer = await gitlab.repository.get_file_content("username/my-project", "src/lib/deep.py")
    assert (answer.content, answer.encoding) == ("x = 1\n", "text")


async def test_a_folder_is_listed_with_or_without_its_trailing_slash(gitlab: Groups) -> None:
    with_slash = (await gitlab.repository.list_repository_files(123, "src/", "main", recursive=False)).files
    assert [item.path for item in with_slash] == ["src/lib", "src/app.py"]
    assert (await gitlab.repository.list_repository_files(123, "src")).files == with_slash


async def test_an_empty_repository_has_no_files_to_list(gitlab: Groups) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.repository.list_repository_files(125)
    assert caught.value.data["message"] == "Tree not found"
