"""What an answer is made of: text, embedded resources, links, images, sound, and the messages of a prompt.

These are neutral shapes; the wire decides which of them an era has and how they look there.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct


class Text(Struct, frozen=True, tag="text"):
    """Plain text or Markdown for people and models."""

    text: str


class Embedded(Struct, frozen=True, tag="resource"):
    """A whole document inside the answer: `text`, or base64 in `blob`."""

    resource: Document


class Document(Struct, frozen=True, omit_defaults=True, rename={"mime_type": "mimeType", "meta": "_meta"}):
    """One read document: its address, its type and its text or base64 bytes."""

    uri: str
    mime_type: str = ""
    text: str | None = None
    blob: str | None = None
    meta: dict[str, Any] | None = None


class Link(Struct, frozen=True, tag="resource_link", omit_defaults=True, rename={"mime_type": "mimeType"}):
    """The address of a resource the client may read."""

    uri: str
    name: str
    description: str = ""
    mime_type: str = ""


class Image(Struct, frozen=True, tag="image", rename={"mime_type": "mimeType"}):
    """A picture, base64."""

    data: str
    mime_type: str


class Audio(Struct, frozen=True, tag="audio", rename={"mime_type": "mimeType"}):
    """A sound, base64."""

    data: str
    mime_type: str


Block: TypeAlias = Text | Embedded | Link | Image | Audio


class Message(Struct, frozen=True):
    """One message of a prompt."""

    role: Literal["user", "assistant"]
    content: Block


def said(text: str) -> Message:
    """Returns the user's message with this text: what most prompts are made of."""
    return Message("user", Text(text))
