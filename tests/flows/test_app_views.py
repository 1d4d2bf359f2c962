"""The documents of the views: whole in themselves, and nothing else let in."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode

import pytest

from postil.flows.app_views import TITLES, make_view


@pytest.mark.parametrize("name", TITLES)
def test_a_view_is_one_document_that_runs_its_own_script_alone(name: str) -> None:
    view = make_view(name)
    text = view.text or ""
    assert text.startswith("<!doctype html>")
    assert len(text.encode()) < 24_000
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert "unsafe" not in policy[1]
    for kind in ("script", "style"):
        (inside,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|https?://(?!www\.w3\.org)", text)
    assert f'data-view="{name}"' in text
    assert view.meta is not None
    assert not any(view.meta["ui"]["csp"].values())
