"""MCP and direct methods over HTTP, as raw ASGI."""
