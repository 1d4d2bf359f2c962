"""The JSON-RPC error codes that Postil answers with, by name. No other module writes the numbers.

JSON-RPC 2.0 defines -32700 and -32600 to -32603. MCP added -32002, -32020 to -32022 and -32042; -32800 comes from LSP.
Our contracts use -32000 to -32007 in their own ways, so one number can have several names: each says what went wrong.
A new one is taken from -32050 to -32099, which nobody uses.
"""

from __future__ import annotations

from typing import Final

# JSON-RPC 2.0
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

# servers in general, and MCP over HTTP
SERVER_ERROR: Final = -32000
SESSION_NOT_FOUND: Final = -32001
REQUEST_CANCELLED: Final = -32800

# MCP
RESOURCE_NOT_FOUND: Final = -32002
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042

# contract 001: the bridge to GitLab
GITLAB_ERROR: Final = -32000

# contract 003: comments beside source files
SOURCE_NOT_FOUND: Final = -32001
COMMENT_NOT_FOUND: Final = -32002
INVALID_FILE_PATH: Final = -32003
FILE_ACCESS_DENIED: Final = -32004
INVALID_LINE: Final = -32005
SOURCE_NOT_PARSED: Final = -32006
SIDECAR_DAMAGED: Final = -32007

# contract 004: issues and milestones
TRACKER_FAILED: Final = -32001
