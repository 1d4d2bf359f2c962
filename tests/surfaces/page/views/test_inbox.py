"""The inbox over HTTP: a page of many conversations, and one of them."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.page.pages import serve_page
from tests.surfaces.page.test_site import Client
from tests.workspace.repositories import new_repository


def test_of_many_conversations_the_newest_are_shown_and_the_others_are_one_click_away(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo", a__txt="one\n")
    (repo / "a.txt").write_text("two\n")
    with serve_page(repo) as served:
        client = Client(served)
        client.enter(served.next_address())
        fields = {"file": "a.txt", "line": "1", "side": "R", "act": "now", "form-token": client.token()}
        for number in range(1, 24):
            assert client.post("/changes/remark", {**fields, "comment": f"remark {number}."}).status == 303
        assert client.post("/inbox/23/resolve", {"form-token": client.token()}).status == 303
        first = client.ask("GET", "/inbox").text
        assert ("remark 22." in first, "remark 3." in first, "remark 2." in first) == (True, True, False)
        assert "remark 23." not in first
        assert 'href="/inbox?before=3">2 older' in first
        assert "remark 2." in client.ask("GET", "/inbox?before=3").text
        assert "remark 23." in client.ask("GET", "/inbox?closed=1").text
        assert "remark 23." not in client.ask("GET", "/changes").text  # closed without a word
        assert client.ask("GET", "/changes").text.count("remark 22.") == 1
        assert "Nothing changed in these lines" in client.ask("GET", "/inbox/7/since").text
        assert client.ask("GET", "/inbox/99/since").status == 404
