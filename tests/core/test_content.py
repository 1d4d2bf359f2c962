"""What an answer is made of, and others' words made harmless."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.core.content import Document, Embedded, Image, Link, Message, Text, said
from postil.core.others.visible import harmless


@pytest.mark.parametrize(
    ("block", "encoded"),
    [
        (Text("a"), {"type": "text", "text": "a"}),
        (Link("x://y", "y"), {"type": "resource_link", "uri": "x://y", "name": "y"}),
        (
            Link("x://y", "y", mime_type="text/plain"),
            {"type": "resource_link", "uri": "x://y", "name": "y", "mimeType": "text/plain"},
        ),
        (Image("AAAA", "image/png"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}),
        (Embedded(Document("x://y", text="")), {"type": "resource", "resource": {"uri": "x://y", "text": ""}}),
    ],
)
def test_a_block_is_encoded_by_its_kind_without_what_is_empty(block: object, encoded: object) -> None:
    assert msgspec.to_builtins(block) == encoded


def test_most_prompts_are_one_message_of_the_user() -> None:
    assert said("Please") == Message("user", Text("Please"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb", "a\\x0db"),
        ("\x7f\x80\x9f", "\\x7f\\x80\\x9f"),
        ("\u202eevil\u2069", "\\u202eevil\\u2069"),
        ("é\u00a0 \u2027\u202f", "é\u00a0 \u2027\u202f"),
        ("\u206a\u200b", "\\u206a\\u200b"),
    ],
)
def test_what_steers_a_terminal_is_made_visible(text: str, shown: str) -> None:
    assert harmless(text) == shown


@given(st.text())
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert harmless(harmless(text)) == harmless(text)
