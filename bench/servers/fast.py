"""The echo tool on FastMCP."""

import logging
import sys

from fastmcp import FastMCP

logging.disable(logging.INFO)
server = FastMCP("echo")


@server.tool
async def echo(text: str) -> str:
    """Say it again"""
    return text


if "--http" in sys.argv:
    from bench.servers.serve_asgi import serve

    serve(server.http_app(json_response=True, stateless_http=True))
else:
    server.run(show_banner=False)
