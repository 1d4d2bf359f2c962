"""Exports in every format, and what they leave out."""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.validation import ExportOptions
from postil.comments.transfer.documents import redact
from postil.core.failure import Failure, NotFound
from tests.comments.workspaces import Comments, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def root_of(comments: Comments) -> Path:
    return Path(comments.tree.root)


def test_every_format_is_exported(comments: Comments) -> None:
    comments.add("a.py", 5, "TODO: five", "TODO")
    body = msgspec.json.decode(str(comments.export("json").document))
    assert body["totalComments"] == 1
    assert body["files"][0]["comments"][0]["text"] == "TODO: five"
    text = str(comments.export("markdown", options=ExportOptions(includeSourceContext=True)).document)
    assert "## a.py" in text
    assert "value_5 = 5" in text
    assert comments.export("jsonl", "lib/b.py").totalComments == 0
    with pytest.raises(NotFound):
        comments.export("json", "missing.py")


@pytest.mark.parametrize("form", ["json", "markdown", "jsonl", "csv", "html"])
def test_an_export_holds_no_source_unless_it_is_asked_for(comments: Comments, form: str) -> None:
    comments.add("a.py", 5, "five", "TODO")
    assert "value_5 = 5" not in str(comments.export(form).document)
    assert "value_5" in str(comments.export(form, options=ExportOptions(includeSourceContext=True)).document)


def test_parquet_can_be_read_again(comments: Comments, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    comments.add("a.py", 5, "TODO: five", "TODO")
    export_document = comments.export("parquet")
    table = parquet.read_table(io.BytesIO(base64.b64decode(str(export_document.blob))))
    assert table.to_pylist()[0]["text"] == "TODO: five"
    written = comments.export("parquet", output=str(tmp_path / "out.parquet"))
    assert written.sizeBytes == (tmp_path / "out.parquet").stat().st_size


def test_parquet_without_its_library_says_what_to_install(comments: Comments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Failure) as caught:
        comments.export("parquet")
    assert "postil[parquet]" in caught.value.advice


def test_training_data_keeps_no_secret(comments: Comments) -> None:
    key = "AKIA" + "A" * 16
    write(root_of(comments), "secret.py", f'password = "hunter22"\nkey = "{key}"\n')
    comments.add("secret.py", 1, f"the key {key} leaks", "NOTE")
    text = str(comments.export("jsonl").document)
    assert key not in text
    assert "hunter22" not in text
    assert redact("nothing secret: x = 'abc'") == "nothing secret: x = 'abc'"
