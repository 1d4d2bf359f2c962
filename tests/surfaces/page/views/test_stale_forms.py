"""Forms that a person filled in while somebody else changed what they are about."""

from __future__ import annotations

import html
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.surfaces.page.pages import ServedPage, serve_page
from tests.surfaces.page.test_site import Client
from tests.workspace.repositories import new_repository


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[ServedPage]:
    folder: Path = new_repository(tmp_path_factory.mktemp("stale") / "repo", a__txt="one\n")
    with serve_page(folder) as running:
        yield running


@pytest.fixture
def client(site: ServedPage) -> Client:
    made = Client(site)
    assert made.enter(site.next_address()).status == 200
    return made


FIELD = r'<(?:input|textarea)(?=[^>]* name="{}")[^>]*?(?: value="([^"]*)"[^>]*>|>\n?([^<]*)</textarea>)'


def read_form(text: str) -> dict[str, str]:
    """What the form of an issue holds."""
    form: dict[str, str] = {}
    for name in ("seen", "title", "description", "labels", "due"):
        found = re.search(FIELD.format(name), text)
        form[name] = html.unescape(found[1] or found[2] or "") if found is not None else ""
    return form


def look(client: Client, id_: str) -> dict[str, str]:
    return read_form(client.ask("GET", f"/issues/{id_}").text)


def save(client: Client, id_: str, **form: str) -> tuple[int, str]:
    answer = client.post(f"/issues/{id_}/edit", {"form-token": client.token(), **form})
    return answer.status, answer.text


def make(site: ServedPage) -> str:
    return site.call("git_mile_create", title="Old", description="\nfirst\n", labels=["a", "b"])["id"]


def test_what_a_person_did_not_touch_stays_what_others_made_of_it(client: Client, site: ServedPage) -> None:
    id_ = make(site)
    form = look(client, id_)
    site.call("git_mile_update", id=id_, title="New")
    site.call("git_mile_label", id=id_, add=["urgent"], remove=["a"])
    assert save(client, id_, **{**form, "due": "2030-01-02", "labels": "a, mine"})[0] == 303
    issue = site.call("git_mile_show", id=id_, entity="issue")
    assert (issue["title"], issue["due"][:10]) == ("New", "2030-01-02")
    assert sorted(issue["labels"]) == ["mine", "urgent"]


def test_what_both_changed_is_told_and_replaced_when_it_is_saved_again(client: Client, site: ServedPage) -> None:
    id_ = make(site)
    form = look(client, id_)
    site.call("git_mile_update", id=id_, title="Theirs", description="theirs")
    site.call("git_mile_label", id=id_, add=["urgent"])
    status, text = save(client, id_, **{**form, "description": "mine", "labels": "a"})
    assert status == 409
    assert "theirs" in text
    assert site.call("git_mile_show", id=id_, entity="issue")["description"] == "theirs"
    again = read_form(text)
    assert (again["title"], again["description"]) == ("Theirs", "mine")
    assert save(client, id_, **again)[0] == 303
    issue = site.call("git_mile_show", id=id_, entity="issue")
    assert (issue["title"], issue["description"], sorted(issue["labels"])) == ("Theirs", "mine", ["a", "urgent"])


def test_a_form_that_nobody_touched_changes_nothing(client: Client, site: ServedPage) -> None:
    made = site.call("git_mile_create", title="Old", description="\n\nfirst\n", labels=["one, two"])
    before = site.call("issue_log", id=made["id"])
    assert save(client, made["id"], **look(client, made["id"]))[0] == 303
    assert site.call("issue_log", id=made["id"]) == before


@pytest.mark.parametrize("seen", ["", "{", "[]", '{"title":1}', "[" * 20_000])
def test_a_form_that_does_not_say_what_it_began_with_replaces_nothing(
    client: Client, site: ServedPage, seen: str
) -> None:
    id_ = make(site)
    assert save(client, id_, title="Other", seen=seen)[0] == 409
    assert site.call("git_mile_show", id=id_, entity="issue")["title"] == "Old"


@pytest.mark.parametrize("tail", ["%0D%0A", "%C2%A0", "%20"])
def test_white_space_behind_an_id_ends_no_header(client: Client, site: ServedPage, tail: str) -> None:
    id_ = make(site)
    said = client.post(f"/issues/{id_}{tail}/comment", {"form-token": client.token(), "body": "x"})
    assert (said.status, said.headers["Location"]) == (303, f"/issues/{id_}{tail}")


def test_an_undo_without_a_moment_takes_nothing_back(client: Client, site: ServedPage) -> None:
    added = site.call("add_comment", filePath="a.txt", line=1, text="first")
    site.call("edit_comment", commentId=added["commentId"], text="second")
    address = f"/comments/{added['commentId']}/undo/at-"
    assert client.post(address, {"form-token": client.token()}).status == 409
    assert site.call("comments_show", commentId=added["commentId"])["comment"]["text"] == "second"
