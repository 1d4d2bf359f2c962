"""What a person does in lazygit, step by step: the same in every version."""

from pathlib import Path
from typing import Any

from tests.e2e.lazygit import open_lazygit
from tests.inbox.people import Person, git


def make_reviewer(folder: Path) -> Person:
    """A person with a commit to look at, a staged change and an unstaged one."""
    person = Person(folder)
    lines = [f"line {number}" for number in range(1, 41)]

    def write() -> None:
        (person.root / "code.txt").write_text("\n".join(lines) + "\n")

    write()
    git(person.root, "add", "-A")
    git(person.root, "commit", "-qm", "forty lines")
    lines[4], lines[19] = "line FIVE", "line TWENTY"
    write()
    git(person.root, "commit", "-qam", "two changes")
    lines[34] = "line 35, staged"
    write()
    git(person.root, "add", "-A")
    lines[6], lines[24] = "line SEVEN", "line 25, changed"
    write()
    return person


def remark_in_six_places(person: Person, version: str) -> None:
    """One remark each: file list, unstaged lines, staged lines, a commit's files, lines of a commit, commit list."""
    with open_lazygit(person, version) as lazygit:
        lazygit.see("MM code.txt", "+line SEVEN")
        lazygit.remark("the whole of code.txt", "25: from the file list", 1)
        lazygit.press_until("Enter", "+line SEVEN", "Staged changes")
        lazygit.select_lines()
        lazygit.press("Down")  # from the deleted line to the added one
        lazygit.remark("7  selected: +line SEVEN", "an unstaged line", 2)
        lazygit.press("Tab")
        lazygit.select_lines()
        lazygit.remark("-35  selected: -line 35", "a staged line, deleted", 3)
        lazygit.press_until("Escape", "Commit: c")  # back in the file list
        lazygit.press("4")
        lazygit.press_until("Enter", "Diff files", "M code.txt")
        lazygit.remark("the whole of code.txt", "a file of a commit", 4)
        lazygit.press_until("Enter", "+line FIVE")
        if lazygit.version < (0, 66):
            lazygit.see("Custom patch")
        lazygit.select_lines()
        lazygit.press("Down")
        lazygit.remark("5  selected: +line FIVE", "a line of a commit", 5)
        lazygit.press_until("Escape", "Commits - Reflog")
        lazygit.press("4")
        lazygit.remark("the whole commit", "a commit", 6)


def check_six_places(person: Person) -> None:
    """See that each remark landed where it was meant."""
    head = git(person.root, "rev-parse", "HEAD")
    expected: list[tuple[str, dict[str, Any]]] = [
        ("from the file list", {"file": "code.txt", "line": "25", "code": "line 25, changed"}),
        ("an unstaged line", {"file": "code.txt", "line": "7", "code": "line SEVEN"}),
        ("a staged line, deleted", {"file": "code.txt", "line": "35", "side": "old", "code": "line 35"}),
        ("a file of a commit", {"file": "code.txt", "commit": head}),
        ("a line of a commit", {"file": "code.txt", "line": "5", "commit": head, "code": "line FIVE"}),
        ("a commit", {"file": "", "commit": head}),
    ]
    found = person.messages()
    assert [message["comment"] for message in found] == [comment for comment, _ in expected]
    for message, (_, wanted) in zip(found, expected, strict=True):
        assert {name: message.get(name, "") for name in wanted} == wanted


def review_with_keys(person: Person, version: str) -> None:
    """Drafts, one of them typed in the editor and one a question, and the key that sends them as one review."""
    editor = person.root.parent / "editor"
    editor.write_text('#!/bin/sh\nprintf "first line\\n\\nthird line\\n" >> "$1"\n')
    editor.chmod(0o755)
    person.environment |= {"POSTIL_INBOX_DRAFT": "1", "VISUAL": str(editor)}
    with open_lazygit(person, version) as lazygit:
        lazygit.see("MM code.txt", "+line SEVEN")
        lazygit.choose("C-x", "the whole of code.txt")
        lazygit.see("#1 is a draft")
        lazygit.press_until("Enter", "+line SEVEN", "MM code.txt")  # back from the terminal
        lazygit.remark("the whole of code.txt", "? 7: why", 2, "is a draft")
        lazygit.press_until("U", "what do you say of the whole?")
        lazygit.type("two things")
        lazygit.press("Enter")
        lazygit.see("Review 1: 2 remarks queued")


def check_review(person: Person) -> None:
    """See that both remarks were sent, in one review, with their kinds and all their lines."""
    first, second = person.messages()
    assert (first["comment"], first["review"], first["summary"]) == ("first line\n\nthird line", 1, "two things")
    assert (second["comment"], second["kind"], second["review"]) == ("why", "question", 1)
    assert (first["state"], second["state"]) == ("queued", "queued")
