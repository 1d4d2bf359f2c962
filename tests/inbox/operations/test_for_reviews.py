"""Reviews: drafts sent as one, suggestions, what changed since, the conversation in a terminal."""

import json

from tests.inbox.people import SOURCE, Person


def run(person: Person, *words: str, status: int = 0, input: str = "") -> str:
    done = person.run("postil", "inbox", *words, input=input)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def test_drafts_wait_until_they_are_sent_as_one_review(person: Person) -> None:
    for line in ("1", "2"):
        run(person, "send", "-f", "a.txt", "-l", line, "-c", f"on {line}", "--draft")
    with person.assistant("postil", "serve") as assistant:
        assert assistant.check() == "No new messages from lazygit"
        assert "draft" not in str(assistant.call("inbox_list"))
        assert run(person, "submit", "--summary", "two things") == "Review 1: 2 remarks queued, 2 waiting\n"
        said = assistant.check()
    assert said.partition("\n")[2].startswith("Review 1: two things\n\n#1 leased  a.txt:1  review 1\n    on 1")
    assert "#2 leased  a.txt:2  review 1" in said
    assert "There are no drafts" in run(person, "submit", status=5)


def test_the_summary_comes_by_standard_input(person: Person) -> None:
    person.send("one thing", "a.txt", "2", "--draft")
    run(person, "submit", "--summary", "-", input="long words\n")
    assert person.messages()[0]["summary"].strip() == "long words"


def test_a_setting_makes_every_remark_a_draft(person: Person) -> None:
    person.environment["POSTIL_INBOX_DRAFT"] = "1"
    assert "#1 is a draft, 1 in all" in person.send("later")
    assert "#2 queued" in person.send("now", "a.txt", "", "--now")
    assert [message["id"] for message in person.messages("--drafts")] == [1]


def test_a_draft_can_be_changed_in_the_editor_and_thrown_away(person: Person) -> None:
    person.send("first words", "a.txt", "", "--draft")
    assert "no terminal" in run(person, "edit", "1", status=2)
    run(person, "edit", "1", "-c", "better\nwords")
    (draft,) = person.messages("--drafts")
    assert (draft["comment"], draft["state"]) == ("better\nwords", "draft")
    run(person, "withdraw", "1")
    assert person.messages("--drafts") == []


def test_a_suggestion_reaches_the_assistant_as_a_change_and_is_applied_where_it_fits(person: Person) -> None:
    person.send("shorter", "a.txt", "2-3", "--suggest", "2\n3")
    with person.assistant("postil", "serve") as assistant:
        assert "-two\n    -three\n    +2\n    +3" in assistant.check()
    (person.root / "a.txt").write_text("zero\n" + SOURCE)  # it moved
    assert run(person, "apply", "1") == "#1 applied to a.txt\n"
    assert (person.root / "a.txt").read_text() == "zero\none\n2\n3\nfour\nfive\nsix\nseven\neight\n"
    assert "What #1 suggests stands in the file already" in run(person, "apply", "1", status=6)
    assert "Applied to a.txt" in run(person, "show", "1")
    assert "with a suggestion" in run(person, "list").splitlines()[0]


