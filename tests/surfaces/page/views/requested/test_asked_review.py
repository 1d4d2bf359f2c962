"""A review that an assistant asks for, in a real browser: seen live, answered with a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, serve_page, wait_until_live
from tests.surfaces.page.test_injection import CORPUS
from tests.surfaces.page.test_site import Client
from tests.surfaces.programs import run
from tests.workspace.repositories import new_repository

expect.set_options(timeout=PATIENCE)


def ask(served: ServedPage, **arguments: object) -> int:
    notes = [
        "greet.py:2: Is this too formal?",
        "notes.txt:1: This stays as it is",
    ]
    return served.call("request_review", **{"summary": "Greets politely", "seconds": 0, "notes": notes, **arguments})[
        "id"
    ]


def test_a_request_is_seen_live_and_answered_with_a_verdict(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/help") as page:  # whatever the person looks at
        wait_until_live(page)
        expect(page.locator("#asked a")).to_have_count(0)
        number = ask(served)
        page.locator("#asked a", has_text="1 review asked for").click()
        expect(page.locator("#asked-review")).to_contain_text("Greets politely")
        expect(page.locator("tr[id='greet.py:R2'] + .said-row .note")).to_contain_text("Is this too formal?")
        expect(page.locator("#elsewhere")).to_contain_text("This stays as it is")
        wait_until_live(page)
        # What the assistant says later is seen, and it is still one review.
        ask(served, notes=["greet.py:2: I looked again"])
        expect(page.locator("tr[id='greet.py:R2'] + .said-row .note")).to_contain_text("I looked again")

        page.locator("tr[id='greet.py:R2'] td.num").last.click()
        page.locator(".form-row textarea[name=comment]").fill("Say hello")
        page.locator(".form-row button[value=draft]").click()
        expect(page.locator("#send")).to_contain_text("with 1 draft")
        page.locator("#send textarea").fill("Nearly")
        page.locator("#send button[value=request_changes]").click()
        expect(page.locator("#asked-review .state")).to_have_text("changes requested")
        expect(page.locator("#asked a")).to_have_count(0)
        answer = served.call("request_review", id=number)
        assert (answer["state"], answer["verdict"], answer["words"]) == ("answered", "request_changes", "Nearly")
        assert [one["comment"] for one in answer["remarks"]] == ["Say hello"]
        page.goto(served.base + "/inbox?closed=1")
        expect(page.locator(f"#review{number}")).to_contain_text("Nearly")


@pytest.mark.parametrize("is_typing", [True, False])
def test_what_is_said_of_the_whole_stays_while_others_write(
    is_typing: bool, browser: Browser, served: ServedPage
) -> None:
    number = ask(served)
    with browse(browser, served, "/inbox") as page:
        page.locator(f"#review{number} a", has_text="Review it").click()
        page.locator("#send textarea").fill("Nearly")
        wait_until_live(page)
        if not is_typing:
            page.locator("#send textarea").blur()
        ask(served, notes=["greet.py:2: I looked again"])
        expect(page.locator("tr[id='greet.py:R2'] + .said-row .note")).to_contain_text("I looked again")
        expect(page.locator("#send textarea")).to_have_count(1)
        expect(page.locator("#send textarea")).to_have_value("Nearly")


def test_a_verdict_without_a_word_is_refused_and_nothing_typed_is_lost(browser: Browser, served: ServedPage) -> None:
    number = ask(served)
    with browse(browser, served, "/inbox") as page:
        page.locator(f"#review{number} a", has_text="Review it").click()
        wait_until_live(page)
        page.locator("#send button[value=comment]").click()
        expect(page.locator("#says")).to_contain_text("needs words or a remark")
        page.locator("#send textarea").fill("Half a sentence")
        served.call("request_review", id=number, withdraw=True)
        expect(page.locator("#asked-review .state")).to_have_text("withdrawn")
        expect(page.locator("#review-form textarea")).to_have_value("Half a sentence")
        page.locator("#send button[value=approve]").click()
        expect(page.locator("#says")).to_contain_text("is withdrawn already")
        expect(page.locator("#review-form textarea")).to_have_value("Half a sentence")


def test_the_person_dismisses_it(browser: Browser, served: ServedPage) -> None:
    number = ask(served)
    with browse(browser, served, f"/changes?request={number}") as page:
        page.locator("#send button", has_text="Dismiss").click()
        expect(page.locator("#asked-review .state")).to_have_text("dismissed")
    assert served.call("request_review", id=number)["state"] == "dismissed"


def test_no_field_of_a_request_runs(browser: Browser, served: ServedPage) -> None:
    for text in CORPUS:
        ask(served, summary=text, notes=[f"greet.py:2: {text}"])
    with browse(browser, served, "/inbox") as page:
        for number, text in enumerate(CORPUS, 1):
            expect(page.locator(f"#review{number} > p.said")).to_have_text(text, use_inner_text=False)
        for number in range(1, len(CORPUS) + 1, 3):
            page.goto(f"{served.base}/changes?request={number}")
            expect(page.locator(".note .said")).to_be_visible()
            assert page.evaluate("window.ran") is None
            assert page.locator("main script, main iframe, main svg, main img[src='x'], [onerror]").count() == 0


def test_who_is_no_member_sees_no_request_and_answers_none(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo", a__txt="one\n")
    (repo / "a.txt").write_text("two\n")
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    keys: dict[str, str] = {}
    for name, more in (("member", ["--workspace"]), ("stranger", [])):
        made = run("postil", "key", "create", name, *more, cwd=repo, **state)
        keys[name] = next(word for word in made.stdout.split() if len(word) > 30)
    asked = run("postil", "inbox", "request", "--summary", "Look at this", "--seconds", "0", cwd=repo, **state)
    assert asked.returncode == 0, asked.stderr
    with serve_page(repo, "--auth", "key") as served:
        for name, status in (("stranger", 404), ("member", 200)):
            client = Client(served)
            entered = client.post("/open", {"credential": keys[name]})
            client.cookie = entered.headers["Set-Cookie"].partition(";")[0]
            assert client.ask("GET", "/changes?request=1").status == status
            assert ("Look at this" in client.ask("GET", "/help").text + client.ask("GET", "/inbox").text) == (
                status == 200
            )
            assert client.ask("GET", "/changes?request=99").status == 404
