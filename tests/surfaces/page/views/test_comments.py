"""Comments beside their code, found, answered and decided, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, wait_until_live
from tests.workspace.repositories import git

expect.set_options(timeout=PATIENCE)


def test_a_comment_stands_under_its_line_and_answers_come_live(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/comments") as page:
        expect(page.get_by_text("No comments yet")).to_be_visible()
        page.goto(served.base + "/comments/file?file=greet.py")
        wait_until_live(page)
        page.keyboard.press("a")  # no line is chosen yet: the form at the end asks for it
        page.get_by_label("Line").fill("2")
        page.get_by_label("What to say").fill("Why <i>day</i>?")
        page.get_by_role("button", name="Write").click()
        thread = page.locator("#under2 article")
        expect(thread).to_contain_text("Why <i>day</i>?")
        expect(thread.locator(".anchor")).to_have_text("exact")
        id_ = str(thread.get_attribute("id"))[1:]
        served.call("comments_reply", commentId=id_, text="Because it is polite", author="robot")
        expect(thread).to_contain_text("Because it is polite")
        source = served.folder / "greet.py"
        source.write_text("import sys\n" + source.read_text())
        expect(page.locator("#under3 article .anchor")).to_have_text("moved")
        page.locator("#under3").get_by_role("button", name="Resolve").click()
        expect(page.locator("#under3 .state")).to_have_text("resolved")


def test_comments_are_found_by_words_and_filters(browser: Browser, served: ServedPage) -> None:
    for line, tag in ((1, "TODO"), (5, "NOTE")):
        served.call("add_comment", filePath="greet.py", line=line, text=f"about line {line}", tag=tag)
    with browse(browser, served, "/comments?tag=TODO") as page:
        expect(page.locator("article .said")).to_have_text(["about line 1"])
        page.get_by_role("searchbox").fill("line 5")
        page.get_by_label("Tag").fill("")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(re.compile("q=line"))
        expect(page.locator("article .said")).to_have_text(["about line 5"])
        page.get_by_text("Its life").click()
        expect(page.locator(".history li").first).to_contain_text("made")


def test_comments_that_cannot_be_shown_are_told(browser: Browser, served: ServedPage) -> None:
    served.call("add_comment", filePath="greet.py", line=1, text="about line 1")
    (served.folder / "other.py").write_text("one = 1\n")
    (served.folder / "other.py.comments").write_text("{not json")
    git(served.folder, "add", ".")
    git(served.folder, "commit", "-qm", "with comments")
    git(served.folder, "sparse-checkout", "set", "--no-cone", "/*", "!greet.py.comments")
    with browse(browser, served, "/comments") as page:
        warned = page.locator("#comments > .fault-line")
        expect(warned).to_have_count(2)
        expect(warned.first).to_contain_text("The comments of other.py cannot be read")
        expect(warned.last).to_contain_text("The comments of 1 file outside of the sparse checkout are left out")
        page.goto(served.base + "/comments/file?file=greet.py")
        expect(page.locator("#file > .fault-line")).to_contain_text("outside of the sparse checkout")


def test_a_comment_in_doubt_is_decided_with_one_key(browser: Browser, served: ServedPage) -> None:
    served.call("add_comment", filePath="greet.py", line=6, text="leaves too early")
    source = served.folder / "greet.py"
    source.write_text("def other():\n    return 1\n")
    with browse(browser, served, "/comments/doubts") as page:
        doubt = page.locator("section.doubt")
        expect(doubt).to_contain_text("leaves too early")
        expect(doubt.locator("pre").first).to_contain_text("bye")
        wait_until_live(page)
        doubt.focus()
        page.keyboard.press("j")
        page.keyboard.press("w")
        expect(page.get_by_text("Every comment knows its code")).to_be_visible()
        assert served.call("comments_list")["total"] == 0


def test_the_code_of_a_file_has_the_width_of_the_page(browser: Browser, served: ServedPage) -> None:
    for width in (1200, 360):
        with browse(browser, served, "/comments/file?file=greet.py", viewport={"width": width, "height": 800}) as page:
            numbers, text = (page.locator(f"#L1 td.{kind}").bounding_box() for kind in ("num", "text"))
            assert numbers is not None
            assert text is not None
            assert numbers["width"] < text["width"] / 4


def test_keys_comment_on_the_chosen_line_and_answer_what_stands_there(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/comments/file?file=greet.py") as page:
        wait_until_live(page)
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("a")
        page.keyboard.type("by keys alone")
        page.keyboard.press("Escape")
        page.keyboard.press("a")  # what was typed is still there
        page.keyboard.type(", and whole")
        page.keyboard.press("Control+Enter")
        thread = page.locator("#under2 article")
        expect(thread).to_contain_text("by keys alone, and whole")
        expect(page.locator("tr.form-row")).to_have_count(0)
        page.keyboard.press("r")
        page.keyboard.type("an answer")
        page.keyboard.press("Control+Enter")
        expect(thread.locator(".replies")).to_contain_text("an answer")
        page.locator("#L5 td.num").click()
        page.keyboard.type("by the mouse")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#under5 article")).to_contain_text("by the mouse")


def test_a_person_says_where_a_lost_comment_belongs(browser: Browser, served: ServedPage) -> None:
    served.call("add_comment", filePath="greet.py", line=6, text="leaves too early")
    (served.folder / "greet.py").write_text("def other():\n    return 1\n")
    with browse(browser, served, "/comments/doubts") as page:
        wait_until_live(page)
        page.keyboard.press("j")
        page.keyboard.press("m")
        page.get_by_label("Line").fill("2")
        page.get_by_role("button", name="Place it there").click()
        expect(page.get_by_text("Every comment knows its code")).to_be_visible()
        assert [one["line"] for one in served.call("comments_list")["comments"]] == [2]


def test_an_address_that_leads_nowhere_is_told_as_that(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served, "/nosuch") as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("Not found")


def test_what_lost_its_code_stands_under_no_line(browser: Browser, served: ServedPage) -> None:
    lost = served.call("add_comment", filePath="greet.py", line=6, text="leaves too early")["commentId"]
    served.call("add_comment", filePath="greet.py", line=1, text="greets")
    source = served.folder / "greet.py"
    source.write_text(source.read_text().split("def leave")[0] + "\n" * 5 + "unrelated = compute(everything)\n" * 3)
    with browse(browser, served, "/comments") as page:
        expect(page.locator(f"#k{lost} header .anchor")).to_have_text("orphaned")
        page.locator(f"#k{lost} header a").first.click()
        page.wait_for_url(re.compile(f"file=greet.py#k{lost}$"))
        expect(page.locator(f"#lost #k{lost}")).to_contain_text("leaves too early")
        expect(page.locator("#lost pre")).to_contain_text("bye")
        expect(page.locator("tr.said-row article .said")).to_have_text(["greets"])
        source.unlink()
        page.goto(served.base + "/comments/file?file=greet.py")
        expect(page.locator("#lost article .said")).to_have_text(["leaves too early", "greets"])
        page.goto(served.base + f"/comments/{lost}")
        expect(page.locator("pre")).to_contain_text("bye")
        page.goto(served.base + "/comments/file?file=never.py")
        expect(page.get_by_text("That did not work")).to_be_visible()


def test_the_list_says_where_code_in_doubt_may_be(browser: Browser, served: ServedPage) -> None:
    source = served.folder / "greet.py"
    served.call("add_comment", filePath="greet.py", line=2, text="stands twice")
    code = source.read_text()
    source.unlink()
    for name in ("one.py", "two.py"):
        (served.folder / name).write_text(f"import {name[:3]}\n\n\n{code}")
    (likely, *_) = served.call("comments_list")["comments"][0]["candidates"]
    with browse(browser, served, "/comments") as page:
        header = page.locator("article header")
        expect(header).to_contain_text(f"may be at {likely['path']}:{likely['line']}")
        link = header.get_by_role("link", name=f"{likely['path']}:{likely['line']}")
        expect(link).to_have_attribute("href", f"/comments/file?file={likely['path']}#L{likely['line']}")
        page.goto(served.base + "/comments/doubts")
        marked = page.locator("section.doubt li").first.locator("pre mark")
        expect(marked).to_have_text(code.splitlines()[1], use_inner_text=True)


def test_a_comment_is_edited_in_place_and_the_edit_undone(browser: Browser, served: ServedPage) -> None:
    id_ = served.call("add_comment", filePath="greet.py", line=2, text="Why day?\nAnd not night?")["commentId"]
    with browse(browser, served, "/comments/file?file=greet.py") as page:
        wait_until_live(page)
        thread = page.locator(f"#k{id_}")
        thread.focus()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("i")
        area = thread.get_by_label("What it says")
        expect(area).to_be_focused()
        expect(area).to_have_value("Why day?\nAnd not night?")
        area.fill("TODO: say <b>night</b>")
        page.keyboard.press("Control+Enter")
        expect(thread.locator("> .said")).to_have_text("TODO: say <b>night</b>")
        expect(thread.locator(".kind")).to_have_text("TODO")
        expect(thread).to_be_focused()
        expect(page.locator("#says")).to_contain_text("Saved")
        page.keyboard.press("z")
        expect(thread.locator("> .said")).to_have_text("Why day?\nAnd not night?")
        expect(page.locator("#says")).to_contain_text("Undone")
        thread.get_by_role("button", name="Resolve").click()
        expect(thread.locator(".state")).to_have_text("resolved")
        page.locator("#says").get_by_role("button", name="Undo").click()
        expect(thread.locator(".state")).to_have_count(0)
        assert "resolvedBy" not in served.call("comments_list")["comments"][0]


def test_an_edit_never_replaces_words_that_its_writer_has_not_seen(browser: Browser, served: ServedPage) -> None:
    id_ = served.call("add_comment", filePath="greet.py", line=2, text="first")["commentId"]
    with browse(browser, served, "/comments/file?file=greet.py") as page:
        wait_until_live(page)
        thread, said = page.locator(f"#k{id_}"), page.locator("#says")
        thread.get_by_text("Edit", exact=True).click()  # opened, and nothing typed yet
        area = thread.get_by_label("What it says")
        expect(area).to_be_focused()
        served.call("edit_comment", commentId=id_, text="theirs")
        expect(thread.locator("> .said")).to_have_text("theirs")
        area.fill("mine")
        thread.get_by_role("button", name="Save").click()
        expect(said).to_contain_text("It says now:\ntheirs")
        expect(area).to_have_value("mine")
        assert served.call("comments_list")["comments"][0]["text"] == "theirs"
        served.call("comments_reply", commentId=id_, text="an answer is no other wording", author="robot")
        expect(thread.locator(".replies")).to_be_visible()
        thread.get_by_role("button", name="Save").click()  # told of it: now it is meant
        expect(thread.locator("> .said")).to_have_text("mine")
        served.call("edit_comment", commentId=id_, text="theirs again")
        expect(thread.locator("> .said")).to_have_text("theirs again")
        said.get_by_role("button", name="Undo").click()
        expect(said).to_contain_text("nothing was undone")
        assert served.call("comments_list")["comments"][0]["text"] == "theirs again"


def test_what_is_typed_stays_when_the_comment_is_deleted_or_the_server_away(
    browser: Browser, served: ServedPage
) -> None:
    id_ = served.call("add_comment", filePath="greet.py", line=2, text="first")["commentId"]
    other = served.call("add_comment", filePath="greet.py", line=5, text="second")["commentId"]
    with browse(browser, served, "/comments/file?file=greet.py") as page:
        wait_until_live(page)
        thread = page.locator(f"#k{id_}")
        thread.get_by_text("Edit", exact=True).click()
        area = thread.get_by_label("What it says")
        area.fill("typed with care")
        page.locator(f"#k{other}").focus()
        served.call("delete_comment", commentId=id_, filePath="greet.py")
        served.call("edit_comment", commentId=other, text="the page has seen the deletion")
        expect(page.locator(f"#k{other} > .said")).to_have_text("the page has seen the deletion")
        expect(area).to_have_value("typed with care")
        thread.get_by_role("button", name="Save").click()
        expect(page.locator("#says")).to_contain_text("not found")
        served.stop()
        thread.get_by_role("button", name="Save").click()
        expect(page.locator("#says")).to_contain_text("what you typed is still here")
        expect(area).to_have_value("typed with care")


def test_a_deleted_comment_comes_back_by_the_button(browser: Browser, served: ServedPage) -> None:
    id_ = served.call("add_comment", filePath="greet.py", line=2, text="keep me")["commentId"]
    with browse(browser, served, "/comments/file?file=greet.py") as page:
        wait_until_live(page)
        page.locator(f"#k{id_}").get_by_text("Edit", exact=True).click()
        page.get_by_role("button", name="Delete the comment").click()
        expect(page.locator(f"#k{id_}")).to_have_count(0)
        undo = page.locator("#says").get_by_role("button", name="Undo")
        undo.focus()
        page.keyboard.press("Enter")
        expect(page.locator(f"#k{id_} > .said")).to_have_text("keep me")
        expect(undo).to_have_count(0)
        assert page.evaluate("document.activeElement !== document.body")


def test_every_form_of_the_comments_works_without_a_script(browser: Browser, served: ServedPage) -> None:
    """Written, answered, resolved, opened again, deleted, brought back, placed by hand, and found by words."""
    served.call("add_comment", filePath="greet.py", line=1, text="so that the file is listed")
    with browse(browser, served, "/comments/file?file=greet.py", java_script_enabled=False) as page:
        page.locator("#new > summary").click()
        page.get_by_label("Line").fill("2")
        page.get_by_label("What to say").fill("written by a form")
        page.get_by_role("button", name="Write", exact=True).click()
        expect(page.locator(".said", has_text="written by a form")).to_be_visible()
        (id_,) = [one["id"] for one in served.call("comments_list")["comments"] if one["line"] == 2]
        page.goto(f"{served.base}/comments/{id_}")
        page.locator("summary", has_text="Reply").click()
        page.get_by_label("Answer").fill("an answer")
        page.get_by_role("button", name="Reply").click()
        expect(page.get_by_text("an answer")).to_be_visible()
        for says, status in (("Resolve", "resolved"), ("Reopen", "open")):
            page.goto(f"{served.base}/comments/{id_}")
            with page.expect_navigation():
                page.get_by_role("button", name=says).click()
            assert served.call("comments_show", commentId=id_)["comment"].get("status", "open") == status
        page.goto(f"{served.base}/comments/{id_}")
        page.locator("summary", has_text="Edit").click()
        with page.expect_navigation():
            page.get_by_role("button", name="Delete the comment").click()
        assert served.call("comments_list")["total"] == 1
        with page.expect_navigation():
            page.get_by_role("button", name="Undo").click()
        assert served.call("comments_list")["total"] == 2
        (served.folder / "greet.py").write_text("def other():\n    return 1\n")
        page.goto(f"{served.base}/comments/doubts")
        doubt = page.locator(f"[id='d{id_}']")
        doubt.locator("summary", has_text="It belongs elsewhere").click()
        doubt.get_by_label("Line").fill("2")
        with page.expect_navigation():
            doubt.get_by_role("button", name="Place it there").click()
        assert [one["line"] for one in served.call("comments_list", state="exact")["comments"]] == [2]
        page.goto(f"{served.base}/comments")
        page.get_by_role("searchbox").fill("written")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("article .said").first).to_have_text("written by a form")


def test_editing_and_undoing_work_without_a_script(browser: Browser, served: ServedPage) -> None:
    id_ = served.call("add_comment", filePath="greet.py", line=2, text="first")["commentId"]
    with browse(browser, served, f"/comments/{id_}", java_script_enabled=False) as page:
        page.locator("summary", has_text="Edit").click()
        page.get_by_label("What it says").fill("mine")
        served.call("edit_comment", commentId=id_, text="theirs")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("It says now: theirs")).to_be_visible()
        expect(page.get_by_label("text")).to_have_value("mine")
        expect(page.locator(".again label")).to_have_count(1)  # what nobody typed is not shown
        page.get_by_role("button", name="Send again").click()
        expect(page.locator("article > .said")).to_have_text("mine")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("article > .said")).to_have_text("theirs")


@pytest.mark.parametrize("act", ["edit", "resolve"])
def test_undo_takes_nothing_back_where_others_changed_it_there_and_back(
    browser: Browser, served: ServedPage, act: str
) -> None:
    id_ = served.call("add_comment", filePath="greet.py", line=2, text="first")["commentId"]
    with browse(browser, served, f"/comments/{id_}", java_script_enabled=False) as page:
        if act == "edit":
            page.locator("summary", has_text="Edit").click()
            page.get_by_label("What it says").fill("mine")
            page.get_by_role("button", name="Save").click()
            for text in ("theirs", "mine"):
                served.call("edit_comment", commentId=id_, text=text)
        else:
            page.get_by_role("button", name="Resolve").click()
            for status in ("open", "resolved"):
                served.call("comments_resolve", commentId=id_, status=status)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("nothing was undone")).to_be_visible()
        (found,) = served.call("comments_list")["comments"]
        assert (found["text"], found.get("status", "open")) == (
            ("mine", "open") if act == "edit" else ("first", "resolved")
        )


def test_an_answer_since_does_not_hinder_undo(browser: Browser, served: ServedPage) -> None:
    id_ = served.call("add_comment", filePath="greet.py", line=2, text="first")["commentId"]
    with browse(browser, served, f"/comments/{id_}", java_script_enabled=False) as page:
        page.locator("summary", has_text="Edit").click()
        page.get_by_label("What it says").fill("mine")
        page.get_by_role("button", name="Save").click()
        served.call("comments_reply", commentId=id_, text="seen")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("article > .said")).to_have_text("first")


def test_other_words_that_a_merge_kept_are_shown_beside_a_comments_own(browser: Browser, served: ServedPage) -> None:
    served.call("add_comment", filePath="greet.py", line=1, text="words of ann")
    kept = served.folder / "greet.py.comments"
    kept.write_text(
        kept.read_text().replace(
            '"text": "words of ann",', '"text": "words of ann", "x-revisions": [{"text": "of bob", "author": "bob"}],'
        )
    )
    with browse(browser, served, "/comments") as page:
        expect(page.locator("article .said")).to_have_text(["words of ann", "A merge kept, as bob said it: of bob"])