def test_applying_keeps_the_line_ends_of_the_file_and_may_delete(person: Person) -> None:
    (person.root / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    person.send("other", "a.txt", "2", "--suggest", "TWO")
    person.send("away", "a.txt", "3", "--suggest", "")
    run(person, "apply", "1")
    run(person, "apply", "2")
    assert (person.root / "a.txt").read_bytes() == b"one\r\nTWO\r\n"
    person.send("no other text", "a.txt", "1")
    assert "suggests no other text" in run(person, "apply", "3", status=5)


def test_an_edit_that_comes_between_is_never_overwritten(person: Person) -> None:
    person.send("other", "a.txt", "2", "--suggest", "TWO")
    code = (
        "import os, sys; sync, edits = os.fsync, iter([b'mine\\n'])\n"
        "def slow(file):\n"
        "    sync(file)\n"
        "    for words in edits: open('a.txt', 'ab').write(words)\n"
        "os.fsync = slow\n"
        "from postil.surfaces.shell.main import main; sys.exit(main())"
    )
    done = person.run("python", "-c", code, "inbox", "apply", "1")
    assert done.returncode == 6, done.stderr
    assert "its lines are in a file that is being changed" in done.stderr
    assert (person.root / "a.txt").read_text() == SOURCE + "mine\n"
    assert run(person, "apply", "1") == "#1 applied to a.txt\n"


def test_rounds_show_what_changed_since_each_remark(person: Person) -> None:
    person.send("change this", "a.txt", "2")
    assert "unchanged" in run(person, "rounds")
    (person.root / "a.txt").write_text(SOURCE.replace("two", "two and more"))
    said = run(person, "rounds")
    assert "-two\n" in said
    assert "+two and more" in said
    (person.root / "a.txt").unlink()
    assert "gone" in run(person, "rounds")


def test_the_export_is_markdown_by_file_and_line(person: Person) -> None:
    person.send("later line", "a.txt", "5")
    person.send("earlier line", "a.txt", "2", "--kind", "question")
    person.send("whole file", "b.txt", "", "--draft")
    said = run(person, "export")
    assert said.startswith("## a.txt\n\n**#2** question, line 2, queued\n\nearlier line\n\n```\ntwo\n```\n\n**#1** fix")
    assert "## b.txt\n\n**#3** fix, the whole, draft" in said


def test_the_conversation_is_read_and_answered_in_a_terminal(person: Person) -> None:
    person.send("why?", "a.txt", "2", "--kind", "question")
    with person.assistant("postil", "serve") as assistant:
        assistant.check()
        assistant.call("inbox_reply", id=1, text="because")
        said = run(person, "talk", "--file", "a.txt", input="1\nr 1 not enough\nx 9\n\u00b2\nd \u00b2\nnonsense\nq\n")
        assert "#1 answered: because" in said
        assert "#1 queued again with your answer" in said
        assert "There is no message #9" in said
        thread = assistant.check()
    assert "attempt 2" in thread
    assert "assistant," in thread
    assert "not enough" in thread
    assert "No open messages" in run(person, "talk", "--file", "b.txt")
    assert "#1 addressed" in run(person, "talk", input="d 1\n")
    assert person.messages() == []


def test_an_answer_that_declines_says_so(person: Person) -> None:
    person.send("too big", "a.txt", "2")
    with person.assistant("postil", "serve") as assistant:
        assistant.check()
        assistant.call("inbox_resolve", id=1, outcome="declined", reply="it is small")
    assert "#1 declined: it is small" in run(person, "talk", input="q\n")


def test_what_the_assistant_answered_is_seen(person: Person) -> None:
    person.send("why?", "a.txt", "2")
    with person.assistant("postil", "serve") as assistant:
        assistant.check()
        assistant.call("inbox_resolve", id=1, reply="done in the other file")
    assert "1 new answer" in person.run("postil", "status").stdout
    receipt = person.send("next")
    assert "#1 addressed: done in the other file" in receipt
    assert "addressed" not in person.send("and one more")  # told once
    assert "new answer" not in person.run("postil", "status").stdout
    person.send("open", "b.txt")
    with person.assistant("postil", "serve") as assistant:
        assistant.check()
        assistant.call("inbox_reply", id=4, text="which one?")
    assert "which one?" in person.run("postil", "inbox", "list").stdout


def test_the_answer_of_the_person_reaches_the_assistant_of_the_old_bridge_too(person: Person) -> None:
    person.send("why?", "a.txt", "2")
    with person.assistant() as assistant:
        assistant.check()
        run(person, "reply", "1", "--text", "and how?")
        assert "Comment: why?\n\nyou: and how?\nTime:" in assistant.check()


def test_equal_sends_of_one_second_are_one_message_and_other_lines_are_others(person: Person) -> None:
    numbers = {
        json.loads(run(person, "send", "-f", "a.txt", "-l", "2", "-c", "same", "--json"))["id"] for _ in range(3)
    }
    others = {
        json.loads(run(person, "send", "-f", "a.txt", "-l", str(n), "-c", "same", "--json"))["id"] for n in (3, 4)
    }
    assert len(others) == 2
    assert not numbers & others
    times = {message["time"] for message in person.messages() if message["line"] == "2"}
    assert len(numbers) == len(times)  # as many as there were seconds


def test_what_was_typed_in_lazygit_is_kept_when_it_cannot_be_sent(person: Person) -> None:
    said = run(person, "send", "--at", "a.txt:99 @unstaged", "--comment", "a long thought", status=2)
    assert "kept as draft #1" in said
    (draft,) = person.messages("--drafts")
    assert draft["comment"] == "a long thought\n\n(meant for a.txt:99)"
    assert person.states() == {1: "draft"}


def test_kinds_are_reached_by_how_a_remark_begins(person: Person) -> None:
    for text in ("? why", "note: mind this", "fix: it", "2: question: really"):
        run(person, "send", "--at", "a.txt:?", "--comment", text)
    found = [(message.get("kind", "fix"), message["comment"]) for message in person.messages()]
    assert found == [("question", "why"), ("note", "mind this"), ("fix", "it"), ("question", "really")]


def test_after_a_chosen_line_another_one_is_named_with_a_kind(person: Person) -> None:
    for text in ("3: note: mind this", "3: nothing but words", "2-3: ? why"):
        run(person, "send", "--at", "a.txt:1", "--comment", text)
    found = [(message["line"], message.get("kind", "fix"), message["comment"]) for message in person.messages()]
    assert found == [("3", "note", "mind this"), ("1", "fix", "3: nothing but words"), ("2-3", "question", "why")]


def test_the_conversation_lists_words_and_a_number_shows_the_hunk(person: Person) -> None:
    (person.root / "a.txt").write_text(SOURCE.replace("two", "TWO"))
    person.send("why?", "a.txt", "2")
    assert "-two" not in run(person, "talk", input="q\n")
    assert "-two" in run(person, "talk", input="1\nq\n")
