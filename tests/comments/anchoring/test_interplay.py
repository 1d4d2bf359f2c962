"""The extension and Postil on one file: each shows a comment where the other put it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postil.anchor.fingerprint import line_hash
from tests.comments.workspaces import Comments, commit, sidecar, workspace, write

CODE = """import { hash } from './hash';

/**
 * Keeps users.
 */
@Injectable()
export class Users {
  /** How many. */
  count(): number {
    return this.all.length;
  }

  // Adds one.
  add(user: User): void {
    this.all.push(user);
    this.changed();
  }
}
"""
MOMENT = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"users.ts": CODE})


def line_of(code: str, text: str = CODE) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if code in line)


@pytest.mark.parametrize(
    ("code", "path", "offset"),
    [
        ("this.all.push", ["Users", "add"], 1),
        ("// Adds one", ["Users", "add"], -1),
        ("return this.all.length", ["Users", "count"], 1),
        ("@Injectable", ["Users"], 0),
        ("export class Users", ["Users"], 1),
        ("Keeps users", ["Users"], -2),
    ],
)
def test_an_offset_is_counted_from_where_the_editor_says_the_symbol_begins(
    comments: Comments, code: str, path: list[str], offset: int
) -> None:
    comments.add("users.ts", line_of(code), "text", "NOTE")
    (marker,) = json.loads(sidecar(Path(comments.tree.root), "users.ts"))["ghostMarkers"]
    assert (marker["astAnchor"]["symbolPath"], marker["astAnchor"]["offset"]) == (path, offset)


def put(comments: Comments, *markers: dict[str, Any]) -> None:
    """A comment file as the extension writes it."""
    said = [
        {
            "id": f"0000000{number}-0000-4000-8000-000000000000",
            "line": marker["line"],
            "startLine": marker["line"],
            "text": "theirs",
            "author": "ext",
            "created": MOMENT,
            "updated": MOMENT,
            "ghostMarkerId": marker["id"],
        }
        for number, marker in enumerate(markers)
    ]
    for marker, comment in zip(markers, said, strict=True):
        marker["commentIds"] = [comment["id"]]
    data = {"file": "users.ts", "version": "2.1.0", "ghostMarkers": list(markers), "comments": said}
    write(Path(comments.tree.root), "users.ts.comments", json.dumps(data, indent=2))


def marker(line: int, text: str = CODE, **more: object) -> dict[str, Any]:
    lines = ["", *(row.strip() for row in text.splitlines()), ""]
    return {
        "id": f"gm-{line}",
        "line": line,
        "lineHash": line_hash(lines[line]),
        "lineText": lines[line],
        "prevLineText": lines[line - 1],
        "nextLineText": lines[line + 1],
        "lastVerified": MOMENT,
        **more,
    }


def test_a_range_of_the_extension_keeps_its_length(comments: Comments) -> None:
    put(comments, marker(line_of("add(user"), endLine=line_of("this.changed") + 1))
    write(Path(comments.tree.root), "users.ts", "// A head.\n\n" + CODE)
    (found,) = comments.file_comments("users.ts").comments
    assert (found.line, found.endLine) == (line_of("add(user") + 2, line_of("this.changed") + 3)


def test_the_line_on_the_comment_itself_is_written_with_its_place(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("users.ts", line_of("this.changed"), "text", "NOTE")
    commit(root, "commented")
    write(root, "users.ts", "// A head.\n\n" + CODE)
    comments.relocate()
    data = json.loads(sidecar(root, "users.ts"))
    assert data["comments"][0]["line"] == data["comments"][0]["startLine"] == data["ghostMarkers"][0]["line"]
    assert data["comments"][0]["line"] == line_of("this.changed") + 2


def test_code_that_the_extension_tied_a_marker_to_on_the_same_line_counts(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("users.ts", line_of("this.all.push"), "text", "NOTE")
    commit(root, "commented")
    edited = CODE.replace("    this.all.push(user);\n", "    check(user);\n    this.all.push(user);\n")
    write(root, "users.ts", edited)
    data = json.loads(sidecar(root, "users.ts"))
    mine = data["ghostMarkers"][0]
    mine |= {key: value for key, value in marker(mine["line"], edited).items() if key not in ("id", "commentIds")}
    write(root, "users.ts.comments", json.dumps(data, indent=2))
    (found,) = comments.file_comments("users.ts").comments
    assert found.line == line_of("check(user)", edited)
