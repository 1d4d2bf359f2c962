"""Hooks of assistants: unread messages only, silence otherwise, and never a loop."""

import json
import subprocess

from tests.inbox.people import BIN, Person


def hook(person: Person, event: str, session: str = "s1", **more: object) -> str:
    done = person.run("postil", "inbox", "hook", event, input=json.dumps({"session_id": session, **more}))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_unread_prints_nothing(person: Person) -> None:
    assert [hook(person, event) for event in ("start", "prompt", "stop")] == ["", "", ""]


def test_a_prompt_carries_the_unread_messages_once(person: Person) -> None:
    (person.root / "a.txt").write_text("one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n")
    person.send("look here", "a.txt", "2")
    said = hook(person, "prompt")
    assert "#1 leased  a.txt:2" in said
    assert "look here" in said
    assert "+TWO" in said
    assert "inbox_resolve" in said
    assert hook(person, "prompt") == ""
    assert person.states() == {1: "seen"}  # the session came back, so it has it


def test_a_stop_asks_to_go_on_and_never_twice(person: Person) -> None:
    person.send("before you stop")
    decision = json.loads(hook(person, "stop"))
    assert decision["decision"] == "block"
    assert "before you stop" in decision["reason"]
    person.send("meanwhile")
    assert hook(person, "stop", stop_hook_active=True) == ""
    assert "meanwhile" in hook(person, "prompt")


def test_a_session_that_never_came_back_leaves_it_to_others_in_time(person: Person) -> None:
    person.send("for one session")
    assert "for one session" in hook(person, "prompt", "s1")
    assert hook(person, "prompt", "s2") == ""
    assert person.states() == {1: "leased"}


def test_bad_input_to_a_hook_is_no_fault(person: Person) -> None:
    person.send("still told")
    done = person.run("postil", "inbox", "hook", "prompt", input="{nonsense")
    assert done.returncode == 0
    assert "still told" in done.stdout


def test_a_hook_does_not_wait_for_an_input_that_never_ends(person: Person) -> None:
    waiting = subprocess.Popen(
        [str(BIN / "postil"), "inbox", "hook", "start"],
        cwd=person.root,
        env=person.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert waiting.wait(timeout=10) == 0
    assert waiting.stdin is not None
    assert waiting.stdout is not None
    waiting.stdin.close()
    waiting.stdout.close()
