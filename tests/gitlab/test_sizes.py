"""What this part costs a model before anything is asked, and whether the emulator would notice its own mistakes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from postil.app import App
from postil.settings.model import GitLabSettings, Settings
from postil.wire.protocol.shapes import describe_tool
from tests.emulator.recorded import answers, differences
from tests.emulator.world import seeded
from tests.test_app import NEWEST

# A file of types recorded from real answers; it is not part of this project, so the test exists only where it is named.
RECORDED = os.environ.get("RECORDED_TYPES", "")


def listed(connected: bool) -> list[dict[str, Any]]:
    settings = Settings(parts=("gitlab",), gitlab=GitLabSettings(token="glpat-x" if connected else ""))
    return [describe_tool(entry, NEWEST) for entry in App(settings).registry().tools if entry.part == "gitlab"]


def test_the_tools_fit_into_twelve_kilobytes_and_declare_no_schemas_of_results() -> None:
    tools = listed(connected=True)
    assert not any("outputSchema" in one for one in tools)
    assert len(msgspec.json.encode({"tools": tools})) <= 12_000


def test_without_a_token_the_list_is_one_small_tool() -> None:
    assert len(msgspec.json.encode({"tools": listed(connected=False)})) <= 600


def test_a_wrong_type_and_a_missing_key_of_the_emulator_would_be_noticed() -> None:
    given = answers(seeded())
    keys: dict[str, Any] = {name: {"types": ["string"], "presence": 1.0} for name in ("name", "id", "never_there")}
    recorded: dict[str, Any] = {kind: {"n": 0, "keys": {}} for kind in given}
    recorded |= {"tree": {"n": 50, "keys": keys}}
    assert differences(recorded, given) == ["tree.never_there is missing"]
    keys["id"]["types"] = ["integer"]
    assert differences(recorded, given) == ["tree.id is string, recorded as integer", "tree.never_there is missing"]


if RECORDED:

    def test_the_emulators_answers_have_the_recorded_types() -> None:
        assert differences(json.loads(Path(RECORDED).read_text("utf-8")), answers(seeded())) == []
