"""What an export of hostile comments costs the server that a model asks for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.attack.test_ending import serve
from tests.attack.test_own_memory import Watched, needs_proc, write_large_sidecar


@needs_proc
@pytest.mark.parametrize("sign", ["\u0378", "\ue000", "\U0010fffd"])
def test_an_export_of_signs_that_are_spelt_out_takes_little(tmp_path: Path, sign: str) -> None:
    """Each becomes eight signs for a model, which got none of them: it took 190 MB."""
    root = write_large_sidecar(tmp_path, [sign * (50_000 // len(sign.encode()))] * 270)
    with serve(tmp_path, root) as server:
        watched = Watched(server)
        watched.call("comments_list", limit=1)
        watched.begin()
        watched.grown.clear()
        for format_ in ("json", "jsonl", "csv", "markdown"):
            said = watched.call("export_comments", format=format_)
            assert "left out here" in json.dumps(said)
        watched.check()
