"""The texts of the lazygit bridge's contract, to the letter."""

from postil.inbox.answers import show
from postil.inbox.contract import file_row, format_view
from postil.inbox.model import Message, Place


def test_nothing_has_its_own_sentence() -> None:
    assert format_view([]) == "No new messages from lazygit"


def test_messages_are_numbered_and_parted_by_fifty_dashes() -> None:
    messages = [
        Message(7, Place("src/main.go", "42"), "This function needs error handling", "2025-07-01T10:30:00Z"),
        Message(9, Place("src/utils.go", "15"), "Add input validation", "2025-07-01T10:32:00Z"),
    ]
    assert format_view([show(message, None) for message in messages]) == (
        "Message 1:\nFile: src/main.go\nLine: 42\nComment: This function needs error handling\n"
        "Time: 2025-07-01T10:30:00Z\n\nPlease improve this code.\n\n" + "-" * 50 + "\n\n"
        "Message 2:\nFile: src/utils.go\nLine: 15\nComment: Add input validation\n"
        "Time: 2025-07-01T10:32:00Z\n\nPlease improve this code."
    )


def test_without_a_line_its_row_is_left_out_and_a_commit_stands_for_a_file() -> None:
    text = format_view([show(Message(1, Place("", commit="abc"), "x", "t"), None)])
    assert text == "Message 1:\nFile: commit abc\nComment: x\nTime: t\n\nPlease improve this code."
    assert file_row("a", "abc") == "a"


def test_what_another_system_reports_asks_for_nothing() -> None:
    text = format_view([show(Message(1, Place(""), "x", "t", source="GitLab"), None)])
    assert text == "Message 1:\nFrom: GitLab\nComment: x\nTime: t"
