"""An editor's extension and Postil on the same comment files: a stand-in of the one runs under Node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.comments.workspaces import Comments, sidecar, workspace, write
from tests.needs import ROOT, needs

CODE = """import { hash } from './hash';

// Adds what it is given.
function add(first, second) {
  const sum = first + second;

  return sum;
}

@sealed
class Account {
  balance = 0;

  // Takes money in.
  @logged
  deposit(amount) {
    if (amount > 0) {
      this.balance = add(this.balance, amount);
    }
    return this.balance;
  }

  withdraw(amount) {
    this.balance = add(this.balance, -amount);
    return this.balance;
  }
}
"""


DECORATED = """// The page of an account.
@Component({
  selector: 'account',
  template: '<p>{{ name }}</p>',
})
// Nobody inherits from it.
@sealed
export class Account {
  // What it is called.
  @Input({
    alias: 'title',
  })
  // and how
  @logged
  named(title) {
    return title;
  }

  @Output() changed(event) {
    return event;
  }
}
"""


def edit(root: Path, act: str, *words: object, name: str = "bank.ts") -> dict[str, Any]:
    """What the editor does with a file and its comments."""
    command = [needs("node"), str(ROOT / "tests" / "node" / "clients" / "editor.mjs"), act, name, *map(str, words)]
    ran = subprocess.run(command, cwd=root, capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr.decode()
    return json.loads(ran.stdout)


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"bank.ts": CODE})


def commented_lines() -> list[int]:
    return [number for number, text in enumerate(CODE.split("\n"), 1) if text.strip()]


def test_the_editor_shows_every_comment_on_the_line_that_it_was_written_on(comments: Comments, tmp_path: Path) -> None:
    for line in commented_lines():
        comments.add("bank.ts", line, f"on {line}", "NOTE")
    shown = edit(tmp_path, "show")
    assert {text: each["line"] for text, each in shown.items()} == {f"on {line}": line for line in commented_lines()}


def test_the_editor_shows_what_moved_where_postil_wrote_that_it_is(comments: Comments, tmp_path: Path) -> None:
    for line in commented_lines():
        comments.add("bank.ts", line, f"on {line}", "NOTE")
    write(tmp_path, "bank.ts", CODE.replace("    if (amount", "    // checked\n    check(amount);\n    if (amount"))
    comments.relocate()
    new = {
        line: line + 2 * (line >= CODE[: CODE.index("    if (amount")].count("\n") + 1) for line in commented_lines()
    }
    shown = edit(tmp_path, "show")
    assert {text: each["line"] for text, each in shown.items()} == {f"on {old}": line for old, line in new.items()}
    assert all(each["comment"] == each["line"] for each in shown.values())


def test_what_the_editor_saves_without_a_change_is_what_postil_wrote(comments: Comments, tmp_path: Path) -> None:
    for line in (4, 16, 23):
        comments.add("bank.ts", line, "ünïcode “quoted” \t /", "NOTE", endLine=line + 1)
    before = sidecar(tmp_path, "bank.ts")
    edit(tmp_path, "save")
    assert sidecar(tmp_path, "bank.ts") == before


def test_postil_shows_and_follows_what_the_editor_wrote(comments: Comments, tmp_path: Path) -> None:
    one, several = edit(tmp_path, "add", 18)["id"], edit(tmp_path, "add", 23, 26)["id"]
    found = {each.id: each for each in comments.listed().comments}
    assert (found[one].line, found[one].state, found[several].line, found[several].endLine) == (18, "exact", 23, 26)
    write(
        tmp_path, "bank.ts", CODE.replace("// Adds", "// It is exact.\n// Adds").replace("    if (am", "\n    if (am")
    )
    comments.relocate()
    found = {each.id: each for each in comments.listed().comments}
    assert (found[one].line, found[several].line, found[several].endLine) == (20, 25, 28)
    shown = edit(tmp_path, "show")
    assert (shown["editor 18"]["line"], shown["editor 18"]["comment"]) == (20, 20)
    assert (shown["editor 23"]["line"], shown["editor 23"]["end"]) == (25, 28)


def test_where_a_person_drags_a_comment_in_the_editor_it_is_for_postil_too(comments: Comments, tmp_path: Path) -> None:
    identity = comments.add("bank.ts", 5, "about the sum", "NOTE").commentId
    edit(tmp_path, "move", 24)
    assert comments.show(identity).comment.line == 24
    write(tmp_path, "bank.ts", "// bank\n" + CODE)
    assert comments.show(identity).comment.line == 25
    comments.relocate()
    assert edit(tmp_path, "show")["about the sum"]["line"] == 25


@pytest.mark.parametrize("name", ["page.ts", "page.js"])
def test_decorators_of_several_lines_move_no_comment_in_the_editor(tmp_path: Path, name: str) -> None:
    comments = workspace(tmp_path, **{name: DECORATED})
    lines = [number for number, text in enumerate(DECORATED.split("\n"), 1) if text.strip()]
    for line in lines:
        comments.add(name, line, f"on {line}", "NOTE", endLine=0 if line % 3 else line + 1)
    shown = edit(tmp_path, "show", name=name)
    assert {text: each["line"] for text, each in shown.items()} == {f"on {line}": line for line in lines}
    write(tmp_path, name, DECORATED.replace("    alias:", "    required: true,\n    alias:").replace("@sealed\n", ""))
    comments.relocate()
    kept = {line: line - (line > 7) + (line > 10) for line in lines if line != 7}
    shown = edit(tmp_path, "show", name=name)
    assert {text: each["line"] for text, each in shown.items() if text != "on 7"} == {
        f"on {old}": line for old, line in kept.items()
    }


def test_a_comment_that_stayed_on_its_line_is_shown_there_though_its_function_begins_elsewhere(
    comments: Comments, tmp_path: Path
) -> None:
    comments.add("bank.ts", 20, "on the balance", "NOTE")
    write(
        tmp_path,
        "bank.ts",
        CODE.replace("// Adds what it is given.\n", "").replace("  @logged\n", "  @logged\n  @timed\n"),
    )
    assert [each.state for each in comments.listed().comments] == ["exact"]
    assert comments.relocate().moved == ()
    assert edit(tmp_path, "show")["on the balance"]["line"] == 20
    assert [each.state for each in comments.listed().comments] == ["exact"]
