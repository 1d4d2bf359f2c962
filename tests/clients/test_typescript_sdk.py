"""The official TypeScript SDK's clients, versions 1 and 2. The visit itself is tests/node/clients/visit.mjs."""

from __future__ import annotations

import subprocess

import msgspec
import pytest
from msgspec import Struct

from tests.needs import ROOT, needs, needs_package

pytestmark = pytest.mark.judge


class Seen(Struct, frozen=True):
    """What a client saw on its visit."""

    tools: list[str]
    simple: str
    mixed: list[str]
    failed: tuple[bool, str]
    unknown: int | str
    progressed: str
    progress: list[float]
    elicited: str
    resources: list[str]
    templates: list[str]
    resource: str
    prompts: list[str]
    prompt: str
    completion: list[str]
    changed: str
    version: str | None
    server: dict[str, object]


def visit(script: str, era: str, server: tuple[str, ...]) -> Seen:
    needs_package("@modelcontextprotocol/client")
    command = [needs("node"), str(ROOT / "tests" / "node" / "clients" / script), era, *server]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr.decode()
    return msgspec.json.decode(ran.stdout, type=Seen)


@pytest.mark.parametrize(
    ("script", "era", "version"),
    [
        ("v1.mjs", "legacy", None),  # this client does not say over stdio what was negotiated
        ("v2.mjs", "legacy", "2025-11-25"),
        ("v2.mjs", "modern", "2026-07-28"),
        ("v2.mjs", "auto", "2026-07-28"),
    ],
)
def test_a_typescript_client_sees_everything_it_asks_for(
    server: tuple[str, ...], script: str, era: str, version: str | None
) -> None:
    seen = visit(script, era, server)
    assert version is None or seen.version == version
    assert seen.server["name"] == "postil-conformance"
    assert "test_simple_text" in seen.tools
    assert seen.simple == "This is a simple text response for testing."
    assert seen.mixed == ["text", "image", "resource"]
    assert seen.failed == (True, "This tool intentionally returns an error for testing")
    assert seen.unknown == -32602
    assert seen.progress == [0, 50, 100]
    assert seen.elicited == "Hello, Ada, asked: What is your name?!"
    assert "test://static-text" in seen.resources
    assert seen.templates == ["test://template/{id}/data"]
    assert '"id": "7"' in seen.resource
    assert "test_simple_prompt" in seen.prompts
    assert seen.prompt == "Prompt with arguments: arg1='a', arg2='b'"
    assert seen.completion == ["test", "testing"]
    assert seen.changed == "tools"
