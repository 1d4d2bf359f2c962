"""What the server refused, with the code and the data of its JSON-RPC error object."""

from __future__ import annotations

from typing import Any, cast


class McpGitlabError(Exception):
    """A JSON-RPC error: `code`, `message` and `data`. `status` is GitLab's, where the error came from there."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        said = (data or {}).get("message")
        super().__init__(f"{message}: {said}" if said and said != message else message)
        self.code = code
        self.message = message
        self.data: dict[str, Any] = data or {}

    @property
    def status(self) -> int | None:
        """GitLab's status, or None."""
        status = self.data.get("status")
        return status if isinstance(status, int) else None

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the same call may succeed, or None where the server did not say."""
        seconds = self.data.get("retry_after")
        return float(seconds) if isinstance(seconds, int | float) and seconds >= 0 else None

    @property
    def is_rate_limited(self) -> bool:
        """Whether waiting is all that is needed."""
        return self.code == -32000 and self.status == 429


def from_object(error: object) -> McpGitlabError:
    """Return the exception for an error object; odd ones too."""
    if not isinstance(error, dict):
        return McpGitlabError(-32603, "The server answered an error that cannot be read")
    fields = cast("dict[str, Any]", error)
    data = fields.get("data")
    code = fields.get("code")
    return McpGitlabError(
        code if isinstance(code, int) else -32603,
        str(fields.get("message", "Unknown error")),
        cast("dict[str, Any]", data) if isinstance(data, dict) else None,
    )
