"""Bad input: a sentence that says what to do, the documented exit status, and nothing lost."""

import os
import subprocess
from pathlib import Path

import pytest

from postil.storage.sqlite import SqliteState
from tests.inbox.people import BIN, Person, git


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("-f", "a.txt", "-c", ""), 2, "The comment is empty"),
        (("-f", "a.txt", "-c", " \n "), 2, "The comment is empty"),
        (("-f", "a.txt", "-c", "x" * 70_000), 2, "The comment has 70000 bytes; at most 65536 are taken"),
        (("-f", "../outside.txt", "-c", "x"), 2, "outside the repository"),
        (("-f", "/etc/passwd", "-c", "x"), 2, "outside the repository"),
        (("-f", ".git/config", "-c", "x"), 2, "git's own folder"),
        (("-f", "nothing.txt", "-c", "x"), 5, "nothing.txt does not exist"),
        (("-f", "a.txt", "-c", "x", "-l", "9"), 2, "Line 9 does not exist: it must be between 1 and 8"),
        (("-f", "a.txt", "-c", "x", "-l", "2-99"), 2, "Line 99 does not exist"),
        (("-f", "a.txt", "-c", "x", "-l", "0"), 2, "is not a line"),
        (("-f", "a.txt", "-c", "x", "-l", "5-2"), 2, "is not a line"),
        (("-f", "a.txt", "-c", "x", "-l", "two"), 2, "is not a line"),
        (("-f", "a.txt", "-c", "x", "-l", "9" * 30), 2, "is not a line"),
        (("-c", "x"), 2, "Neither a file nor a commit"),
        (("-f", "a.txt", "-c", "x", "--commit", "feedbeef"), 5, "There is no commit 'feedbeef'"),
        (("-f", "a.txt", "-c", "x", "--commit", "--output=x"), 5, "There is no commit"),
        (("-f", "a.txt", "-c", "x", "--context", "nowhere"), 2, "nowhere"),
        (("-f", "a.txt"), 2, "comment"),
    ],
)
def test_a_refused_send_says_what_to_do(person: Person, words: tuple[str, ...], status: int, said: str) -> None:
    done = person.run("postil", "inbox", "send", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) >= 2  # what is wrong, and what to do
    assert person.messages() == []


def test_a_megabyte_of_comment_comes_by_standard_input_and_is_refused(person: Person) -> None:
    done = person.run("postil", "inbox", "send", "-f", "a.txt", "-c", "-", input="x" * 1_000_000)
    assert done.returncode == 2
    assert "at most 65536" in done.stderr


def test_a_comment_comes_by_standard_input(person: Person) -> None:
    done = person.run("postil", "inbox", "send", "-f", "a.txt", "-c", "-", input="first\n'second' $(x) `y` 日本\n")
    assert done.returncode == 0, done.stderr
    assert person.messages()[0]["comment"] == "first\n'second' $(x) `y` 日本"


def test_arguments_that_are_not_utf8_are_named(person: Person) -> None:
    for words in ((b"-c", b"\xff\xfe", b"-f", b"a.txt"), (b"-c", b"x", b"-f", b"a\xff.txt")):
        done = subprocess.run(
            [os.fsencode(BIN / "postil"), b"inbox", b"send", *words],
            cwd=person.root,
            env=person.environment,
            capture_output=True,
            timeout=30,
        )
        assert done.returncode == 2
        assert b"not valid UTF-8" in done.stderr
    assert person.messages() == []


