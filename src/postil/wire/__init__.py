"""JSON-RPC 2.0 and MCP as a sans-I/O engine, with its two transports. Knows core, knows no part."""
