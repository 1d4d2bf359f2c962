"""A client for the GitLab methods of a Postil server. Imports neither the server nor an SDK."""

from mcp_gitlab.client import AsyncMcpGitlabClient, McpGitlabClient
from mcp_gitlab.errors import McpGitlabError
from mcp_gitlab.results import Result

__all__ = ["AsyncMcpGitlabClient", "McpGitlabClient", "McpGitlabError", "Result"]
__version__ = "0.1.0"
