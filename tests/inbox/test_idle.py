"""A hook that waits beside an idle assistant: it ends with the remark, or with the assistant."""

import json
import os
import re
import sqlite3
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from tests.inbox.people import BIN, Person
from tests.needs import ROOT

SESSION = json.dumps({"session_id": "s1", "hook_event_name": "Stop"}).encode()
RECIPES = re.findall(r'"command": ("\[ .*?exit 0")', (ROOT / "docs" / "inbox.md").read_text())
HOOK = json.loads(RECIPES[0])
"""As docs/inbox.md has it for Claude Code: 2 wakes it, and what is on standard error is what it reads."""


@contextmanager
def waiting(person: Person, entrypoint: str = "cli") -> Generator[subprocess.Popen[bytes]]:
    """The hook, as the assistant starts it; ready when it waits."""
    with subprocess.Popen(
        ["/bin/sh", "-c", HOOK],
        cwd=person.root,
        env={
            **person.environment,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "CLAUDE_CODE_ENTRYPOINT": entrypoint,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as hook:
        assert hook.stdin is not None
        with suppress(BrokenPipeError):  # one that has nothing to do ends before it reads
            hook.stdin.write(SESSION)
            hook.stdin.close()
        hook.stdin = None
        try:
            yield hook
        finally:
            hook.kill()


def claimed(person: Person) -> bool:
    """Whether a process waits: the state says so."""
    file = person.state / "postil" / "state.db"
    if not file.exists():
        return False
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30) as state:
        return bool(state.execute("SELECT 1 FROM records WHERE space = 'inbox/idle'").fetchall())


def see_claim(person: Person, wanted: bool) -> None:
    deadline = time.monotonic() + 60
    while claimed(person) != wanted:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_remark_ends_the_wait_with_the_status_that_wakes_and_with_its_words(person: Person) -> None:
    person.send("before", "b.txt")
    person.run("postil", "inbox", "withdraw", "1")
    with waiting(person) as hook:
        see_claim(person, True)
        person.send("while idle", "a.txt", "2")
        said = hook.communicate(timeout=60)[1].decode()
    assert hook.returncode == 2
    assert "#2 leased  a.txt:2\n    while idle" in said
    assert person.states() == {2: "leased"}


def test_one_waits_for_each_session(person: Person) -> None:
    person.send("before", "b.txt")
    person.run("postil", "inbox", "withdraw", "1")
    with waiting(person) as first:
        see_claim(person, True)
        second = person.run("postil", "inbox", "hook", "idle", input=SESSION.decode())
        assert (second.returncode, second.stdout) == (1, "")
        person.send("for the first", "a.txt", "2")
        assert b"for the first" in first.communicate(timeout=60)[1]


def test_when_the_assistant_is_gone_nothing_is_taken(person: Person) -> None:
    person.send("before", "b.txt")
    person.run("postil", "inbox", "withdraw", "1")
    with waiting(person) as hook:
        see_claim(person, True)
        assert hook.stderr is not None
        hook.stderr.close()  # nobody reads what it would say
        see_claim(person, False)
    person.send("nobody is there", "a.txt", "2")
    assert person.states() == {2: "queued"}


def test_a_hook_that_is_broken_does_not_wake(person: Person) -> None:
    person.environment["XDG_STATE_HOME"] = os.devnull
    with waiting(person) as hook:
        hook.communicate(timeout=60)
    assert hook.returncode == 0


def test_the_recipe_is_the_same_for_both_events_and_leaves_a_session_without_a_person_alone(person: Person) -> None:
    assert RECIPES[0] == RECIPES[1]
    person.send("waits", "a.txt", "2")
    with waiting(person, "sdk-cli") as hook:
        assert hook.communicate(timeout=60)[1] == b""
    assert (hook.returncode, person.states()) == (0, {1: "queued"})
