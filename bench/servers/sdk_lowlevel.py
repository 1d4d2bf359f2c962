"""The echo tool on the official Python SDK's low-level Server. `--http` serves Streamable HTTP on a free port."""

import sys

import mcp_types as types
from mcp.server import Server

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", description="Say it again", input_schema=SCHEMA)])


async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(text=params.arguments["text"])])


server = Server("echo", version="1", on_list_tools=list_tools, on_call_tool=call_tool)

if "--http" in sys.argv:
    from bench.servers.serve_asgi import serve

    serve(server.streamable_http_app(json_response=True, stateless_http=True))
else:
    import anyio
    from mcp.server.stdio import stdio_server

    async def main():
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(main)
