"""The drop-in: the contract of lazygit-mcp-bridge, example by example, through its own executable."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.inbox.people import Person

DASHES = "\n\n" + "-" * 50 + "\n\n"


def legacy_file(person: Person) -> Path:
    path = person.config / "jesseduffield" / "lazygit" / "mcp-messages.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def drop(person: Person, **message: object) -> Path:
    path = legacy_file(person)
    path.write_text(json.dumps({"project_root": str(person.root), "time": "2025-07-01T10:30:00Z", **message}))
    return path


def wait_until(claim: Any, seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if claim():
            return True
        time.sleep(0.02)
    return False


def test_initialize_and_the_lists_are_the_contract_s(person: Person) -> None:
    with person.assistant() as assistant:
        assert assistant.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})["result"] == {
            "protocolVersion": "2024-11-05",
            "capabilities": {"resources": {"subscribe": True, "listChanged": True}, "tools": {"listChanged": False}},
            "serverInfo": {"name": "lazygit-mcp-bridge", "version": "1.0.0"},
        }
        assert assistant.ask("tools/list")["result"] == {
            "tools": [
                {
                    "name": "check_lazygit_messages",
                    "description": "Check for new messages from lazygit",
                    "inputSchema": {"type": "object", "properties": {}},
                }
            ]
        }
        assert assistant.ask("resources/list")["result"] == {
            "resources": [
                {
                    "uri": "lazygit://messages",
                    "name": "Lazygit Messages",
                    "description": "Messages from lazygit for code improvement",
                    "mimeType": "text/plain",
                }
            ]
        }


def test_nothing_is_said_in_the_contract_s_words(person: Person) -> None:
    with person.assistant() as assistant:
        result = assistant.call("check_lazygit_messages")
        assert result == {"content": [{"type": "text", "text": "No new messages from lazygit"}]}
        read = assistant.ask("resources/read", {"uri": "lazygit://messages"})["result"]
        assert read == {
            "contents": [
                {"uri": "lazygit://messages", "mimeType": "text/plain", "text": "No new messages from lazygit"}
            ]
        }


def test_two_messages_are_shown_as_the_contract_shows_them(person: Person) -> None:
    for line, comment in (("2", "This function needs error handling"), ("3-4", "Add input validation")):
        done = person.run("lazygit-mcp-bridge", "send", "-f", "a.txt", "-c", comment, "-l", line)
        assert (done.returncode, done.stdout, done.stderr) == (0, "Message sent successfully for a.txt\n", "")
    with person.assistant() as assistant:
        read = assistant.ask("resources/read", {"uri": "lazygit://messages"})["result"]["contents"][0]["text"]
        text = assistant.check()
        assert read == text
        times = re.findall(r"^Time: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$", text, re.MULTILINE)
        assert text == (
            "Message 1:\nFile: a.txt\nLine: 2\nComment: This function needs error handling\n"
            f"Time: {times[0]}\n\nPlease improve this code.{DASHES}"
            "Message 2:\nFile: a.txt\nLine: 3-4\nComment: Add input validation\n"
            f"Time: {times[1]}\n\nPlease improve this code."
        )
        assert assistant.check() == "No new messages from lazygit"


def test_reading_the_resource_clears_nothing(person: Person) -> None:
    person.send("stay")
    with person.assistant() as assistant:
        read = ""
        for _ in range(3):
            read = assistant.ask("resources/read", {"uri": "lazygit://messages"})["result"]["contents"][0]["text"]
            assert "Comment: stay" in read
        assert "Line:" not in read
    assert person.states() == {1: "queued"}


def test_the_published_arguments_are_taken_in_both_spellings(person: Person) -> None:
    for words in (("--file", "a.txt", "--comment", "x"), ("-f", "a.txt", "-c", "-1 is wrong", "-l", "1")):
        done = person.run("lazygit-mcp-bridge", "send", *words)
        assert (done.returncode, done.stdout) == (0, "Message sent successfully for a.txt\n")
    assert [message["comment"] for message in person.messages()] == ["x", "-1 is wrong"]


@pytest.mark.parametrize(
    "words",
    [("-c", "x"), ("-f", "a.txt"), ("-f", "nothing.txt", "-c", "x"), ("-f", "a.txt", "-c", ""),
     ("-f", "a.txt", "-c", "x", "-l", "99"), ("-f", "/etc/passwd", "-c", "x")],
)  # fmt: skip
def test_a_refused_send_exits_1_and_speaks_on_stderr(person: Person, words: tuple[str, ...]) -> None:
    done = person.run("lazygit-mcp-bridge", "send", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip()


def test_bare_with_piped_input_it_is_the_server(person: Person) -> None:
    asked = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = person.run("lazygit-mcp-bridge", input=asked)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("method", ["initialized", "notifications/initialized"])
def test_initialized_is_answered_by_silence(person: Person, method: str) -> None:
    with person.assistant() as assistant:
        assistant.tell(method)
        assert assistant.ask("ping")["result"] == {}
        assert assistant.notes == []


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"{nonsense", -32700),
        (b'{"jsonrpc":"2.0","id":5}', -32600),
        (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":"nothing/here"}', -32601),
        (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"unknown"}}', -32601),
        (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}', -32602),
        (b'{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{}}', -32602),
        (
            b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"check_lazygit_messages","arguments":5}}',
            -32602,
        ),
    ],
)
def test_errors_have_the_contract_s_codes(person: Person, frame: bytes, code: int) -> None:
    done = person.run("lazygit-mcp-bridge", "server", input=frame.decode() + "\n")
    assert json.loads(done.stdout)["error"]["code"] == code


def test_the_details_travel_beside_the_text(person: Person) -> None:
    (person.root / "a.txt").write_text("zero\none\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n")
    person.send("about two", "a.txt", "3")
    (person.root / "a.txt").write_text("new\nzero\none\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n")
    with person.assistant() as assistant:
        (details,) = assistant.details()
    assert details["id"] == 1
    assert details["attempt"] == 1
    assert details["anchor"] == {"state": "moved", "line": "4"}
    assert "+TWO" in details["hunk"]
    assert details["code"] == "TWO"
    assert re.fullmatch("[0-9a-f]{40}", details["blob"])


def test_ten_are_shown_and_the_rest_wait_behind_them(person: Person) -> None:
    done = None
    for number in range(23):
        done = person.run("lazygit-mcp-bridge", "send", "-f", "a.txt", "-c", f"remark {number}")
        assert done.stdout == "Message sent successfully for a.txt\n"
    assert done is not None
    assert "23 messages wait: the assistant gets 10 at a time, none is dropped" in done.stderr
    with person.assistant() as assistant:
        views = [re.findall(r"remark (\d+)", assistant.check()) for _ in range(4)]
    assert views[0] == [str(number) for number in range(10)]
    assert views[1] == [str(number) for number in range(10, 20)]
    assert views[2:] == [["20", "21", "22"], []]


def test_a_subscriber_is_told_of_a_message_within_a_second(person: Person) -> None:
    with person.assistant() as assistant:
        assert assistant.ask("resources/subscribe", {"uri": "lazygit://messages"})["result"] == {}
        person.send("news")
        sent = time.monotonic()
        note = assistant.note("notifications/resources/updated")
        assert note is not None
        assert note["params"] == {"uri": "lazygit://messages"}
        assert time.monotonic() - sent < 1


def test_a_client_that_asked_for_logging_hears_of_messages_but_not_their_words(person: Person) -> None:
    with person.assistant() as assistant:
        assistant.ask("logging/setLevel", {"level": "info"})
        assert assistant.ask("ping")["result"] == {}
        deadline = time.monotonic() + 10
        note = None
        while note is None and time.monotonic() < deadline:  # the announcer starts in a thread of its own
            person.send("secret words")
            note = assistant.note("notifications/message", timeout=1)
    assert note is not None
    assert note["params"] == {"level": "info", "message": "New message from lazygit", "data": {"file": "a.txt"}}


# --- the old message file -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "row"), [("2", "Line: 2\n"), (3, "Line: 3\n"), ("2-3", "Line: 2-3\n"), (None, "")])
def test_the_old_file_is_taken_in_and_deleted_by_the_tool_call_alone(person: Person, line: object, row: str) -> None:
    path = drop(person, file="a.txt", comment="old way", **({} if line is None else {"line": line}), extra=1)
    expected = (
        f"Message 1:\nFile: a.txt\n{row}Comment: old way\nTime: 2025-07-01T10:30:00Z\n\nPlease improve this code."
    )
    with person.assistant() as assistant:
        read = assistant.ask("resources/read", {"uri": "lazygit://messages"})["result"]["contents"][0]["text"]
        assert read == expected
        assert path.exists()
        assert assistant.check() == expected
        assert not path.exists()
        assert assistant.check() == "No new messages from lazygit"


def test_the_same_message_twice_in_the_file_is_one(person: Person) -> None:
    with person.assistant() as assistant:
        drop(person, file="a.txt", comment="once")
        assert "once" in assistant.check()
        drop(person, file="a.txt", comment="once")
        assert assistant.check() == "No new messages from lazygit"
        drop(person, file="a.txt", comment="once", line=2)
        assert "Line: 2" in assistant.check()


def test_a_folder_made_later_is_noticed(person: Person) -> None:
    with person.assistant() as assistant:
        assistant.ask("resources/subscribe", {"uri": "lazygit://messages"})
        drop(person, file="a.txt", comment="late")
        assert assistant.note("notifications/resources/updated") is not None
        assert "late" in assistant.check()


def test_messages_that_follow_each_other_in_the_file_are_all_kept(person: Person) -> None:
    with person.assistant() as assistant:
        assistant.ask("resources/subscribe", {"uri": "lazygit://messages"})
        for number in range(3):
            drop(person, file="a.txt", comment=f"remark {number}")
            assert assistant.note("notifications/resources/updated") is not None
        assert re.findall(r"remark (\d)", assistant.check()) == ["0", "1", "2"]


def test_a_half_written_file_waits_for_its_other_half(person: Person) -> None:
    path = legacy_file(person)
    whole = json.dumps({"file": "a.txt", "comment": "halves", "project_root": "", "time": "2025-07-01T10:30:00Z"})
    with person.assistant() as assistant:
        path.write_text(whole[:30])
        assert assistant.check() == "No new messages from lazygit"
        assert path.exists()
        path.write_text(whole)
        assert "halves" in assistant.check()


def test_a_message_of_another_repository_is_left_for_its_server(person: Person, tmp_path: Path) -> None:
    path = drop(person, file="x", comment="elsewhere", project_root=str(tmp_path / "other"))
    with person.assistant() as assistant:
        assert assistant.check() == "No new messages from lazygit"
    assert path.exists()


def test_a_symlinked_root_is_this_repository(person: Person, tmp_path: Path) -> None:
    os.symlink(person.root, tmp_path / "link")
    drop(person, file="a.txt", comment="through a link", project_root=str(tmp_path / "link"))
    with person.assistant() as assistant:
        assert "through a link" in assistant.check()


@pytest.mark.parametrize("content", ["", "[]", "null", "{}", '{"comment": ""}', "\x00\x01", '{"file": 5}'])
def test_what_is_no_message_is_left_alone(person: Person, content: str) -> None:
    legacy_file(person).write_text(content)
    with person.assistant() as assistant:
        assert assistant.check() == "No new messages from lazygit"
    assert legacy_file(person).read_text() == content


def test_outside_of_a_repository_the_server_still_answers(person: Person, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    asked = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_lazygit_messages","arguments":{}}}\n'
    done = person.run("lazygit-mcp-bridge", "server", cwd=tmp_path / "nowhere", input=asked)
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "No new messages from lazygit"
