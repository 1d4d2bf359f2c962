"""The flags of `serve` over stdio: those that its help has, without what speaks of HTTP or of other settings."""

import re
from pathlib import Path

import pytest

from postil.surfaces.setup.clients import CLIENTS
from postil.surfaces.setup.whole_entry import split_words
from postil.surfaces.shell.commands import Usage
from postil.surfaces.shell.serve_flags import read_stdio_flags
from tests.surfaces.programs import run

VALUES = {
    "--parts": "inbox", "--allow-tool": "x", "--deny-tool": "x", "--toolset": "extra", "--handshake-timeout": "9",
    "--idle-shutdown": "9", "--log-level": "warn",
}  # fmt: skip
NOT_OF_STDIO = {"--http", "--auth", "--tls-cert", "--tls-key", "--behind-proxy", "--config", "--help"}


def test_an_entry_may_have_every_flag_that_serve_has_over_stdio_and_no_other(tmp_path: Path) -> None:
    """The doctor called `serve --toolset extra` and `serve --structured` something else than Postil."""
    told = run("postil", "serve", "--help", cwd=tmp_path).stdout
    flags = {flag for line in told.splitlines() for flag in re.findall(r"^  (?:-h, )?(--[a-z-]+)", line)}
    assert flags >= NOT_OF_STDIO | VALUES.keys()
    for flag in flags:
        words = ["serve", flag, *([VALUES[flag]] if flag in VALUES else [])]
        taken = split_words(CLIENTS["claude"], words) is not None
        assert taken is (flag not in NOT_OF_STDIO), flag


@pytest.mark.parametrize("words", [["--toolset", "evil"], ["x"], ["--", "x"], ["--help"], ["--http"], ["--parts"]])
def test_what_serve_refuses_is_refused(words: list[str]) -> None:
    with pytest.raises(Usage):
        read_stdio_flags(words)
