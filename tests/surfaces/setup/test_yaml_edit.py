"""An entry in Goose's file: put in, taken out, and nothing else touched."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from postil.surfaces.setup.yaml_edit import get, put, remove

KEYS = ("extensions", "postil")
OURS = {"enabled": True, "cmd": "/opt/postil", "args": ["serve"]}
TEXTS = [
    "",
    "GOOSE_MODEL: gpt\n",
    "# mine\nGOOSE_MODEL: gpt # the best\nextensions:\n  developer:\n    enabled: true # keep\n    type: builtin\n",
    "extensions:\n    memory:\n        enabled: false\nOTHER: 1\n",
    "extensions: {}\nOTHER: 1\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_entry_is_added_and_everything_else_stays(text: str) -> None:
    put_in = put(text, KEYS, OURS)
    read = yaml.safe_load(put_in)
    assert read["extensions"].pop("postil") == OURS
    before: dict[str, Any] = yaml.safe_load(text) or {}
    assert read == {**before, "extensions": before.get("extensions") or {}}
    assert [line for line in text.splitlines() if "#" in line] == [line for line in put_in.splitlines() if "#" in line]
    assert put(put_in, KEYS, OURS) == put_in
    assert get(remove(put_in, KEYS), KEYS) is None


def test_an_older_entry_is_replaced() -> None:
    older = put(TEXTS[2], KEYS, {"cmd": "/old/postil"})
    assert yaml.safe_load(put(older, KEYS, OURS))["extensions"]["postil"] == OURS


@pytest.mark.parametrize("text", ["a: [", "- 1\n", "extensions: {developer: {enabled: true}}\n"])
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        put(text, KEYS, OURS)
