"""Answers are bounded: a page of remarks, a hunk once, a long remark with the call that gets the rest."""

import json

from tests.inbox.people import SOURCE, Person


def test_ten_remarks_on_one_hunk_bring_it_once_and_fit_a_page(person: Person) -> None:
    (person.root / "a.txt").write_text("".join(f"{number} {'x' * 90}\n" for number in range(200)))
    for number in range(1, 11):
        person.send(f"remark {number}", "a.txt", str(number))
    with person.assistant("postil", "serve") as assistant:
        result = assistant.call("check_lazygit_messages")
    text = result["content"][0]["text"]
    assert len(json.dumps(result)) < 26_000
    assert text.count("@@ -1,8 +1,200 @@") == 1
    assert "(in the hunk of #1)" in text
    assert all(f"remark {number}\n" in text for number in range(1, 11))
    with person.assistant() as bridge:
        assert bridge.check() == "No new messages from lazygit"


def test_a_remark_on_a_minified_file_is_small(person: Person) -> None:
    (person.root / "a.txt").write_text("y" * 3_000_000)
    person.send("minified", "a.txt", "1")
    with person.assistant() as assistant:
        assert len(json.dumps(assistant.call("check_lazygit_messages"))) < 12_000


def test_a_long_remark_is_cut_with_the_call_that_gets_the_rest(person: Person) -> None:
    words = " ".join(f"word{number}" for number in range(6000))
    person.send(words)
    person.send("behind it")
    with person.assistant("postil", "serve") as assistant:
        said = assistant.check()
        assert len(said) < 24_000
        assert "cut: call inbox_show with id=1, start=20000" in said
        assert "behind it" not in said
        assert "1 more wait" in said
        rest = assistant.call("inbox_show", id=1, start=20000)["content"][0]["text"]
        assert "characters more: start=40000" in rest
        assert "behind it" in assistant.check()


def test_on_the_bridge_a_long_remark_goes_whole_and_the_page_ends(person: Person) -> None:
    words = "w" * 60_000
    person.send(words)
    person.send("behind it")
    with person.assistant() as assistant:
        first, second = assistant.check(), assistant.check()
    assert f"Comment: {words}\n" in first
    assert "behind it" not in first
    assert "behind it" in second


def test_a_list_is_a_page_with_the_way_on(person: Person) -> None:
    for number in range(12):
        person.send(f"{number} " + "v" * 3000, "a.txt", str(number % SOURCE.count("\n") + 1))
    with person.assistant("postil", "serve") as assistant:
        first = assistant.call("inbox_list")["content"][0]["text"]
        assert len(first) < 24_000
        after = int(first.rpartition("after=")[2].partition("\n")[0])
        assert f"#{after + 1} queued" in assistant.call("inbox_list", after=after)["content"][0]["text"]
    assert len(person.messages()) == 12
