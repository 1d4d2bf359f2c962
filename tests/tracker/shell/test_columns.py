"""Tables of what others wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tracker.groups import ESCAPES, forged
from tests.tracker.programs import answered, said


@pytest.mark.parametrize("style", ["table", "raw"])
def test_what_others_wrote_stays_in_its_line_and_commands_no_terminal(repository: Path, style: str):
    id_ = forged(repository)
    quick = said(repository, "list", "issue", "--long", "--format", style)
    slow = said(repository, "--repo", str(repository), "list", "issue", "--long", "--format", style)
    assert quick == slow
    assert len(quick.splitlines()) == (2 if style == "table" else 1)
    told = (
        quick
        + said(repository, "log", id_)
        + said(repository, "ready")
        + said(repository, "show", id_).partition("\n")[0]
    )
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told) is None
    assert answered(repository, "show", id_)["title"] == ESCAPES  # nothing is lost: JSON has it as it is
