"""An editor's extension and Postil on the same comment files: a stand-in of the one runs under Node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
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


class OpenEditor:
    """An editor that keeps a file's comments in memory from its start, and writes them over whatever is there."""

    def __init__(self, root: Path, name: str = "bank.ts") -> None:
        command = [needs("node"), str(ROOT / "tests" / "node" / "clients" / "editor.mjs"), "hold", name]
        self._process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answer()

    def does(self, *words: object) -> dict[str, Any]:
        """What it answers to a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture
def editor(comments: Comments, tmp_path: Path) -> Iterator[OpenEditor]:
    """One that was opened on a file with a comment of Postil and one of its own."""
    comments.add("bank.ts", 5, "about the sum", "NOTE")
    edit(tmp_path, "add", 18)
    opened = OpenEditor(tmp_path)
    yield opened
    opened.close()


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


def texts(comments: Comments) -> set[str]:
    return {each.text for each in comments.listed().comments}


def test_what_an_open_editor_erases_by_saving_comes_back_and_what_it_wrote_stays(
    comments: Comments, tmp_path: Path, editor: OpenEditor
) -> None:
    comments.add("bank.ts", 24, "written meanwhile", "NOTE", endLine=25)
    answered = next(each for each in comments.listed().comments if each.text == "about the sum").id
    comments.reply(answered, "an answer meanwhile")
    editor.does("add", 20)  # it saves what it holds
    assert texts(comments) == {"about the sum", "editor 18", "editor 20"}
    erased = comments.maintenance.check_files().erased
    assert {each.text for each in erased} == {"written meanwhile", "an answer meanwhile"}
    comments.maintenance.restore(all=True)
    assert texts(comments) == {"about the sum", "editor 18", "editor 20", "written meanwhile"}
    assert [reply.text for reply in comments.show(answered).comment.replies] == ["an answer meanwhile"]
    found = next(each for each in comments.listed().comments if each.text == "written meanwhile")
    assert (found.line, found.endLine, found.state) == (24, 25, "exact")
    editor.does("save")  # again, and again nothing is lost
    comments.maintenance.restore(all=True)
    assert texts(comments) == {"about the sum", "editor 18", "editor 20", "written meanwhile"}


def test_an_editor_that_ties_markers_anew_between_two_of_our_writes_loses_nothing(
    comments: Comments, tmp_path: Path
) -> None:
    comments.add("bank.ts", 5, "about the sum", "NOTE")
    comments.add("bank.ts", 23, "all of it", "NOTE", endLine=26)
    write(tmp_path, "bank.ts", "// bank\n" + CODE)
    comments.add("bank.ts", 1, "first", "NOTE")  # our places are written
    edit(tmp_path, "verify")
    write(tmp_path, "bank.ts", "// bank\n// and more\n" + CODE)
    edit(tmp_path, "verify")  # now it ties them to the new lines, before we look
    comments.add("bank.ts", 2, "second", "NOTE")
    found = {each.text: (each.line, each.endLine) for each in comments.listed().comments}
    assert found == {"about the sum": (7, 0), "all of it": (25, 28), "first": (1, 0), "second": (2, 0)}
    comments.relocate()
    shown = edit(tmp_path, "show")
    assert {text: each["line"] for text, each in shown.items()} == {text: line for text, (line, _) in found.items()}
    assert shown["all of it"]["end"] == 28


def test_an_editor_s_marker_twice_for_one_comment_is_one_comment(comments: Comments, tmp_path: Path) -> None:
    """It makes a second marker with the same comments where a commented line is pasted again."""
    identity = comments.add("bank.ts", 5, "about the sum", "NOTE").commentId
    held = json.loads(sidecar(tmp_path, "bank.ts"))
    pasted = {**held["ghostMarkers"][0], "id": "gm-pasted", "line": 6}
    pasted.pop("x-anchor")
    write(tmp_path, "bank.ts", CODE.replace("  const sum = first + second;\n", "  const sum = first + second;\n" * 2))
    held["ghostMarkers"].append(pasted)
    write(tmp_path, "bank.ts.comments", json.dumps(held, indent=2))
    assert [(each.id, each.line) for each in comments.listed().comments] == [(identity, 5)]
    comments.relocate()
    comments.add("bank.ts", 1, "another", "NOTE")
    after = json.loads(sidecar(tmp_path, "bank.ts"))
    assert sorted(each["id"] for each in after["comments"]).count(identity) == 1
    assert "gm-pasted" in {each["id"] for each in after["ghostMarkers"]}
