"""The protocol revisions, 2024-11-05 to 2026-07-28: what each of them has, and which one a client gets."""

from __future__ import annotations

from msgspec import Struct

from postil.core import codes


class Era(Struct, frozen=True):
    """What a protocol revision has. One table instead of comparisons of dates all over the code."""

    version: str
    annotations: bool = False
    """Tool annotations, audio, messages in progress, the completions capability."""
    batches: bool = False
    structured: bool = False
    """Structured content, output schemas, titles, resource links; failures of tools are results a model reads."""
    pictures: bool = False
    """Icons and a website in `serverInfo`."""
    stateless: bool = False
    """No handshake: every request says its version, results say their type."""
    unknown_tool: int = codes.INVALID_PARAMS
    unknown_resource: int = codes.RESOURCE_NOT_FOUND


FIRST = Era("2024-11-05", unknown_tool=codes.METHOD_NOT_FOUND)
HANDSHAKE: dict[str, Era] = {
    era.version: era
    for era in (
        FIRST,
        Era("2025-03-26", annotations=True, batches=True),
        Era("2025-06-18", annotations=True, structured=True),
        Era("2025-11-25", annotations=True, structured=True, pictures=True),
    )
}
NEWEST = HANDSHAKE["2025-11-25"]
ZED_DRAFT = 1
"""The version, an integer, by which Zed's first draft of MCP is chosen (`dialects/zed_draft`)."""
STATELESS = Era(
    "2026-07-28",
    annotations=True,
    structured=True,
    pictures=True,
    stateless=True,
    unknown_resource=codes.INVALID_PARAMS,
)
CONTRACT_003 = "1.0.0"
"""The version that contract 003 names: echoed, with the first era's shapes."""


def negotiate(asked: object, *, only_first: bool) -> tuple[str, Era]:
    """Returns the version to answer and the era to speak. Contract faces speak the first era to everyone."""
    if asked == CONTRACT_003:
        return CONTRACT_003, FIRST
    if only_first:
        return FIRST.version, FIRST
    era = HANDSHAKE.get(asked, NEWEST) if isinstance(asked, str) else NEWEST
    return era.version, era
