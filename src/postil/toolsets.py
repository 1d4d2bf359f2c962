"""Toolsets: names for groups of GitLab's operations, so that a server may offer some of them.

Outside of the part: every command asks what is hidden, and none but GitLab's own should load GitLab's code.
"""

from __future__ import annotations

TOOLSETS: dict[str, tuple[str, ...]] = {
    "projects": ("list_projects", "get_project", "search_projects"),
    "issues": (
        "list_issues",
        "get_issue",
        "create_issue",
        "update_issue",
        "list_issue_notes",
        "create_issue_note",
        "search_issues",
    ),
    "merge_requests": (
        "list_merge_requests",
        "get_merge_request",
        "create_merge_request",
        "get_merge_request_diff",
        "list_merge_request_discussions",
        "comment_on_merge_request",
        "resolve_discussion",
    ),
    "pipelines": ("list_pipelines", "get_pipeline", "trigger_pipeline"),
    "repository": ("get_file_content", "list_repository_files"),
    "webhooks": ("configure_webhook", "list_webhook_events"),
}
CONNECT = "connect_gitlab"


def denied(toolsets: tuple[str, ...], connected: bool) -> tuple[str, ...]:
    """The operations that are hidden: all but one where nothing is connected, else those of other toolsets."""
    if not connected:
        return tuple(name for names in TOOLSETS.values() for name in names)
    hidden = tuple(name for kind, names in TOOLSETS.items() if toolsets and kind not in toolsets for name in names)
    return (*hidden, CONNECT)
