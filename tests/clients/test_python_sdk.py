"""The official Python SDK's client, handshake and stateless."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.needs import ROOT

pytestmark = pytest.mark.judge

MODES = ["legacy", "auto", "2026-07-28"]


def client(server: tuple[str, ...], mode: str, **handlers: Any) -> Client:
    kind, target, *arguments = server
    if kind == "http":
        return Client(target, mode=mode, read_timeout_seconds=20, **handlers)
    started = StdioServerParameters(command=target, args=arguments, cwd=ROOT, env=dict(os.environ))
    return Client(started, mode=mode, read_timeout_seconds=20, **handlers)


def text(result: types.CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", MODES)
def test_the_python_client_lists_calls_reads_and_completes(server: tuple[str, ...], mode: str) -> None:
    async def visit() -> None:
        async with client(server, mode) as session:
            assert session.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            tools = await session.list_tools()
            assert "test_simple_text" in [tool.name for tool in tools.tools]
            assert text(await session.call_tool("test_simple_text")) == "This is a simple text response for testing."
            failed = await session.call_tool("test_error_handling")
            assert failed.is_error
            assert text(failed) == "This tool intentionally returns an error for testing"
            read = await session.read_resource("test://template/7/data")
            assert '"id": "7"' in getattr(read.contents[0], "text", "")
            prompt = await session.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
            assert "arg1='a'" in getattr(prompt.messages[0].content, "text", "")
            reference = types.PromptReference(name="test_prompt_with_arguments")
            completed = await session.complete(reference, {"name": "arg1", "value": "te"})
            assert completed.completion.values == ["test", "testing"]

    asyncio.run(visit())


@pytest.mark.parametrize("mode", MODES)
def test_the_python_client_hears_progress(server: tuple[str, ...], mode: str) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def visit() -> None:
        async with client(server, mode) as session:
            await session.call_tool("test_tool_with_progress", progress_callback=hear)

    asyncio.run(visit())
    assert heard == [0, 50, 100]


@pytest.mark.parametrize("mode", MODES)
def test_the_python_client_is_asked_and_answers(server: tuple[str, ...], mode: str) -> None:
    async def answer(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada", "color": "blue"})

    async def visit() -> None:
        async with client(server, mode, elicitation_callback=answer) as session:
            once = await session.call_tool("test_input_required_result_elicitation")
            assert text(once) == "Hello, Ada!"
            twice = await session.call_tool("test_input_required_result_multi_round")
            assert text(twice) == "Ada likes blue"

    asyncio.run(visit())


@pytest.mark.parametrize("mode", MODES)
def test_the_python_client_is_told_that_a_tool_is_unknown(server: tuple[str, ...], mode: str) -> None:
    async def visit() -> None:
        async with client(server, mode) as session:
            with pytest.raises(MCPError) as refused:
                await session.call_tool("no_such_tool")
            assert refused.value.error.code == -32602

    asyncio.run(visit())


def test_the_python_client_hears_of_changes_it_subscribed_to(server: tuple[str, ...]) -> None:
    async def visit() -> None:
        async with client(server, "2026-07-28") as session, session.listen(tools_list_changed=True) as events:
            await session.call_tool("test_trigger_tool_change")
            event = await asyncio.wait_for(anext(aiter(events)), 10)
            assert "Tool" in type(event).__name__

    asyncio.run(visit())
