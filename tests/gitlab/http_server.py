"""`postil serve --http --auth pat` as a real process, every caller with a GitLab token of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postil(
    address: str,
    folder: Path,
    *words: str,
    errors: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Generator[str]:
    """The endpoint of a server that speaks to the GitLab at this address; `errors` keeps what it says on stderr."""
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    program = Path(sys.executable).with_name("postil")
    command = [str(program), "serve", "--http", "127.0.0.1:0", "--auth", "pat", *words]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "GITLAB_URL": address, "POSTIL_STATE": str(folder / "state.db"), **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        line, said = "", ("", "")
        try:
            line = process.stderr.readline()
            assert "serving http://" in line, line + process.stderr.read()
            yield line.split("serving ")[1].strip()
            assert process.poll() is None, "the server died"
        finally:
            process.terminate()
            said = process.communicate(timeout=10)
            if errors is not None:
                errors.write_text(line + "".join(said), "utf-8")
