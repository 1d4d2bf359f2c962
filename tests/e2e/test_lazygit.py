"""A person in real lazygit presses a key and types a remark; the assistant receives it with its line and its hunk."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.lazygit import Lazygit
from tests.inbox.examples import PUBLISHED
from tests.inbox.people import Person, git

NASTY = 'It\'s "bad": $(touch pwned) `touch pwned` 日本 {{.X}} \\n; rm -rf | & < >'


@pytest.fixture
def reviewer(tmp_path: Path) -> Person:
    """A person with a commit to look at and two changes in the work tree."""
    person = Person(tmp_path)
    lines = [f"line {number}" for number in range(1, 31)]
    (person.root / "code.txt").write_text("\n".join(lines) + "\n")
    git(person.root, "add", "-A")
    git(person.root, "commit", "-qm", "thirty lines")
    lines[4], lines[19] = "line FIVE", "line TWENTY"
    (person.root / "code.txt").write_text("\n".join(lines) + "\n")
    git(person.root, "commit", "-qam", "two changes")
    lines[6], lines[24] = "line SEVEN", "line 25, changed"
    (person.root / "code.txt").write_text("\n".join(lines) + "\n")
    return person


def opened(reviewer: Person, needs: Callable[[str], str], extra_config: str = "") -> Lazygit:
    program = needs("lazygit")
    reviewer.environment["PATH"] = f"{Path(program).parent}{os.pathsep}{reviewer.environment['PATH']}"
    if not extra_config:  # the version on PATH decides what is written
        assert reviewer.run("postil", "setup", "lazygit").returncode == 0
    return Lazygit(reviewer, program, needs("tmux"), extra_config)


@pytest.mark.slow
def test_a_remark_from_the_file_list_and_one_from_staging(reviewer: Person, needs: Callable[[str], str]) -> None:
    with opened(reviewer, needs) as lazygit:
        lazygit.see("M code.txt", "+line SEVEN")
        # the file list: pick the second changed place
        lazygit.press_until("C-y", "Where?", "25  +line 25, changed")
        lazygit.press("Down")
        lazygit.press("Enter")
        lazygit.see("Comment on code.txt:25")
        lazygit.type(NASTY)
        lazygit.press("Enter")
        lazygit.see("#1 queued, 1 waiting")
        lazygit.press("Escape")
        # staging: the line under the cursor is read from the screen
        lazygit.press_until("Enter", "Staged changes", "+line SEVEN")
        lazygit.press("Down")  # from the deleted line to the added one
        lazygit.press_until("C-y", "Where?", "7  selected: +line SEVEN")
        lazygit.press("Enter")
        lazygit.see("Comment on code.txt:7")
        lazygit.type("seven is right")
        lazygit.press("Enter")
        lazygit.see("#2 queued, 2 waiting")
    assert not (reviewer.root / "pwned").exists()
    with reviewer.assistant() as assistant:
        result = assistant.call("check_lazygit_messages")
    text = result["content"][0]["text"]
    assert f"Message 1:\nFile: code.txt\nLine: 25\nComment: {NASTY}\n" in text
    assert "Message 2:\nFile: code.txt\nLine: 7\nComment: seven is right\n" in text
    first, second = result["_meta"]["postil/messages"]
    assert "+line 25, changed" in first["hunk"]
    assert "+line SEVEN" in second["hunk"]
    assert first["anchor"]["state"] == second["anchor"]["state"] == "exact"


@pytest.mark.slow
def test_a_remark_on_a_commit_from_patch_building(reviewer: Person, needs: Callable[[str], str]) -> None:
    commit = git(reviewer.root, "rev-parse", "HEAD")
    with opened(reviewer, needs) as lazygit:
        lazygit.see("two changes", "M code.txt")
        lazygit.press("4")
        lazygit.press_until("Enter", "Diff files", "M code.txt")
        lazygit.press_until("Enter", "Custom patch")
        lazygit.press_until("C-y", "Where?", "20  +line TWENTY")
        lazygit.press("Down")
        lazygit.press("Enter")
        lazygit.see("Comment on code.txt:20")
        lazygit.type("in a commit")
        lazygit.press("Enter")
        lazygit.see("#1 queued, 1 waiting")
    with reviewer.assistant() as assistant:
        (details,) = assistant.details()
    assert (details["file"], details["commit"], details["comment"]) == ("code.txt", commit, "in a commit")
    assert details["blob"] == git(reviewer.root, "rev-parse", "HEAD:code.txt")
    assert details["line"] == "20"


@pytest.mark.slow
def test_a_hostile_file_name_is_only_a_name(reviewer: Person, needs: Callable[[str], str]) -> None:
    name = "$(touch pwned)`touch pwned`'q' \"x\".txt"
    git(reviewer.root, "checkout", "-q", "code.txt")
    (reviewer.root / name).write_text("one\n")
    git(reviewer.root, "add", "-A")
    git(reviewer.root, "commit", "-qm", "a name")
    (reviewer.root / name).write_text("ONE\n")
    with opened(reviewer, needs) as lazygit:
        lazygit.see("M $(touch pwned)", "+ONE")
        lazygit.press_until("C-y", "Where?", "1  +ONE")
        lazygit.press("Enter")
        lazygit.see("Comment on $(touch pwned)")
        lazygit.type("fine")
        lazygit.press("Enter")
        lazygit.see("#1 queued, 1 waiting")
    assert not (reviewer.root / "pwned").exists()
    (message,) = reviewer.messages()
    assert (message["file"], message["line"]) == (name, "1")


@pytest.mark.slow
def test_the_published_block_works_unchanged(reviewer: Person, needs: Callable[[str], str]) -> None:
    with opened(reviewer, needs, PUBLISHED) as lazygit:
        lazygit.see("M code.txt", "+line SEVEN")
        lazygit.press_until("Enter", "Staged changes")
        lazygit.press_until("C-y", "Comment:")
        lazygit.type("as ever")
        lazygit.press("Enter")
        with reviewer.assistant("postil", "serve") as assistant:
            result = assistant.call("inbox_wait", seconds=20)
    assert "Message 1:\nFile: code.txt\nComment: as ever\n" in result["content"][0]["text"]
