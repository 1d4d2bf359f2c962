"""JSON-RPC 2.0 and MCP without I/O: frames in, events and frames out. Imports neither asyncio nor threading."""
