"""The page, the man page and the commands say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

from postil.tracker.vocabulary import LINK_TYPES

ROOT = Path(__file__).resolve().parents[2]


def commands() -> set[str]:
    """The words one can say after `git mile`."""
    entries = json.loads((ROOT / "src/postil/catalogue/tracker.json").read_text())["operations"]
    spoken = [entry["shell"] for entry in entries if entry.get("shell")]
    alone = {word for word in spoken if " " not in word}
    return alone | {word.split()[1] for word in spoken if word.startswith(("mile ", "issue "))}


def test_the_man_page_names_commands_that_exist_and_all_of_them():
    page = (ROOT / "man/git-mile.1").read_text()
    synopsis = page.partition(".SH SYNOPSIS")[2].partition(".SH DESCRIPTION")[0]
    named = {
        word for line in synopsis.splitlines() for word in re.findall(r"(?:mile\\fR |\| ?|\()([a-z][a-z-]*)", line)
    }
    known = commands()
    links = {*LINK_TYPES, "blocked-by", "child"}
    kinds = {"issue", "milestone", "raw", "json", "desc", *links}
    assert named - known - kinds - {"none", "mcp-server", "show", "theirs", "manual"} == set()
    assert known - named <= {"gitlab"}


def test_the_page_names_every_command():
    page = (ROOT / "docs/tracker.md").read_text()
    missing = {word for word in commands() if not re.search(rf"`[^`]*\b{word}\b", page)}
    assert missing <= {"gitlab"}