def test_without_a_repository_sending_says_so(person: Person, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    done = person.run("postil", "inbox", "send", "-f", "x", "-c", "x", cwd=tmp_path / "nowhere")
    assert done.returncode == 5
    assert "git init" in done.stderr


def test_a_deleted_file_that_git_knows_can_be_spoken_of(person: Person) -> None:
    (person.root / "a.txt").unlink()
    person.send("why is it gone?", "a.txt", "2")
    (message,) = person.messages()
    assert (message["code"], message["anchor"]) == ("two", {"state": "gone"})
    assert message["blob"] == git(person.root, "rev-parse", "HEAD:a.txt")


def test_a_binary_file_and_an_empty_one_have_no_lines(person: Person) -> None:
    (person.root / "binary").write_bytes(b"\0\1\2" * 100)
    (person.root / "empty").touch()
    for file in ("binary", "empty"):
        person.send("whole", file)
        assert person.run("postil", "inbox", "send", "-f", file, "-c", "x", "-l", "1").returncode == 2
    assert [message["anchor"]["state"] for message in person.messages()] == ["exact", "exact"]


def test_a_damaged_message_is_named_and_the_list_ends_with_7(person: Person) -> None:
    person.send("one")
    person.send("two")
    state = SqliteState(str(person.state / "postil" / "state.db"))
    try:
        space = next(one[0] for one in state.dump()[1] if one[0].endswith("/queued"))
        with state.writing() as changes:
            changes.put(space, f"{1:012d}", b"{broken")
    finally:
        state.close()
    done = person.run("postil", "inbox", "list")
    assert (done.returncode, "damaged and not shown: #1" in done.stderr, "two" in done.stdout) == (7, True, True)


def test_a_damaged_database_is_reported_and_left_as_it_is(person: Person) -> None:
    person.send("before")
    path = person.state / "postil" / "state.db"
    path.write_bytes(b"garbage" * 5000)
    for words in (("inbox", "send", "-f", "a.txt", "-c", "x"), ("inbox", "list")):
        done = person.run("postil", *words)
        assert done.returncode == 7
        assert "is damaged" in done.stderr
        assert "mv " in done.stderr
    assert path.read_bytes() == b"garbage" * 5000
    path.rename(path.with_name("state.db.damaged"))
    assert person.send("after") == "#1 queued, 1 waiting, no assistant has read yet"


def test_a_state_folder_that_cannot_be_made_is_said(person: Person) -> None:
    person.state.write_text("a file is in the way")
    done = person.run("postil", "inbox", "send", "-f", "a.txt", "-c", "x")
    assert done.returncode == 7
    assert "XDG_STATE_HOME" in done.stderr


def test_a_full_disk_refuses_and_keeps_what_was_there(person: Person) -> None:
    for number in range(5):
        person.send(f"remark {number}")
    words = [str(BIN / "postil"), "inbox", "send", "-f", "a.txt", "-c", "x" * 60_000]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 30; exec "$@"', "bash", *words],
        cwd=person.root,
        env=person.environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 7, done.stderr
    assert len(done.stderr.strip().splitlines()) >= 2
    assert len(person.messages()) == 5
    person.send("room again")
    assert len(person.messages()) == 6


@pytest.mark.parametrize("words", [("show", "9"), ("edit", "9", "-c", "x"), ("withdraw", "9"), ("resolve", "9")])
def test_a_number_that_does_not_exist_is_not_found(person: Person, words: tuple[str, ...]) -> None:
    done = person.run("postil", "inbox", *words)
    assert done.returncode == 5
    assert "There is no message #9" in done.stderr


def test_a_retried_send_under_the_same_key_has_one_effect(person: Person) -> None:
    words = ("postil", "inbox", "send", "-f", "a.txt", "-c", "once", "--idempotency-key", "k1")
    first, second = person.run(*words), person.run(*words)
    assert first.stdout.split(",")[0] == second.stdout.split(",")[0] == "#1 queued"
    assert len(person.messages()) == 1


@pytest.mark.parametrize(
    "name", ["a b.txt", "日本.txt", "$(touch pwned).txt", "`x`'\".txt", "-rf.txt", "a|b.txt", "é\n.txt"]
)
def test_hostile_file_names_are_only_names(person: Person, name: str) -> None:
    (person.root / name).write_text("one\ntwo\n")
    git(person.root, "add", "-A")
    git(person.root, "commit", "-qm", "names")
    (person.root / name).write_text("one\nTWO\n")
    person.send("x", f"./{name}", "2")
    picked = person.run("postil", "inbox", "hunks", "--", f"./{name}")
    assert picked.stdout == "2|+TWO\nfile|the whole file\n", picked.stderr
    (message,) = person.messages()
    assert message["file"] == name
    assert "+TWO" in message["hunk"]
    assert not (person.root / "pwned").exists()
