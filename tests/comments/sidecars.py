"""Sidecars as other programs write them, one of each kind."""

from __future__ import annotations

import json
from typing import Any

from postil.comments.sidecar.dialects import EXTENSION as EXTENSION_FILE
from postil.core.others.unreadable import UNREADABLE

SOURCE = """// Function 1
function add(a, b) {
  return a + b;
}

// Function 2
function multiply(a, b) {
  return a * b;
}
"""

EXTENSION: dict[str, Any] = {
    "file": "simple.js",
    "version": "2.1.0",
    "futureKey": {"kept": [1, 2.50, "é"]},
    "ghostMarkers": [
        {
            "id": "gm-hbkjsanbimgxi9o6h",
            "line": 2,
            "commentIds": ["714694ea-d554-4e62-9b8f-2f2e5a3a1c11"],
            "astAnchor": {"symbolPath": ["add"], "symbolKind": "Function", "containerName": None, "offset": 0},
            "lineHash": "d55a9883b881a4b3",
            "lineText": "function add(a, b) {",
            "prevLineText": "// Function 1",
            "nextLineText": "return a + b;",
            "lastVerified": "2025-10-19T09:29:55.625Z",
            "pluginKey": True,
        }
    ],
    "comments": [
        {
            "id": "714694ea-d554-4e62-9b8f-2f2e5a3a1c11",
            "line": 2,
            "text": "TODO: überprüfen",
            "author": "greg",
            "created": "2025-10-19T09:29:55.625Z",
            "updated": "2025-10-19T09:29:55.625Z",
            "startLine": 2,
            "ghostMarkerId": "gm-hbkjsanbimgxi9o6h",
            "tag": "TODO",
            "params": {"name": {"value": "add", "type": "dynamic", "source": "function.name"}},
            "aiMetadata": {"complexity": {"cyclomatic": 1}},
        }
    ],
}

REFERENCE: dict[str, Any] = {
    "version": "2.1.0",
    "filePath": "simple.js",
    "comments": [
        {
            "id": "c_1730000000000",
            "text": "check overflow",
            "tag": "FIXME",
            "author": "claude",
            "created": "2025-10-20T10:00:00.000Z",
            "updated": "2025-10-20T10:00:00.000Z",
            "aiMeta": {"model": "m", "confidence": 0.9, "enrichedAt": "2025-10-20T10:00:00.000Z"},
        }
    ],
    "ghostMarkers": [
        {
            "id": "gm_1730000000001",
            "commentId": "c_1730000000000",
            "line": 7,
            "anchor": "multiply",
            "anchorType": "function",
            "originalLine": 7,
        }
    ],
    "metadata": {"lastSync": "2025-10-20T10:00:00.000Z", "totalComments": 1},
}

PLAYGROUND: dict[str, Any] = {
    "version": "2.1.0",
    "fileName": "simple.js",
    "comments": [
        {
            "id": "comment-1",
            "line": 3,
            "author": "demo",
            "text": "sum",
            "tag": "NOTE",
            "timestamp": "2025-10-18T08:00:00.000Z",
            "aiMeta": {"complexity": "high", "tokens": 450},
        }
    ],
}

DOCUMENTED: dict[str, Any] = {
    "file": "simple.js",
    "version": "2.1.0",
    "hashTree": {"root": "abc", "levels": [["d55a9883b881a4b3"]]},
    "comments": [
        {
            "id": "d-1",
            "line": 7,
            "text": "what it printed",
            "author": "docs",
            "created": "2025-10-17T08:00:00.000Z",
            "updated": "2025-10-17T08:00:00.000Z",
            "tag": None,
            "aiMeta": {"tokenEstimate": {"heuristic": 12, "validated": 14}},
            "output": {"stdout": "6\n", "exitCode": 0},
            "outputHistory": [{"stdout": "5\n", "at": "2025-10-16T08:00:00.000Z"}],
            "privacy": "team",
        }
    ],
}
"""What the extension's documents promise and no program writes yet."""

FIRST: dict[str, Any] = {
    "file": "simple.js",
    "version": "1.0",
    "comments": [
        {
            "id": "1",
            "line": 8,
            "text": "product",
            "author": "greg",
            "created": "2025-10-16T08:00:00.000Z",
            "updated": "2025-10-16T08:00:00.000Z",
        }
    ],
}

# The reference server appended its own shape to an extension's file: the extension refuses the whole.
DAMAGED_BY_REFERENCE: dict[str, Any] = {
    **EXTENSION,
    "ghostMarkers": [*EXTENSION["ghostMarkers"], *REFERENCE["ghostMarkers"]],
    "comments": [*EXTENSION["comments"], *REFERENCE["comments"]],
}


def as_javascript(value: object) -> bytes:
    """As `JSON.stringify(value, null, 2)` writes it."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode()


def extension_accepts(data: bytes) -> bool:
    """Whether the extension's validator takes this file."""
    try:
        EXTENSION_FILE.decode(data)
    except UNREADABLE:
        return False
    return True
