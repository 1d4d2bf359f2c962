"""Issues, the board and milestones in a real browser, live while an assistant works on them."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, wait_until_live

expect.set_options(timeout=PATIENCE)


def test_an_issue_is_written_read_and_closed_and_an_assistants_word_appears(
    browser: Browser, served: ServedPage
) -> None:
    with browse(browser, served, "/issues") as page:
        expect(page.get_by_text("No open issues")).to_be_visible()
        page.keyboard.press("a")
        page.get_by_label("Title").fill("Greet <b>politely</b>")
        page.get_by_label("Description").fill("- [ ] says good day\n- [ ] says bye")
        page.get_by_label("Labels, with commas").fill("bug, manners")
        page.get_by_role("button", name="Create").click()
        page.wait_for_url(re.compile(r"/issues/[0-9a-f-]{36}$"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Greet <b>politely</b>")
        wait_until_live(page)
        id_ = page.url.rpartition("/")[2]

        page.get_by_role("button", name="Tick says bye").click()
        expect(page.get_by_text("Acceptance criteria: 1 of 2")).to_be_visible()
        page.get_by_label("Comment", exact=True).fill("half a thought")
        served.call("git_mile_comment", id=id_, body="I look into it")
        served.call("git_mile_claim", id=id_, who="robot")
        expect(page.get_by_text("I look into it")).to_be_visible()
        expect(page.get_by_text("robot works on it")).to_be_visible()
        expect(page.get_by_label("Comment", exact=True)).to_have_value("half a thought")
        page.get_by_role("button", name="Comment").click()
        expect(page.locator("article", has_text="half a thought")).to_be_visible()
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_role("button", name="Reopen")).to_be_visible()
        assert served.call("git_mile_show", id=id_, entity="issue")["status"] == "closed"
        page.get_by_text("History").click()
        expect(page.locator(".history li").first).to_be_visible()


def test_a_filter_stands_in_the_address_and_a_mistake_in_it_is_explained(browser: Browser, served: ServedPage) -> None:
    for title, labels in (("One", ["bug"]), ("Two", [])):
        served.call("git_mile_create", title=title, labels=labels)
    with browse(browser, served, "/issues?q=label%3Abug") as page:
        expect(page.locator(".row strong")).to_have_text(["One"])
        page.get_by_role("searchbox").fill("label:")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(re.compile("q=label%3A"))
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_role("searchbox")).to_have_value("label:")


def columns(page: Page) -> dict[str, list[str]]:
    return {
        str(column.get_attribute("data-column")): column.locator(".card > a").all_inner_texts()
        for column in page.locator(".column").all()
    }


def test_cards_are_moved_by_dragging_by_keys_and_by_others(browser: Browser, served: ServedPage) -> None:
    first, second = (served.call("git_mile_create", title=title)["id"] for title in ("One", "Two"))
    with browse(browser, served, "/board") as page:
        wait_until_live(page)
        page.locator(f"#card-{first}").drag_to(page.locator("[data-column=draft]"))
        expect(page.locator("[data-column=draft] .card")).to_have_text(re.compile("One"))
        assert served.call("git_mile_show", id=first, entity="issue")["status"] == "draft"
        page.locator(f"#card-{second}").focus()
        page.locator("body").press("j")
        while page.locator(f"#card-{second}[aria-selected]").count() == 0:
            page.keyboard.press("j")
        page.keyboard.press(">")
        expect(page.locator("[data-column='in progress'] .card")).to_have_text(re.compile("Two"))
        served.call("git_mile_close", id=second)
        expect(page.locator("[data-column=closed] .card")).to_have_text(re.compile("Two"))
        assert columns(page) == {"draft": ["One"], "open": [], "in progress": [], "closed": ["Two"]}


def test_a_milestone_shows_its_progress_its_burn_down_and_its_issues(browser: Browser, served: ServedPage) -> None:
    mile = served.call("git_mile_create", entity="milestone", title="v1")["id"]
    done = served.call("git_mile_create", title="Done", milestone=mile)["id"]
    served.call("git_mile_create", title="Open", milestone=mile)
    served.call("git_mile_close", id=done)
    with browse(browser, served, "/milestones") as page:
        expect(page.locator(".row")).to_contain_text("1 of 2 closed")
        page.get_by_role("link", name="v1").click()
        expect(page.locator(".rows strong")).to_have_count(2)
        picture = page.get_by_alt_text("Burn-down of v1")
        expect(picture).to_be_visible()
        assert picture.evaluate("node => node.complete && node.naturalWidth > 0")
