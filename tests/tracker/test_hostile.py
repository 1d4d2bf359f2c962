"""Text that nobody should write: in arguments, in files that are imported, in logs that others push."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_bytes_that_are_no_text_are_refused(repository: Path, tmp_path: Path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{}")
    code = "import sys; from postil.surfaces.shell.main import git_mile; sys.exit(git_mile())"
    for name in (str(tmp_path / "bytes"), "-"):
        with (tmp_path / "bytes").open("rb") as given:
            done = subprocess.run(
                [sys.executable, "-c", code, "import", name],
                cwd=repository,
                stdin=given,
                capture_output=True,
                timeout=60,
            )
        assert (done.returncode, b"not UTF-8" in done.stderr) == (2, True)
