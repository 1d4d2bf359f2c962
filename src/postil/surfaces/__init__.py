"""How the world calls us: MCP, direct JSON-RPC, the shell, HTTP. Knows core and wire, knows no part."""
