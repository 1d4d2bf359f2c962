"""Pages that people read: what they say is true of the code."""

import re
from pathlib import Path

from postil.settings import _ENVIRONMENT  # pyright: ignore[reportPrivateUsage] # the page has to name every one
from postil.settings_files import HARMLESS, settable_keys

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = (ROOT / "docs" / "settings.md").read_text("utf-8")


def rows() -> dict[str, str]:
    """The keys of the table, each with its row."""
    found: dict[str, str] = {}
    for line in SETTINGS.splitlines():
        cell = line.split("|")[1] if line.startswith("| `") else ""
        found |= dict.fromkeys(re.findall(r"`([a-z_.]+)`", cell), line)
    return found


def test_the_settings_page_has_every_key_and_no_other() -> None:
    assert set(rows()) == settable_keys()


def test_the_settings_page_marks_what_a_repository_may_say() -> None:
    assert {key for key, line in rows().items() if line.split("|")[2].strip() == "●"} == HARMLESS


def test_the_settings_page_names_every_variable() -> None:
    for name in _ENVIRONMENT:
        assert f"`{name}`" in SETTINGS
