"""An assistant asks for a review: one request however often it asks, the person's verdict, and what both are told."""

import json
import signal
import subprocess
from typing import Any

import pytest

from tests.inbox.people import BIN, SOURCE, Assistant, Person
from tests.surfaces.served import serve_http


def change(person: Person) -> None:
    (person.root / "a.txt").write_text(SOURCE.replace("two", "TWO"))


def run(person: Person, *words: str, status: int = 0, input: str = "") -> str:
    done = person.run("postil", *words, input=input)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def text_of(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]


def ask(assistant: Assistant, **arguments: Any) -> str:
    return text_of(assistant.call("request_review", **{"summary": "I renamed two", "seconds": 0, **arguments}))


def test_the_person_is_told_and_the_assistant_gets_the_review(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        assert "Review 1 is asked for" in ask(assistant, notes=["a.txt:2: This one"])
        assert "1 review asked for" in run(person, "status")
        listed = run(person, "inbox", "requests")
        assert listed.startswith("Review 1 asked for: Changes that are not committed, 1 note\n    I renamed two\n")
        assert "    a.txt:2\n        This one" in listed
        assert "1 review asked for" in person.send("Why?", "a.txt", "2", "--draft", "--suggest", "Two")
        said = run(person, "inbox", "review", "1", "request_changes", "--summary", "Not yet")
        assert said == "Review 1 changes requested, with 1 remark\n"
        review = text_of(assistant.call("request_review", id=1))
        assert "Review 1 of Changes that are not committed: changes requested\n\nNot yet\n" in review
        assert "#2 leased  a.txt:2  with a suggestion  review 1\n    Why?" in review
        assert "remarks of the local user" in review  # framed as the person's words
        assert assistant.check() == "No new messages from lazygit"  # nothing is sent twice
        assistant.call("inbox_resolve", id=2)
    assert person.states() == {}
    assert "asked for" not in run(person, "status")


def test_asked_twice_it_is_one_review_with_the_newer_notes(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant, person.assistant("postil", "serve") as other:
        ask(assistant, notes=["a.txt:1-2: old words"])
        assert "Review 1 is" in ask(other, notes=["b.txt: newer words"])
        assert "Review 1 is" in ask(assistant)
        assert "Review 2 is" in ask(assistant, summary="Another thing")
        assert "Review 3 is" in ask(assistant, scope="unstaged")
    found = json.loads(run(person, "inbox", "requests", "1", "--json"))["requests"]
    assert [[note["text"] for note in one["notes"]] for one in found] == [["newer words"]]


def test_a_wait_ends_with_the_answer_and_tells_how_long_it_has_waited(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        params = {"name": "request_review", "arguments": {"summary": "Look", "seconds": 600}}
        params["_meta"] = {"progressToken": "p"}
        assistant.write({"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": params})
        note = assistant.note("notifications/progress", timeout=60)
        assert note is not None
        assert note["params"]["total"] == 600
        assert assistant.ask("ping")["result"] == {}  # others are served meanwhile
        run(person, "inbox", "review", "1", "approve")
        assert "approved" in text_of(assistant.answer(70, timeout=60)["result"])


def test_the_answer_reaches_an_assistant_that_no_longer_waits(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        ask(assistant)
        run(person, "inbox", "review", "1", "approve", "--summary", "Well done")
        assert "#1 leased  the repository  note  review 1\n    Review 1: approved. Well done" in assistant.check()


def test_a_lost_answer_is_given_again(person: Person) -> None:
    change(person)
    first = person.assistant("postil", "serve")
    with first:
        ask(first)
        person.send("Why?", "a.txt", "2", "--draft")
        run(person, "inbox", "review", "1", "comment")
        assert "#2 leased" in text_of(first.call("request_review", id=1))
        first.server.kill()
    with person.assistant("postil", "serve") as second:
        said = second.check()
    assert "Review 1: commented" in said
    assert "#2 leased  a.txt:2  review 1  attempt 2" in said


def test_a_request_survives_the_kill_of_the_server_that_took_it(person: Person) -> None:
    change(person)
    words = [str(BIN / "postil"), "inbox", "request", "--summary", "Look", "--seconds", "600"]
    waiting = subprocess.Popen(words, cwd=person.root, env=person.environment, stdout=subprocess.DEVNULL)
    with person.assistant("postil", "serve") as assistant:
        assert "Review 1 is asked for" in ask(assistant, summary="Look")  # whoever of both was first
    waiting.send_signal(signal.SIGKILL)
    waiting.wait(60)
    assert "Review 1 asked for" in run(person, "inbox", "requests")


def test_the_assistant_withdraws_and_the_person_dismisses(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        ask(assistant)
        for _ in range(2):
            said = text_of(assistant.call("request_review", id=1, withdraw=True))
            assert "Review 1 of Changes that are not committed: withdrawn" in said
        assert "Review 1 of Changes that are not committed: withdrawn" in ask(assistant, summary="", id=1)
        assert "is withdrawn already" in run(person, "inbox", "review", "1", "approve", status=6)
        assert assistant.check() == "No new messages from lazygit"
        assert "Review 2 is" in ask(assistant)  # the same again is another one now
        assert run(person, "inbox", "dismiss", "2", "--reason", "No time") == "Review 2 dismissed\n"
        said = text_of(assistant.call("request_review", id=2))
        assert "dismissed by the person\n\nNo time" in said
        assert assistant.check() == "No new messages from lazygit"


def test_drafts_of_another_request_stay_where_they_are(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        ask(assistant)
        ask(assistant, summary="Another thing")
        person.send("for the second", "a.txt", "2", "--draft", "--request", "2")
        person.send("for any", "a.txt", "3", "--draft")
        assert run(person, "inbox", "review", "1", "approve") == "Review 1 approved, with 1 remark\n"
        assert [one["comment"] for one in person.messages("--drafts")] == ["for the second"]
        person.send("sent at once", "a.txt", "4", "--request", "2", "--now")
        assert "with 1 remark" in run(person, "inbox", "review", "2", "comment")
        review = text_of(assistant.call("request_review", id=2))
        assert "for the second" in review
        assert "sent at once" in review
        assert "for any" not in review
    assert "#6 queued" in person.send("too late for it", "a.txt", "2", "--request", "1")


def test_what_was_thrown_away_before_it_was_sent_is_no_part_of_the_review(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        ask(assistant)
        person.send("rash words", "a.txt", "2", "--draft", "--request", "1")
        person.send("hasty words", "a.txt", "3", "--request", "1", "--now")
        person.send("kind words", "a.txt", "3", "--draft", "--request", "1")
        run(person, "inbox", "withdraw", "2")
        run(person, "inbox", "withdraw", "3")
        run(person, "inbox", "review", "1", "comment")
        review = text_of(assistant.call("request_review", id=1))
    assert "kind words" in review
    assert "rash words" not in review
    assert "hasty words" not in review


def test_the_key_in_lazygit_tells_of_it_and_answers(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        ask(assistant)
        ask(assistant, summary="Another thing")
    said = run(
        person, "inbox", "talk", input="v 1 nonsense\nv 1 comment\nv 1 approve Fine\nx 2 no time\nv 2 approve\nq\n"
    )
    assert "Review 1 asked for: Changes that are not committed" in said
    assert "v NUMBER approve|comment|request_changes [TEXT]" in said
    assert "The verdict 'comment' needs words or a remark" in said
    assert "Review 1 approved" in said
    assert "Review 2 dismissed" in said
    assert "Review 2 is dismissed already" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"summary": ""}, "Give a summary to ask for a review, or the id"),
        ({"id": 3}, "Give a summary to ask for a review, or the id"),
        ({"summary": "", "id": 99}, "No review 99 was asked for"),
        ({"summary": " ", "scope": "branch"}, "The summary is empty"),
        ({"scope": "nope"}, "There is no commit or branch 'nope'"),
        ({"scope": "--output=x"}, "There is no commit or branch"),
        ({"scope": "HEAD..HEAD"}, "There is nothing to review"),
        ({"notes": ["a.txt:99: x"]}, "Note 1, 'a.txt:99: x': Line 99 does not exist"),
        ({"notes": ["a.txt:1: x", "../../etc/passwd: x"]}, "Note 2, '../../etc/passwd: x'"),
        ({"notes": ["a.txt:5-3: x"]}, "'5-3' is not a line"),
        ({"notes": ["a.txt"]}, "it is no note"),
        ({"notes": ["a.txt:1: " + "x" * 4_000]}, "it is no note"),
        ({"notes": ["a.txt:1: x"] * 51}, "length <= 50"),
        ({"summary": "", "withdraw": True, "id": 99}, "No review 99 was asked for"),
        ({"withdraw": True}, "Withdraw the review of an id"),
        ({"summary": "x" * 8_001}, "length <= 8000"),
        ({"seconds": 601}, "<= 600"),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(person: Person, arguments: dict[str, Any], said: str) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        assistant.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        result = assistant.call("request_review", **{"summary": "Look", "seconds": 0, **arguments})
        assert result["isError"]
        assert said in text_of(result)


def test_what_a_person_cannot_answer_says_so(person: Person) -> None:
    change(person)
    assert "No review 7 was asked for" in run(person, "inbox", "review", "7", "approve", status=5)
    assert "No review 7 was asked for" in run(person, "inbox", "dismiss", "7", status=5)
    run(person, "inbox", "request", "--summary", "Look", "--seconds", "0")
    assert "needs words or a remark" in run(person, "inbox", "review", "1", "request_changes", status=2)
    assert "'maybe' is none of" in run(person, "inbox", "review", "1", "maybe", status=2)
    assert "Review 1 asked for" in run(person, "inbox", "requests")


def test_there_is_an_end_to_asking(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        assistant.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        for number in range(20):
            ask(assistant, summary=f"Look {number}")
        assert "20 reviews are asked for and not answered yet" in ask(assistant, summary="One more")
        assert "Review 20 is asked for" in ask(assistant, summary="Look 19")


def test_a_long_review_fits_and_the_rest_waits(person: Person) -> None:
    change(person)
    with person.assistant("postil", "serve") as assistant:
        ask(assistant)
        for number in range(6):
            person.send(f"{number} " + "long words " * 700, "a.txt", "2", "--draft")
        run(person, "inbox", "review", "1", "comment", "--summary", "-", input="whole " * 3_000)
        said = text_of(assistant.call("request_review", id=1))
        assert len(said.encode()) <= 24_000
        assert "call inbox_show with id=1" in said
        more = int(said.partition(" more remarks: call check_lazygit_messages")[0].rpartition("\n")[2])
        rest = assistant.check()
        assert more >= 3
        assert f"#{8 - more} leased" in rest
    assert "whole whole" in run(person, "inbox", "show", "1")


def test_over_http_a_request_belongs_to_who_asked(person: Person) -> None:
    change(person)
    keys = {
        name: json.loads(run(person, "key", "create", name, *more, "--json"))["key"]
        for name, more in {"one": ("--workspace",), "two": ("--workspace",), "stranger": ()}.items()
    }
    state = {"XDG_STATE_HOME": str(person.state), "XDG_CONFIG_HOME": str(person.config)}
    with serve_http(person.root, "--auth", "key", **state) as served:

        def call(method: str, name: str, **params: Any) -> Any:
            return served.ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, keys[name])[1]

        assert call("request_review", "one", summary="Look", seconds=0)["result"]["state"] == "open"
        assert call("request_review", "two", summary="Look", seconds=0)["result"]["id"] == 2  # not the same asker
        assert "No review 1" in str(call("request_review", "two", id=1)["error"])
        assert "No review 1" in str(call("request_review", "two", id=1, withdraw=True)["error"])
        assert "error" in call("request_review", "stranger", summary="Look", seconds=0)
        assert "error" in call("inbox_review", "one", id=1, verdict="approve")  # a person's word alone
        run(person, "inbox", "review", "1", "approve")
        assert call("request_review", "one", id=1)["result"]["verdict"] == "approve"
    assert "Review 2 asked for: Changes that are not committed by " in run(person, "inbox", "requests")
