"""Texts from flags, files, standard input and an editor."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.tracker.programs import answered, run


def test_texts_and_labels_come_from_files(repository: Path, tmp_path: Path):
    (tmp_path / "d.md").write_text("A long\n\ndescription\n\n")
    (tmp_path / "labels").write_text("one\n# not me\ntwo\n")
    made = answered(
        repository,
        "create",
        "issue",
        "T",
        "--description-file",
        str(tmp_path / "d.md"),
        "--label-file",
        str(tmp_path / "labels"),
    )
    assert (made["description"], made["labels"]) == ("A long\n\ndescription", ["one", "two"])
    both = run(repository, "create", "issue", "T", "--description", "x", "--description-file", str(tmp_path / "d.md"))
    assert both.returncode == 2
    assert "Give one of them" in both.stderr


def test_editing_with_flags_opens_no_editor_and_without_a_terminal_says_what_to_do(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    assert answered(repository, "edit", id_, "--title", "New")["changed"] == ["title"]
    refused = run(repository, "edit", id_)
    assert refused.returncode == 2
    assert "no terminal" in refused.stderr
    empty = run(repository, "comment", "issue", id_)
    assert empty.returncode == 2
    assert "--comment" in empty.stderr


def on_a_terminal(where: Path, *words: str, **environ: str) -> int:
    """Run `git mile` as a person at a terminal does; its exit status."""
    parent, child = pty.openpty()
    code = "import sys; from postil.surfaces.shell.main import git_mile as run; sys.exit(run())"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=where,
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, **environ},
        timeout=60,
    )
    os.close(child)
    os.close(parent)
    return done.returncode


def editor_that_types(folder: Path, name: str, text: str) -> str:
    editor = folder / name
    editor.write_text(f'#!/bin/sh\ncat "$1" > "$0.seen"\n(head -2 "$0.seen"; printf \'{text}\') > "$1"\n')
    editor.chmod(0o755)
    return str(editor)


def test_create_takes_its_first_comment_from_the_editor_that_git_mile_names(repository: Path, tmp_path: Path):
    mine = editor_that_types(tmp_path, "mine", "# A heading\\nTyped, on two\\nlines\\n")
    other = editor_that_types(tmp_path, "other", "wrong\\n")
    variables = {"GIT_MILE_EDITOR": mine, "VISUAL": other, "EDITOR": other}
    assert on_a_terminal(repository, "create", "issue", "From the editor", "--editor", **variables) == 0
    (item,) = answered(repository, "list", "issue")["items"]
    assert [c["body"] for c in answered(repository, "show", item["id"])["comments"]] == [
        "# A heading\nTyped, on two\nlines"
    ]
    assert "# The first comment on: From the editor" in (tmp_path / "mine.seen").read_text()
    assert on_a_terminal(repository, "create", "issue", "x", "--editor", "--comment", "y", **variables) == 2
    empty = editor_that_types(tmp_path, "empty", "\\n \\n")
    assert on_a_terminal(repository, "create", "issue", "x", "--editor", GIT_MILE_EDITOR=empty) == 2
    assert len(answered(repository, "list", "issue")["items"]) == 1


def test_on_a_terminal_the_editor_is_used(repository: Path, tmp_path: Path):
    id_ = answered(repository, "create", "issue", "T", "--description", "old")["id"]
    editor = editor_that_types(tmp_path, "editor", "#5 is a typed title\\n\\nTyped text\\n")
    assert on_a_terminal(repository, "edit", id_, EDITOR=editor, VISUAL=editor) == 0
    shown = answered(repository, "show", id_)
    assert (shown["title"], shown["description"]) == ("#5 is a typed title", "Typed text")


def make_editor(where: Path, script: str) -> str:
    path = where / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_hints_and_an_unchanged_quote_are_never_posted(repository: Path, tmp_path: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    quoted = answered(repository, "comment", id_, "what do you think?")["comment_id"]
    nothing = make_editor(tmp_path, "true")
    assert on_a_terminal(repository, "comment", id_, "--quote", quoted, GIT_MILE_EDITOR=nothing) == 2
    above = make_editor(tmp_path, 'printf "I agree\\n" | cat - "$1" > "$1.new" && mv "$1.new" "$1"')
    assert on_a_terminal(repository, "comment", id_, "--quote", quoted, GIT_MILE_EDITOR=above) == 0
    body = answered(repository, "show", id_)["comments"][-1]["body"]
    assert body.startswith("I agree")
    assert "dropped" not in body
    assert "# Comment on" not in body


def test_what_was_typed_outlives_a_write_that_is_refused(repository: Path, tmp_path: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    # While the person types, the log becomes unwritable.
    lock = repository / ".git/refs/postil/log"
    editor = make_editor(tmp_path, f'echo "hours of work" > "$1"; chmod 0 {lock}; rm -rf {lock}; touch {lock}')
    assert on_a_terminal(repository, "comment", id_, GIT_MILE_EDITOR=editor) != 0
    (kept,) = (repository / ".git/postil").glob("unsent-*.md")
    assert kept.read_text().strip() == "hours of work"
