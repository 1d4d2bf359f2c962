"""Sources that comments are written into keep every other byte."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.core.failure import Failure
from tests.comments.workspaces import Comments, root_of, sidecar, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path / "here", **{"a.py": CODE, "lib/b.py": CODE})


def test_a_source_that_is_not_utf_8_is_never_written_back(comments: Comments) -> None:
    root = root_of(comments)
    content = b"# caf\xe9\n# @paired: TODO: convert\nx = 1\n"
    path = write(root, "latin.py", content)
    comments.add("latin.py", 3, "inline me", "NOTE")
    for command in (
        lambda: comments.transfer.import_files(("latin.py",), remove=True),
        lambda: comments.transfer.write_inline("latin.py"),
    ):
        with pytest.raises(Failure) as caught:
            command()
        assert caught.value.code == -32006
    assert path.read_bytes() == content
    assert len(comments.transfer.import_files(("latin.py",)).added) == 1


def test_line_ends_and_the_byte_order_mark_survive_inline_comments(comments: Comments) -> None:
    root = root_of(comments)
    content = b"\xef\xbb\xbfconst a = 1;\r\nconst b = 2;\r\n"
    path = write(root, "win.ts", content)
    comments.add("win.ts", 2, "look", "NOTE")
    assert comments.transfer.write_inline("win.ts").written == 1
    assert path.read_bytes() == b"\xef\xbb\xbfconst a = 1;\r\n// @paired: look\r\nconst b = 2;\r\n"
    comments.transfer.import_files(("win.ts",), remove=True)
    assert path.read_bytes() == content
    assert len(msgspec.json.decode(sidecar(root, "win.ts"))["comments"]) == 1
