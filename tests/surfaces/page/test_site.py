"""The page over HTTP: who is let in, what a change needs, and the headers of every answer."""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from postil.surfaces.page.live import MOST_OF_ONE
from tests.surfaces.page.pages import ServedPage, serve_page


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for one repository, which all tests of this module look at."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def site(place: Path) -> Generator[ServedPage]:
    """One server for this module."""
    from tests.workspace.repositories import new_repository

    folder = new_repository(place / "repo", a__txt="one\n")
    (folder / "a.txt").write_text("two\n")
    with serve_page(folder) as running:
        yield running


class Answer:
    """What came back."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.text = answer.status, answer.headers, answer.read().decode()


class Client:
    """A browser without a mind of its own."""

    def __init__(self, site: ServedPage) -> None:
        self._host = site.base.removeprefix("http://")
        self.base, self.cookie = site.base, ""
        self.always: dict[str, str] = {}
        """Headers of every request."""

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> Answer:
        """Send exactly this."""
        given = {name.replace("_", "-"): value for name, value in {**self.always, **headers}.items() if value}
        if self.cookie and "Cookie" not in given:
            given["Cookie"] = self.cookie
        connection = http.client.HTTPConnection(self._host, timeout=60)
        try:
            connection.request(method, path, body or None, given)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def enter(self, address: str) -> Answer:
        """Open a one-time address."""
        answer = self.ask("GET", address.removeprefix(self.base))
        self.cookie = answer.headers.get("Set-Cookie", "").partition(";")[0]
        return answer

    def wait_for(self, status: int, path: str) -> bool:
        """Ask until this is the answer: a revoked key may be known for a few seconds."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.ask("GET", path).status == status:
                return True
        return False

    def token(self) -> str:
        """The form token of a page."""
        found = re.search(r'name="form-token" value="(\w+)"', self.ask("GET", "/inbox").text)
        assert found is not None
        return found[1]

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """Send a form as the page would, unless the headers say otherwise."""
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", path, urlencode(fields), **{"Content_Type": kind, "Origin": self.base, **headers})


@pytest.fixture
def client(site: ServedPage) -> Client:
    """A browser that was let in."""
    made = Client(site)
    assert made.enter(site.next_address()).status == 200
    return made


def test_without_a_cookie_nothing_is_shown(site: ServedPage) -> None:
    for path in ("/", "/changes", "/inbox", "/inbox/1", "/live?of=inbox", "/help"):
        answer = Client(site).ask("GET", path)
        assert answer.status == 401
        assert "a.txt" not in answer.text
        assert "postil open" in answer.text


def test_an_address_works_once_and_the_next_one_is_printed(site: ServedPage, client: Client) -> None:
    again = site.next_address()
    assert Client(site).enter(again).status == 200
    used = Client(site).enter(again)
    assert used.status == 403
    assert "used already" in used.text
    assert "Set-Cookie" not in used.headers


def test_every_answer_is_private_framed_by_nobody_and_strict(client: Client) -> None:
    for path in ("/changes", "/inbox", "/nothing", "/help"):
        headers = client.ask("GET", path).headers
        policy = headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_a_change_needs_cookie_origin_and_form_token(client: Client, site: ServedPage) -> None:
    sent = {"file": "a.txt", "line": "1", "side": "R", "comment": "needs more salt", "act": "draft"}
    token = client.token()
    whole = {**sent, "form-token": token}
    stranger = Client(site)
    refused = [
        client.post("/changes/remark", sent),
        client.post("/changes/remark", {**sent, "form-token": "00" * 32}),
        client.post("/changes/remark", whole, Origin=""),
        client.post("/changes/remark", whole, Origin="http://evil.example"),
        client.post("/changes/remark", whole, Origin="null"),
        client.post("/changes/remark", whole, Sec_Fetch_Site="same-site"),
        client.post("/changes/remark", whole, Host="evil.example"),
    ]
    assert [answer.status for answer in refused] == [403] * len(refused)
    assert stranger.post("/changes/remark", whole).status == 401
    assert client.ask("GET", "/inbox").text.count("more salt") == 0
    assert client.post("/changes/remark", whole).status == 303
    assert "more salt" in client.ask("GET", "/inbox").text


