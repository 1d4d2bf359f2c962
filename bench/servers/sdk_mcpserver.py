"""The echo tool on the official Python SDK's MCPServer."""

import logging
import sys

from mcp.server import MCPServer

logging.disable(logging.INFO)
server = MCPServer("echo")


@server.tool()
async def echo(text: str) -> str:
    """Say it again"""
    return text


if "--http" in sys.argv:
    from bench.servers.serve_asgi import serve

    serve(server.streamable_http_app(json_response=True, stateless_http=True))
else:
    server.run()
