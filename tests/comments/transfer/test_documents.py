"""Documents run nothing where they are opened."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from postil.comments.transfer.read_export import guard_cell, unguard_cell
from postil.core.content import Embedded
from postil.core.failure import InvalidArguments
from tests.comments.transfer.test_read_export import fill
from tests.comments.workspaces import Comments, workspace

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path / "here", **{"a.py": CODE, "lib/b.py": CODE})


def test_a_spreadsheet_runs_nothing(comments: Comments) -> None:
    comments.add("a.py", 1, '=HYPERLINK("http://x")', "NOTE", "@ann")
    rows = list(csv.reader(io.StringIO(str(comments.export("csv").document))))
    assert rows[1][rows[0].index("text")] == '\'=HYPERLINK("http://x")'
    assert rows[1][rows[0].index("author")] == "'@ann"
    for cell in ("=1", "'=1", "'", "plain", "'quoted'", "-x"):
        assert unguard_cell(guard_cell(cell)) == cell


def test_a_page_shows_comments_and_runs_nothing(comments: Comments) -> None:
    fill(comments)
    comments.add("a.py", 2, "<script>alert(1)</script>", "NOTE", "<b>ann")
    page = str(comments.export("html", context=1).document)
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>ann" not in page
    assert "yes, and?" in page
    assert "value_8 = 8" in page


def test_the_contract_has_four_formats(comments: Comments) -> None:
    export = comments.face().operation("export_comments")
    with pytest.raises(InvalidArguments):
        export.decode({"format": "html"})
    assert comments.export("html").format == "html"  # the shell and the united server have more


def test_an_export_of_nothing_is_an_empty_text_and_not_no_text(tmp_path: Path) -> None:
    (block,) = workspace(tmp_path / "empty").export("jsonl").for_model()
    assert isinstance(block, Embedded)
    assert (block.resource.text, block.resource.blob) == ("", None)
