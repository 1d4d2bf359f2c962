"""A client for the GitLab methods of a Postil server. Imports neither the server nor an SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gitlab.client import McpGitlabClient
from mcp_gitlab.errors import McpGitlabError
from mcp_gitlab.results import Result
from mcp_gitlab.wire import Call, calls

if TYPE_CHECKING:
    from mcp_gitlab.async_client import AsyncMcpGitlabClient

__all__ = ["AsyncMcpGitlabClient", "Call", "McpGitlabClient", "McpGitlabError", "Result", "calls"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the asynchronous client when it is asked for: others do not pay for asyncio."""
    if name == "AsyncMcpGitlabClient":
        from mcp_gitlab.async_client import AsyncMcpGitlabClient

        return AsyncMcpGitlabClient
    raise AttributeError(f"module 'mcp_gitlab' has no attribute {name!r}")
