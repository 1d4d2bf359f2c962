"""One visit by each framework, run in that framework's own environment: `python visits.py NAME stdio|http TARGET`.

Connects, lists the tools, has the framework turn them into what it sends to a model, and calls one. Prints one JSON
object: how many tools it converted, and the text that it got back. TARGET is a command as JSON, or an address and its
token.
"""

# The frameworks are not installed where this is checked: each has an environment of its own.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false, reportOptionalMemberAccess=false, reportTypedDictNotRequiredAccess=false, reportCallIssue=false

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

KIND, TARGET = sys.argv[2], json.loads(sys.argv[3])
COMMAND: list[str] = TARGET if KIND == "stdio" else []
URL: str = TARGET[0] if KIND == "http" else ""
HEADERS = {"Authorization": f"Bearer {TARGET[1]}"} if KIND == "http" else {}
TOOL = "workspace_info"


async def mcp_1() -> tuple[int, str]:
    """The official SDK of the version before, which most frameworks still stand on."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    opened = (
        stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:]))
        if KIND == "stdio"
        else streamablehttp_client(URL, headers=HEADERS)
    )
    async with opened as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        said = await session.call_tool(TOOL, {})
        return len(tools), said.content[0].text


async def openai_agents() -> tuple[int, str]:
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
    from agents.mcp.util import MCPUtil

    server: Any = (
        MCPServerStdio(params={"command": COMMAND[0], "args": COMMAND[1:]}, client_session_timeout_seconds=60)
        if KIND == "stdio"
        else MCPServerStreamableHttp(params={"url": URL, "headers": HEADERS}, client_session_timeout_seconds=60)
    )
    async with server:
        tools = await server.list_tools()
        converted = [MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=True) for tool in tools]
        assert all(each.params_json_schema for each in converted)
        said = await server.call_tool(TOOL, {})
        return len(converted), said.content[0].text


async def langchain() -> tuple[int, str]:
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langchain_mcp_adapters.client import MultiServerMCPClient

    entry: dict[str, Any] = (
        {"transport": "stdio", "command": COMMAND[0], "args": COMMAND[1:]}
        if KIND == "stdio"
        else {"transport": "streamable_http", "url": URL, "headers": HEADERS}
    )
    tools = await MultiServerMCPClient({"postil": entry}).get_tools()
    converted = [convert_to_openai_tool(tool) for tool in tools]
    said = await next(tool for tool in tools if tool.name == TOOL).ainvoke({})
    return len(converted), text_of(said)


async def pydantic_ai() -> tuple[int, str]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    seen: dict[str, Any] = {}

    def model(messages: list[Any], info: Any) -> ModelResponse:
        seen["tools"] = len(info.function_tools)
        returned = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
        if returned:
            seen["said"] = text_of(returned[0].content)
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(TOOL, {})])

    toolset = pydantic_toolset()
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    async with agent:
        await agent.run("go")
    return seen["tools"], seen["said"]


def pydantic_toolset() -> Any:
    try:
        from pydantic_ai.mcp import MCPServerStdio, MCPServerStreamableHTTP

        if KIND == "stdio":
            return MCPServerStdio(COMMAND[0], COMMAND[1:], timeout=60)
        return MCPServerStreamableHTTP(URL, headers=HEADERS)
    except ImportError:  # since version 2
        from pydantic_ai.mcp import MCPToolset

        if KIND == "stdio":
            from fastmcp.client.transports import StdioTransport

            return MCPToolset(StdioTransport(COMMAND[0], COMMAND[1:]))
        from fastmcp.client.transports import StreamableHttpTransport

        return MCPToolset(StreamableHttpTransport(URL, headers=HEADERS))


async def llama_index() -> tuple[int, str]:
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    client = BasicMCPClient(COMMAND[0], args=COMMAND[1:]) if KIND == "stdio" else BasicMCPClient(URL, headers=HEADERS)
    tools = await McpToolSpec(client=client).to_tool_list_async()
    converted = [tool.metadata.to_openai_tool() for tool in tools]
    said = await next(tool for tool in tools if tool.metadata.name == TOOL).acall()
    return len(converted), str(said)


async def smolagents() -> tuple[int, str]:
    from smolagents import ToolCollection
    from smolagents.models import get_tool_json_schema

    def visit() -> tuple[int, str]:
        if KIND == "stdio":
            from mcp import StdioServerParameters

            given: Any = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
        else:
            given = {"url": URL, "transport": "streamable-http", "headers": HEADERS}
        with ToolCollection.from_mcp(given, trust_remote_code=True, structured_output=False) as collection:
            converted = [get_tool_json_schema(tool) for tool in collection.tools]
            said = next(tool for tool in collection.tools if tool.name == TOOL)()
            return len(converted), str(said)

    return await asyncio.to_thread(visit)


async def fastmcp() -> tuple[int, str]:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    transport: Any = (
        StdioTransport(COMMAND[0], COMMAND[1:]) if KIND == "stdio" else StreamableHttpTransport(URL, headers=HEADERS)
    )
    async with Client(transport) as client:
        tools = await client.list_tools()
        said = await client.call_tool(TOOL, {})
        return len(tools), said.content[0].text


async def strands() -> tuple[int, str]:
    from strands.tools.mcp import MCPClient

    def transport() -> Any:
        if KIND == "stdio":
            from mcp import StdioServerParameters, stdio_client

            return stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:]))
        try:
            from mcp.client.streamable_http import streamablehttp_client

            return streamablehttp_client(URL, headers=HEADERS)
        except ImportError:
            import httpx
            from mcp.client.streamable_http import streamable_http_client

            return streamable_http_client(URL, http_client=httpx.AsyncClient(headers=HEADERS))

    def visit() -> tuple[int, str]:
        with MCPClient(transport) as client:
            tools = client.list_tools_sync()
            converted = [tool.tool_spec for tool in tools]
            said = client.call_tool_sync("1", TOOL, {})
            return len(converted), said["content"][0]["text"]

    return await asyncio.to_thread(visit)


async def google_adk() -> tuple[int, str]:
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams

    if KIND == "stdio":
        from mcp import StdioServerParameters

        params: Any = StdioConnectionParams(
            server_params=StdioServerParameters(command=COMMAND[0], args=COMMAND[1:]), timeout=60
        )
    else:
        params = StreamableHTTPConnectionParams(url=URL, headers=HEADERS)
    toolset = McpToolset(connection_params=params)
    try:
        tools = await toolset.get_tools()
        converted = [tool._get_declaration() for tool in tools]
        assert all(converted)
        session = await toolset._mcp_session_manager.create_session()
        said = await session.call_tool(TOOL, {})
        return len(converted), said.content[0].text
    finally:
        await toolset.close()


async def agno() -> tuple[int, str]:
    from agno.tools.mcp import MCPTools

    if KIND == "stdio":
        from mcp import StdioServerParameters

        toolkit = MCPTools(
            server_params=StdioServerParameters(command=COMMAND[0], args=COMMAND[1:]), timeout_seconds=60
        )
    else:
        from agno.tools.mcp import StreamableHTTPClientParams

        toolkit = MCPTools(
            server_params=StreamableHTTPClientParams(url=URL, headers=HEADERS), transport="streamable-http"
        )
    async with toolkit:
        converted = [function.to_dict() for function in toolkit.functions.values()]
        said = await toolkit.session.call_tool(TOOL, {})
        return len(converted), said.content[0].text


async def autogen() -> tuple[int, str]:
    from autogen_core import CancellationToken
    from autogen_ext.tools.mcp import StdioServerParams, StreamableHttpServerParams, mcp_server_tools

    params: Any = (
        StdioServerParams(command=COMMAND[0], args=COMMAND[1:], read_timeout_seconds=60)
        if KIND == "stdio"
        else StreamableHttpServerParams(url=URL, headers=HEADERS)
    )
    tools = await mcp_server_tools(params)
    converted = [tool.schema for tool in tools]
    tool = next(tool for tool in tools if tool.name == TOOL)
    said = await tool.run_json({}, CancellationToken())
    return len(converted), tool.return_value_as_string(said)


async def haystack() -> tuple[int, str]:
    from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo

    def visit() -> tuple[int, str]:
        info: Any = (
            StdioServerInfo(command=COMMAND[0], args=COMMAND[1:])
            if KIND == "stdio"
            else StreamableHttpServerInfo(url=URL, headers=HEADERS)
        )
        toolset = MCPToolset(server_info=info, eager_connect=True)
        try:
            converted = [tool.tool_spec for tool in toolset]
            said = next(tool for tool in toolset if tool.name == TOOL).invoke()
            return len(converted), str(said)
        finally:
            toolset.close()

    return await asyncio.to_thread(visit)


async def dspy() -> tuple[int, str]:
    import dspy as library
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async with opened_streams(StdioServerParameters, stdio_client) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            tools = [library.Tool.from_mcp_tool(session, tool) for tool in (await session.list_tools()).tools]
            converted = [tool.format_as_litellm_function_call() for tool in tools]
            said = await next(tool for tool in tools if tool.name == TOOL).acall()
            return len(converted), str(said)


def opened_streams(params: Any, stdio_client: Any) -> Any:
    if KIND == "stdio":
        return stdio_client(params(command=COMMAND[0], args=COMMAND[1:]))
    try:
        from mcp.client.streamable_http import streamablehttp_client

        return streamablehttp_client(URL, headers=HEADERS)
    except ImportError:
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        return streamable_http_client(URL, http_client=create_mcp_http_client(headers=HEADERS))


async def semantic_kernel() -> tuple[int, str]:
    from semantic_kernel import Kernel
    from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
    from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin

    plugin: Any = (
        MCPStdioPlugin(name="postil", command=COMMAND[0], args=COMMAND[1:], request_timeout=60)
        if KIND == "stdio"
        else MCPStreamableHttpPlugin(name="postil", url=URL, headers=HEADERS, request_timeout=60)
    )
    async with plugin:
        kernel = Kernel()
        kernel.add_plugin(plugin)
        metadata = kernel.get_full_list_of_function_metadata()
        converted = [kernel_function_metadata_to_function_call_format(each) for each in metadata]
        said = await plugin.call_tool(TOOL)
        return len(converted), text_of(said)


async def crewai() -> tuple[int, str]:
    from crewai_tools import MCPServerAdapter

    def visit() -> tuple[int, str]:
        if KIND == "stdio":
            from mcp import StdioServerParameters

            given: Any = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
        else:
            given = {"url": URL, "transport": "streamable-http", "headers": HEADERS}
        with MCPServerAdapter(given, connect_timeout=60) as tools:
            converted = [tool.args_schema.model_json_schema() for tool in tools]
            said = next(tool for tool in tools if tool.name == TOOL).run()
            return len(converted), str(said)

    return await asyncio.to_thread(visit)


def text_of(content: Any) -> str:
    """Returns the text in what a framework hands to its model."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(text_of, content))
    if isinstance(content, dict):
        return text_of(content.get("text", ""))
    for name in ("text", "inner_content", "content"):
        if getattr(content, name, None):
            return text_of(getattr(content, name))
    return str(content)


if __name__ == "__main__":
    count, text = asyncio.run(globals()[sys.argv[1]]())
    print(json.dumps({"tools": count, "text": text}))
