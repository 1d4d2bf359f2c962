"""What this part costs a model before anything is asked, and whether the emulator would notice its own mistakes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec

from postil.app import App
from postil.settings.model import GitLabSettings, Settings, Toolset
from postil.wire.protocol.eras.era import NEWEST
from postil.wire.protocol.shapes import describe_tool
from tests.emulator.recorded import answers, differences
from tests.emulator.world import seeded
from tests.gitlab.calls import ENTRIES

# A file of types recorded from real answers; it is not part of this project, so the test exists only where it is named.
RECORDED = os.environ.get("RECORDED_TYPES", "")


def listed(connected: bool, *toolsets: Toolset) -> list[dict[str, Any]]:
    settings = Settings(
        parts=("gitlab",), gitlab=GitLabSettings(token="glpat-x" if connected else "", toolsets=toolsets)
    )
    return [describe_tool(entry, NEWEST) for entry in App(settings).tools() if entry.part == "gitlab"]


def test_the_usual_tools_fit_into_24_kilobytes_and_all_into_60() -> None:
    assert len(msgspec.json.encode({"tools": listed(True)})) <= 24_000
    assert len(msgspec.json.encode({"tools": listed(True, "all")})) <= 60_000
    assert not any("outputSchema" in one for one in listed(True, "all"))


def test_every_tool_has_a_title_and_every_parameter_a_description() -> None:
    for one in msgspec.json.decode(msgspec.json.encode(listed(True, "all"))):
        assert one["title"], one["name"]
        bare = [name for name, field in one["inputSchema"].get("properties", {}).items() if "description" not in field]
        assert bare == [], one["name"]


def test_what_overwrites_says_so() -> None:
    hints = {one["name"]: one["annotations"].get("destructiveHint") for one in msgspec.json.decode(
        msgspec.json.encode(listed(True, "all"))
    )}  # fmt: skip
    overwriting = {"update_issue", "update_merge_request", "merge_merge_request", "configure_webhook"}
    assert {name for name, hint in hints.items() if hint is not False} - overwriting == {
        name for name, entry in ENTRIES.items() if entry.effect == "reads" and entry.toolset != "connect" and entry.tool
    }


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
