"""What arguments mean that several operations share: a model reads it where an operation says nothing of its own.

Runs when the catalogue is generated. What an old contract publishes is not touched.
"""

from __future__ import annotations

from typing import Any

MEANINGS = {
    "add": "labels to attach",
    "add_labels": "labels to attach",
    "assign": "people to assign",
    "assignees": "people to assign",
    "claim": "false only looks",
    "comment": "a comment to leave with it",
    "commentId": "id of the comment",
    "cursor": "nextCursor of the page before",
    "delete": "delete it instead",
    "description": "Markdown",
    "direction": "what to exchange with the remote",
    "display_name": "name that people see",
    "done": "false takes it back",
    "draft": "not ready yet",
    "due": "YYYY-MM-DD or none",
    "email": "address",
    "entity": "issue or milestone",
    "event": "only this kind",
    "filter": "query, as in git_mile_list",
    "include_closed": "closed ones too",
    "includeClosed": "closed ones too",
    "labels": "names of labels",
    "limit": "how many at most",
    "login": "account name",
    "milestone": "id, title or none",
    "minutes": "how long it is yours",
    "name": "name",
    "options": "how the export looks",
    "priority": "how urgent it is; none takes it off",
    "release": "give it back instead",
    "remove": "labels to take off",
    "remove_labels": "labels to take off",
    "reopen": "open it again instead",
    "signature": "git signature, Name <address>",
    "sort": "order",
    "status": "state",
    "title": "one line",
    "type": "kind of link",
    "unassign": "people to take off",
}


def describe_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns an input schema in which every argument that has a known meaning says it."""
    fields = {
        name: field if field.get("description") or name not in MEANINGS else {"description": MEANINGS[name], **field}
        for name, field in schema.get("properties", {}).items()
    }
    return {**schema, "properties": fields} if fields else schema
