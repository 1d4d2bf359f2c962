"""The ten promises of the inbox, each through real processes; and the numbers it has to reach."""

import fcntl
import json
import os
import random
import re
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from tests.inbox.people import BIN, Person, git

SENDS = int(os.environ.get("POSTIL_SENDS", "40"))
CHECK: dict[str, object] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "check_lazygit_messages", "arguments": dict[str, str]()},
}


def bytes_in(pipe: IO[bytes]) -> int:
    """How much is in a pipe that nobody has read."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]


def wait_until_queued(person: Person, number: int, seconds: float = 20) -> None:
    """Wait for an event in another process, bounded: the message is back in the queue."""
    deadline = time.monotonic() + seconds
    while person.states().get(number) != "queued":
        assert time.monotonic() < deadline, person.states()


# 1. Durable


def test_sent_means_stored_and_synced(person: Person) -> None:
    assert person.send("keep me") == "#1 queued, 1 waiting, no assistant has read yet"
    database = sqlite3.connect(f"file:{person.state}/postil/state.db?mode=ro", uri=True)
    try:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        database.close()
    assert person.states() == {1: "queued"}


@pytest.mark.slow
def test_of_100_sends_with_a_third_killed_none_that_exited_0_is_missing_and_none_is_twice(person: Person) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    batch: list[tuple[str, subprocess.Popen[bytes], float]] = []
    for number in range(100):
        comment = f"remark {number}"
        words = [str(BIN / "postil"), "inbox", "send", "-f", "a.txt", "-c", comment, "-l", "2"]
        sender = subprocess.Popen(words, cwd=person.root, env=person.environment, stdout=subprocess.DEVNULL)
        batch.append((comment, sender, chance.uniform(0.01, 0.2) if number % 3 == 0 else 0))
        if len(batch) == 4:
            for comment, sender, life in batch:
                if life:
                    timer = threading.Timer(life, sender.send_signal, (signal.SIGKILL,))
                    timer.start()
                    status = sender.wait(timeout=60)
                    timer.cancel()
                else:
                    status = sender.wait(timeout=60)
                if status == 0:
                    acknowledged.add(comment)
            batch.clear()
    stored = [message["comment"] for message in person.messages()]
    assert len(stored) == len(set(stored))
    assert acknowledged <= set(stored)
    assert 65 <= len(acknowledged) < 100  # some were really killed


@pytest.mark.slow
def test_8_processes_sending_at_once_lose_none(person: Person) -> None:
    code = (
        "import sys; from postil.surfaces.shell.main import main\n"
        f"for number in range({SENDS}):\n"
        "    sys.argv = ['postil', 'inbox', 'send', '-f', 'a.txt', '-c', f'{sys.argv[-1]} {number}', sys.argv[-1]]\n"
        "    name = sys.argv.pop()\n"
        "    assert main() == 0\n"
        "    sys.argv.append(name)\n"
    )
    senders = [
        subprocess.Popen(
            [sys.executable, "-c", code, f"p{number}"],
            cwd=person.root,
            env=person.environment,
            stdout=subprocess.DEVNULL,
        )
        for number in range(8)
    ]
    assert [sender.wait(timeout=110) for sender in senders] == [0] * 8
    stored = {message["comment"] for message in person.messages()}
    assert stored == {f"p{process} {number}" for process in range(8) for number in range(SENDS)}


# 2. At least once, with a stable id and an attempt number


def test_a_server_killed_after_its_answer_delivers_again_as_attempt_2(person: Person) -> None:
    person.send("survive")
    first = person.assistant()
    first.write(CHECK)
    assert first.answer(1)["result"]["_meta"]["postil/messages"][0]["attempt"] == 1
    first.server.kill()
    first.close()
    with person.assistant() as second:
        (again,) = second.details()
    assert (again["id"], again["attempt"], again["comment"]) == (1, 2, "survive")


@pytest.mark.parametrize("broken", ["before", "after"])
def test_a_closed_pipe_queues_it_again(person: Person, broken: str) -> None:
    person.send("survive")
    server = subprocess.Popen(
        [str(BIN / "lazygit-mcp-bridge"), "server"],
        cwd=person.root,
        env=person.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    if broken == "before":
        server.stdout.close()  # nobody will ever read the answer
    server.stdin.write(b"%s\n" % json.dumps(CHECK).encode())
    server.stdin.flush()
    if broken == "after":  # the answer is in the pipe when the client dies
        deadline = time.monotonic() + 20
        while person.states() != {1: "leased"}:
            assert time.monotonic() < deadline
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=20)
    assert person.states() == {1: "queued"}
    with person.assistant() as second:
        (again,) = second.details()
    assert (again["id"], again["attempt"]) == (1, 2)


def test_a_client_that_sends_on_without_reading_and_dies_gets_it_again(person: Person) -> None:
    person.send("survive")
    server = subprocess.Popen(
        [str(BIN / "lazygit-mcp-bridge"), "server"],
        cwd=person.root,
        env=person.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode()
    server.stdin.write(b"%s\n" % json.dumps(CHECK).encode())
    server.stdin.flush()
    deadline = time.monotonic() + 20
    while person.states() != {1: "leased"}:
        assert time.monotonic() < deadline
    unread = bytes_in(server.stdout)
    server.stdin.write(b"%s\n" % ping)
    server.stdin.flush()
    while bytes_in(server.stdout) == unread:  # until the ping is answered
        assert time.monotonic() < deadline
    assert person.states() == {1: "leased"}  # a frame came, but the answer is still in the pipe
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=20)
    assert person.states() == {1: "queued"}


def test_a_wait_that_was_given_up_takes_nothing_with_it(person: Person) -> None:
    with person.assistant("postil", "serve") as assistant:
        for number in range(5):
            asked = {"name": "inbox_wait", "arguments": {"seconds": 30}}
            assistant.write({"jsonrpc": "2.0", "id": f"w{number}", "method": "tools/call", "params": asked})
            assistant.ask("ping")
            sender = threading.Thread(target=person.send, args=(f"remark {number}",))
            sender.start()
            assistant.tell("notifications/cancelled", {"requestId": f"w{number}"})
            sender.join()
            assistant.ask("ping")
        assistant.ask("ping")
        seen: set[str] = set()
        for note in assistant.notes:  # a wait that was faster than its cancellation
            seen |= set(re.findall(r"remark (\d)", json.dumps(note)))
        deadline = time.monotonic() + 20
        while seen != set("01234"):
            assert time.monotonic() < deadline, seen
            seen |= set(re.findall(r"remark (\d)", assistant.check()))


# 3. Read is not done


def test_a_later_request_or_an_orderly_end_makes_it_seen(person: Person) -> None:
    person.send("one")
    with person.assistant() as assistant:
        assert "one" in assistant.check()
        assert person.states() == {1: "leased"}
        assistant.ask("ping")
        deadline = time.monotonic() + 10
        while person.states() != {1: "seen"}:
            assert time.monotonic() < deadline
    person.send("two")
    with person.assistant() as assistant:
        assert "two" in assistant.check()
    assert person.states() == {1: "seen", 2: "seen"}


def test_an_acknowledgement_is_bound_to_its_lease(person: Person) -> None:
    person.send("mine")
    with person.assistant("postil", "serve") as first:
        (given,) = first.details()
        person.run("postil", "inbox", "edit", "1", "--comment", "mine, changed")  # calls it back
        refused = first.ask(
            "tools/call", {"name": "inbox_acknowledge", "arguments": {"id": 1, "lease": given["lease"]}}
        )
        assert "not yours any more" in refused["error"]["message"]
        with person.assistant("postil", "serve") as second:
            (again,) = second.details()
            assert (again["id"], again["attempt"]) == (1, 2)
            refused = first.ask("tools/call", {"name": "inbox_resolve", "arguments": {"id": 1}})
            assert refused["error"]["data"]["id"] == 1
            assert "#1 seen" in second.call("inbox_acknowledge", id=1, lease=again["lease"])["content"][0]["text"]
    assert person.states() == {1: "seen"}


def test_the_life_of_a_message_ends_by_decision_and_may_begin_again(person: Person) -> None:
    person.send("do it")
    with person.assistant("postil", "serve") as assistant:
        assistant.check()
        assistant.call("inbox_reply", id=1, text="on it")
        assistant.call("inbox_resolve", id=1, outcome="declined", reply="would break the build")
    assert person.messages() == []
    (closed,) = person.messages("--all")
    assert (closed["state"], [reply["text"] for reply in closed["replies"]]) == (
        "declined",
        ["on it", "would break the build"],
    )
    assert person.run("postil", "inbox", "reopen", "1").stdout == "#1 queued again\n"
    with person.assistant() as assistant:
        (again,) = assistant.details()
        assert again["attempt"] == 2
        assert again["anchor"]["state"] == "exact"


# 4. One assistant per message


def test_two_assistants_share_50_messages_without_overlap(person: Person) -> None:
    for number in range(50):
        person.send(f"remark {number}")
    taken: dict[str, set[str]] = {"left": set(), "right": set()}
    with person.assistant() as left, person.assistant() as right:

        def drain(name: str) -> None:
            assistant = left if name == "left" else right
            while True:
                found = set(re.findall(r"remark (\d+)", assistant.check()))
                if not found:
                    return
                taken[name] |= found

        threads = [threading.Thread(target=drain, args=(name,)) for name in taken]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert taken["left"] | taken["right"] == {str(number) for number in range(50)}
    assert taken["left"] & taken["right"] == set()


def test_a_broadcast_reaches_every_assistant_once(person: Person) -> None:
    person.send("for all", "a.txt", "", "--broadcast")
    with person.assistant() as first, person.assistant() as second:
        assert "for all" in first.check()
        assert "for all" in second.check()
        assert first.check() == second.check() == "No new messages from lazygit"
    assert person.run("postil", "inbox", "resolve", "1").returncode == 0
    assert person.messages() == []


# 5. Nothing dropped in silence: test_bridge.test_ten_are_shown_and_the_rest_wait_behind_them


def test_the_sender_is_told_of_an_overflow(person: Person) -> None:
    for number in range(10):
        said = person.send(f"remark {number}")
        assert "at a time" not in said
    assert person.send("one more").splitlines()[1] == (
        "11 messages wait: the assistant gets 10 at a time, none is dropped"
    )


# 6. The right repository


def test_symlinks_and_subfolders_reach_the_same_inbox(person: Person, tmp_path: Path) -> None:
    (person.root / "deep").mkdir()
    (person.root / "deep" / "c.txt").write_text("x\n")
    (tmp_path / "link").symlink_to(person.root)
    for folder, file in (
        (person.root / "deep", "c.txt"),
        (tmp_path / "link" / "deep", "c.txt"),
        (tmp_path / "link", "a.txt"),
    ):
        done = person.run("postil", "inbox", "send", "-f", file, "-c", f"x {folder} {file}", cwd=folder)
        assert done.returncode == 0, done.stderr
    # as lazygit does: a path relative to the root, from wherever it runs
    done = person.run("postil", "inbox", "send", "-f", "a.txt", "-c", "x", cwd=person.root / "deep")
    assert done.returncode == 0, done.stderr
    assert [message["file"] for message in person.messages()] == ["deep/c.txt", "deep/c.txt", "a.txt", "a.txt"]


def test_worktrees_and_submodules_have_inboxes_of_their_own(person: Person, tmp_path: Path) -> None:
    git(person.root, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "side")
    git(person.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(person.root), "sub")
    for folder in (tmp_path / "second", person.root / "sub"):
        done = person.run("postil", "inbox", "send", "-f", "a.txt", "-c", str(folder), cwd=folder)
        assert done.returncode == 0, done.stderr
        listed = person.run("postil", "inbox", "list", "--json", cwd=folder)
        assert [message["comment"] for message in json.loads(listed.stdout)["messages"]] == [str(folder)]
    assert person.messages() == []


# 7. Anchored


@pytest.mark.parametrize(
    ("after", "anchor"),
    [
        ("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n", {"state": "exact", "line": "4"}),
        ("zero\nhalf\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n", {"state": "moved", "line": "6"}),
        ("one\ntwo\nthree\nseven\neight\n", {"state": "gone"}),
        (None, {"state": "gone"}),
    ],
)
def test_the_code_is_found_again(person: Person, after: str | None, anchor: dict[str, str]) -> None:
    person.send("here", "a.txt", "4")
    if after is None:
        (person.root / "a.txt").unlink()
    else:
        (person.root / "a.txt").write_text(after)
    (message,) = person.messages()
    assert message["anchor"] == anchor


def test_edited_code_has_drifted(person: Person) -> None:
    source = (
        "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"
    )
    (person.root / "c.py").write_text(source)
    person.send("here", "c.py", "4")
    (person.root / "c.py").write_text("import math\n\n" + source.replace("item.price", "item.price * item.count"))
    (message,) = person.messages()
    assert message["anchor"] == {"state": "drifted", "line": "6"}
    assert "drifted, now about 6" in person.run("postil", "inbox", "show", "1").stdout


def test_the_hunk_and_the_version_travel_along_in_every_context(person: Person) -> None:
    path = person.root / "a.txt"
    path.write_text(path.read_text().replace("two", "TWO"))
    git(person.root, "add", "a.txt")
    git(person.root, "commit", "-qm", "in a commit")
    commit = git(person.root, "rev-parse", "HEAD")
    path.write_text(path.read_text().replace("four", "FOUR"))
    git(person.root, "add", "a.txt")
    path.write_text(path.read_text().replace("six", "SIX"))
    person.send("work tree", "a.txt", "6", "--context", "staging")
    person.send("index", "a.txt", "4", "--context", "stagingSecondary")
    person.send("commit", "a.txt", "2", "--context", "patchBuilding", "--commit", commit)
    done = person.run("postil", "inbox", "send", "--commit", "HEAD", "--context", "commits", "-c", "whole")
    assert done.returncode == 0, done.stderr
    tree, index, patch, whole = person.messages()
    assert "+SIX" in tree["hunk"]
    assert tree["blob"] == git(person.root, "hash-object", "a.txt")
    assert "+FOUR" in index["hunk"]
    assert index["blob"] == git(person.root, "rev-parse", ":a.txt")
    assert "+TWO" in patch["hunk"]
    assert patch["blob"] == git(person.root, "rev-parse", "HEAD:a.txt")
    assert (whole["file"], whole["commit"]) == ("", commit)
    with person.assistant() as assistant:
        assert f"File: commit {commit}" in assistant.check()


def test_staged_and_unstaged_changes_are_both_seen_outside_of_staging(person: Person) -> None:
    path = person.root / "a.txt"
    path.write_text(path.read_text().replace("two", "TWO"))
    git(person.root, "add", "a.txt")
    person.send("staged", "a.txt", "2")
    assert "+TWO" in person.messages()[0]["hunk"]
    assert person.run("postil", "inbox", "hunks", "a.txt").stdout.splitlines()[0] == "2|+TWO"


def test_a_repository_without_a_commit_takes_remarks_too(person: Person, tmp_path: Path) -> None:
    (tmp_path / "young").mkdir()
    git(tmp_path / "young", "init", "-q")
    (tmp_path / "young" / "a.txt").write_text("one\n")
    done = person.run("postil", "inbox", "send", "-f", "a.txt", "-c", "x", "-l", "1", cwd=tmp_path / "young")
    assert done.returncode == 0, done.stderr


# 8. The person can see it


def test_receipts_say_what_waits_and_when_it_was_read(person: Person) -> None:
    person.send("first")
    with person.assistant() as assistant:
        assistant.check()
    assert re.fullmatch(r"#2 queued, 1 waiting, read (just now|\d+ s ago)", person.send("second"))


def test_what_nobody_read_may_be_changed_or_taken_back(person: Person) -> None:
    person.send("typo")
    person.send("oops")
    assert person.run("postil", "inbox", "edit", "1", "-c", "fixed").stdout == "#1 changed\n"
    assert person.run("postil", "inbox", "withdraw", "2").stdout == "#2 withdrawn\n"
    assert [(message["comment"], message["edited"]) for message in person.messages()] == [("fixed", True)]
    with person.assistant() as assistant:
        assert "fixed" in assistant.check()
    for words in (("edit", "1", "-c", "late"), ("withdraw", "1")):
        refused = person.run("postil", "inbox", *words)
        assert refused.returncode == 6
        assert "already seen" in refused.stderr


# 9. Private


def test_nobody_else_can_read_the_messages(person: Person) -> None:
    person.send("private")
    folder = person.state / "postil"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in folder.iterdir()} == {0o600}


def test_paths_are_relative_and_words_reach_no_log(person: Person) -> None:
    person.send("the secret words", str(person.root / "a.txt"), "2")
    assert "a.txt" in person.run("postil", "inbox", "list").stdout
    assistant = person.assistant("postil", "serve")
    with assistant:
        assistant.ask("logging/setLevel", {"level": "debug"})
        answered = json.dumps(assistant.call("check_lazygit_messages"))
        assert str(person.root) not in answered
        person.send("more secret words")
        assistant.ask("ping")
        notes = json.dumps(assistant.notes)
        assert "secret" not in notes
        assert assistant.server.stderr is not None
        assert assistant.server.stdin is not None
        assistant.server.stdin.close()
        assert b"secret" not in assistant.server.stderr.read()


# 10. Never in the way


def test_sending_imports_neither_the_server_nor_http_nor_gitlab(person: Person) -> None:
    code = (
        "import sys; sys.argv = ['postil', 'inbox', 'send', '-f', 'a.txt', '-c', 'x', '-l', '2']\n"
        "from postil.surfaces.shell.main import main\n"
        "assert main() == 0\n"
        "print(sorted(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=person.root,
        env=person.environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    loaded = set(re.findall(r"'([\w.]+)'", done.stdout.splitlines()[-1]))
    assert "postil.inbox.operations.for_people" in loaded
    forbidden = ("postil.wire", "postil.gitlab", "postil.comments", "postil.tracker", "postil.anchor.search")
    assert [name for name in loaded if name.startswith(forbidden)] == []
    heavy = {
        "asyncio",
        "http",
        "http.client",
        "uvicorn",
        "httpx2",
        "subprocess",
        "ssl",
        "socket",
        "tree_sitter",
        "ctypes",
    }
    assert loaded & heavy == set()


def test_wait_ends_within_a_second_of_a_send_from_another_process(person: Person) -> None:
    with person.assistant("postil", "serve") as assistant:
        assistant.ask("ping")
        assistant.write(
            {"jsonrpc": "2.0", "id": 77, "method": "tools/call",
             "params": {"name": "inbox_wait", "arguments": {"seconds": 30}}}
        )  # fmt: skip
        assert assistant.ask("ping")["result"] == {}
        person.send("wake up")
        sent = time.monotonic()
        result = assistant.answer(77)["result"]
        assert time.monotonic() - sent < 1
        assert "wake up" in result["content"][0]["text"]


def test_the_sequence_of_waits_survives_a_restart(person: Person) -> None:
    person.send("before")
    with person.assistant("postil", "serve", "--structured") as assistant:
        answered = assistant.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        assert answered["result"]["protocolVersion"] == "2025-06-18"
        first = assistant.call("inbox_wait", seconds=5)["structuredContent"]
        assert [message["comment"] for message in first["messages"]] == ["before"]
    for number in range(12):
        person.send(f"remark {number}")
    with person.assistant("postil", "serve", "--structured") as assistant:
        assistant.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        second = assistant.call("inbox_wait", after=first["sequence"], seconds=5)["structuredContent"]
        third = assistant.call("inbox_wait", after=second["sequence"], seconds=5)["structuredContent"]
        comments = [message["comment"] for message in (*second["messages"], *third["messages"])]
        assert comments == [f"remark {number}" for number in range(12)]
        nothing = assistant.call("inbox_wait", after=third["sequence"], seconds=0.1)["structuredContent"]
        assert (nothing["messages"], nothing["sequence"]) == ([], third["sequence"])


def test_the_shell_waits_too(person: Person) -> None:
    waiter = subprocess.Popen(
        [str(BIN / "postil"), "inbox", "wait", "--seconds", "30", "--json"],
        cwd=person.root,
        env=person.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    person.send("hello")
    out, _ = waiter.communicate(timeout=30)
    assert json.loads(out)["messages"][0]["comment"] == "hello"


def test_a_message_of_a_killed_server_is_queued_again_for_others(person: Person) -> None:
    person.send("again")
    first = person.assistant()
    first.__enter__()
    assert "again" in first.check()
    os.kill(first.server.pid, signal.SIGKILL)
    first.close()
    wait_until_queued(person, 1)


def test_the_tools_fit_their_budget(person: Person) -> None:
    with person.assistant("postil", "serve") as assistant:
        assistant.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        tools = assistant.ask("tools/list")["result"]["tools"]
    ours = [tool for tool in tools if tool["name"].startswith(("inbox_", "check_lazygit"))]
    assert [tool["name"] for tool in ours] == [
        "inbox_list",
        "inbox_show",
        "check_lazygit_messages",
        "inbox_acknowledge",
        "inbox_reply",
        "inbox_resolve",
        "inbox_wait",
    ]
    assert len(json.dumps(ours)) <= 6000


def test_a_delivery_that_was_confirmed_stays_so_when_the_client_ends_at_once(person: Person) -> None:
    for number in range(1, 5):
        person.send(f"remark {number}")
        with person.assistant() as assistant:
            assert f"remark {number}" in assistant.check()
            assistant.ask("ping")  # it has read the answer
    assert set(person.states().values()) == {"seen"}
