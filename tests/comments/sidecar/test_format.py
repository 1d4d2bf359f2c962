"""Tags are detected as the extension does."""

from __future__ import annotations

import pytest

from postil.comments.sidecar.format import detect_tag


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("TODO: x", "TODO"),
        ("todo x", "TODO"),
        ("FIXME:x", "FIXME"),
        ("? why", "QUESTION"),
        ("WARN: x", "WARNING"),
        ("⭐ good", "STAR"),
        ("TODOS are many", None),
        ("plain", None),
    ],
)
def test_tags_are_detected_as_the_extension_does(text: str, tag: str | None) -> None:
    assert detect_tag(text) == tag