def test_a_token_of_another_session_is_refused(client: Client, site: ServedPage) -> None:
    other = Client(site)
    other.enter(site.next_address())
    answer = client.post("/inbox/1/withdraw", {"form-token": other.token()})
    assert answer.status == 403


def test_what_another_page_embeds_or_fetches_is_refused(client: Client) -> None:
    for mode, dest in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "script")):
        headers = {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": dest}
        assert client.ask("GET", "/inbox", **headers).status == 403
    followed = {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert client.ask("GET", "/inbox", **followed).status == 200


def test_what_was_typed_comes_back_when_it_is_refused(client: Client) -> None:
    words = "a long <thought> & more"
    answer = client.post("/inbox/999/reply", {"form-token": client.token(), "text": words})
    assert answer.status == 404
    assert "a long &lt;thought&gt; &amp; more" in answer.text
    assert 'action="/inbox/999/reply"' in answer.text


def test_a_script_gets_a_sentence_instead_of_a_page(client: Client) -> None:
    answer = client.post("/inbox/999/reply", {"form-token": client.token(), "text": "x"}, X_Postil_Script="1")
    assert answer.status == 404
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert "999" in answer.text


def test_a_form_that_is_too_large_is_refused(client: Client) -> None:
    answer = client.post("/inbox/1/reply", {"form-token": client.token(), "text": "x" * 1_100_000})
    assert answer.status == 413


@pytest.mark.parametrize(
    "path", ["/inbox/abc", "/inbox/0", "/inbox/99999999999999999999", "/changes?scope=--output%3Dx"]
)
def test_odd_addresses_are_not_found(client: Client, path: str) -> None:
    assert client.ask("GET", path).status in (404, 422)


def test_a_browser_at_an_address_that_nothing_has_gets_a_page(client: Client, site: ServedPage) -> None:
    lost = client.ask("GET", "/nosuch", Accept="text/html,*/*")
    assert (lost.status, "there is no such page" in lost.text) == (404, True)
    assert Client(site).ask("GET", "/nosuch", Accept="text/html").status == 401
    script = client.ask("GET", "/nosuch", Accept="*/*")
    assert (script.status, script.headers.get_content_type()) == (404, "text/html")
    assert Client(site).ask("GET", "/nosuch", Accept="*/*").headers.get_content_type() == "application/json"
    for path, accept in (("/mcp", "text/html"), ("/.well-known/x", "text/html")):
        answer = client.ask("GET", path, Accept=accept)
        assert answer.headers.get_content_type() == "application/json", path


def test_a_merge_request_without_gitlab_says_how_to_connect_it(client: Client) -> None:
    answer = client.ask("GET", "/changes?scope=!12")
    assert (answer.status, "GITLAB_TOKEN" in answer.text) == (404, True)


def test_a_milestone_stands_on_its_issue_by_its_title(client: Client, site: ServedPage) -> None:
    site.call("git_mile_create", title="Release 1.0", entity="milestone")
    made = site.call("git_mile_create", title="Of a milestone", milestone="Release 1.0")
    shown = client.ask("GET", f"/issues/{made['id']}").text
    assert re.search(r'<a href="/milestones/[-\w]+">Release 1.0</a>', shown), shown


@pytest.mark.parametrize("number", ["%C2%B2", "9" * 5_000, "-1", "x", ""])
def test_a_number_in_an_address_that_is_none_counts_as_nothing(client: Client, number: str) -> None:
    assert client.ask("GET", f"/inbox?before={number}").status == 200
    assert client.ask("GET", f"/changes/files?f=a.txt&skip={number}").status == 200


def test_a_query_that_is_no_text_is_refused(client: Client) -> None:
    assert client.ask("GET", "/changes?scope=%ff").status == 400


def test_only_get_and_post_are_answered(client: Client) -> None:
    assert client.ask("DELETE", "/inbox").status == 405
    assert client.ask("HEAD", "/inbox").text == ""


def test_files_are_kept_by_browsers_and_packed(client: Client) -> None:
    page = client.ask("GET", "/inbox").text
    addresses = re.findall(r'"(/assets/[^"]+)"', page)
    assert len(addresses) == 3
    for address in addresses:
        answer = client.ask("GET", address)
        assert answer.status == 200
        assert "immutable" in answer.headers["Cache-Control"]
    assert client.ask("GET", "/assets/other.js").status == 404


def test_leaving_ends_the_cookie(site: ServedPage) -> None:
    client = Client(site)
    client.enter(site.next_address())
    assert client.post("/leave", {"form-token": client.token()}).status == 200
    assert client.ask("GET", "/inbox").status == 401


def test_a_program_with_the_token_gets_a_new_address(site: ServedPage) -> None:
    client = Client(site)
    assert client.ask("POST", "/open", Authorization="Bearer wrong").status == 401
    answer = client.ask("POST", "/open", Authorization=f"Bearer {site.token}")
    assert answer.status == 200
    assert client.enter(site.base + answer.text).status == 200
    assert client.ask("GET", "/inbox").status == 200


def test_an_address_that_another_page_leads_to_asks_first(site: ServedPage) -> None:
    address = site.next_address()
    path = address.removeprefix(site.base)
    for headers in (
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Purpose": "prefetch"},
        {"Purpose": "prefetch"},
    ):
        asked = Client(site).ask("GET", path, **headers)
        assert (asked.status, "Set-Cookie" in asked.headers) == (200, False)
        assert "the user of this machine" in asked.text
    token = path.partition("token=")[2]
    led = Client(site)
    assert led.post("/open", {"token": token}, Origin="http://evil.example").status == 403
    entered = led.post("/open", {"token": token})
    assert entered.status == 200
    assert "Set-Cookie" in entered.headers
    assert led.post("/open", {"token": token}).status == 403


def test_cookies_of_another_program_do_not_shut_a_person_out(client: Client) -> None:
    name = client.cookie.partition("=")[0]
    tossed = f"{name}=junk; {client.cookie}"
    assert client.ask("GET", "/inbox", Cookie=tossed).status == 200


def test_the_icon_that_browsers_ask_for_is_there(client: Client) -> None:
    answer = client.ask("GET", "/favicon.ico")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/svg+xml")


def test_one_person_has_so_many_live_pages_and_is_told(client: Client, site: ServedPage) -> None:
    host = site.base.removeprefix("http://")
    streams: list[http.client.HTTPConnection] = []
    try:
        for _ in range(MOST_OF_ONE):
            connection = http.client.HTTPConnection(host, timeout=60)
            streams.append(connection)
            connection.request("GET", "/live?of=inbox", headers={"Cookie": client.cookie})
            answer = connection.getresponse()
            assert (answer.status, answer.readline()) == (200, b"retry: 1000\n")
        refused = client.ask("GET", "/live?of=inbox", X_Postil_Script="1")
        assert (refused.status, "close one" in refused.text) == (429, True)
        assert client.ask("GET", "/live?of=inbox").status == 429
    finally:
        for connection in streams:
            connection.close()
    end = time.monotonic() + 60
    while client.ask("GET", "/live?of=inbox", X_Postil_Script="1").status != 204:
        assert time.monotonic() < end


def test_a_form_that_is_too_long_is_refused(client: Client) -> None:
    fields = {"form-token": client.token(), "comment": "x" * 1_100_000}
    assert client.post("/changes/remark", fields).status == 413
