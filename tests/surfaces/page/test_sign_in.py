"""The page on a gateway: the same identities and rights as the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.page.pages import ServedPage, serve_page
from tests.surfaces.page.test_site import Client
from tests.surfaces.programs import run
from tests.workspace.repositories import new_repository


@pytest.mark.parametrize("is_member", [True, False])
def test_who_is_no_member_sees_nothing_of_the_workspace(tmp_path: Path, is_member: bool) -> None:
    repo = new_repository(tmp_path / "repo", a__txt="one\n")
    (repo / "a.txt").write_text("two\n")
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    made = run("postil", "key", "create", "one", *(["--workspace"] if is_member else []), cwd=repo, **state)
    assert made.returncode == 0, made.stderr
    key = next(word for word in made.stdout.split() if len(word) > 30)
    with serve_page(repo, "--auth", "key") as served:
        client = Client(served)
        door = client.ask("GET", "/changes")
        assert door.status == 401
        assert 'name="credential"' in door.text
        assert client.post("/open", {"credential": "wrong"}).status == 401
        assert client.post("/open", {"credential": key}, Origin="http://evil.example").status == 403
        entered = client.post("/open", {"credential": key})
        assert entered.status == 200
        assert key not in entered.headers["Set-Cookie"]
        client.cookie = entered.headers["Set-Cookie"].partition(";")[0]
        page = client.ask("GET", "/changes")
        if is_member:
            assert page.status == 200
            assert "a.txt" in page.text
            assert 'name="form-token"' in page.text
        else:
            assert page.status == 404
            assert "a.txt" not in page.text
            assert client.ask("GET", "/").headers["Location"] not in ("/changes", "/inbox", "/comments", "/issues")
            for path in (
                "/inbox",
                "/comments",
                "/comments?q=x",
                "/comments/doubts",
                "/issues?q=x",
                "/board",
                "/milestones",
            ):
                assert client.ask("GET", path).status == 404
        assert key not in page.text
        assert run("postil", "key", "revoke", "one", cwd=repo, **state).returncode == 0
        assert client.wait_for(401, "/changes")


def test_people_come_in_through_a_proxy_that_speaks_https(tmp_path: Path) -> None:
    """What docs/deploy.md sets up: the browser's Origin is https, what reaches us is http with its Host."""
    repo = new_repository(tmp_path / "repo", a__txt="one\n")
    made = run("postil", "key", "create", "one", "--workspace", cwd=repo, XDG_STATE_HOME=str(tmp_path / "state"))
    key = next(word for word in made.stdout.split() if len(word) > 30)
    names = {"POSTIL_ALLOWED_HOSTS": "postil.example.org", "POSTIL_TRUSTED_PROXIES": "127.0.0.1"}
    by_browser = {"Host": "postil.example.org", "X_Forwarded_For": "192.0.2.9", "Sec_Fetch_Site": "same-origin"}
    with serve_page(repo, "--auth", "key", **names) as served:
        client = Client(served)
        for foreign in ("https://evil.example", "https://postil.example.org:444", "null"):
            assert client.post("/open", {"credential": key}, **by_browser, Origin=foreign).status == 403
        entered = client.post("/open", {"credential": key}, **by_browser, Origin="https://postil.example.org")
        assert entered.status == 200
        assert "; Secure" in entered.headers["Set-Cookie"]
        client.cookie = entered.headers["Set-Cookie"].partition(";")[0]
        page = client.ask("GET", "/comments", **by_browser)
        assert page.status == 200
        assert 'name="q"' in page.text


def test_a_draft_is_its_authors_alone(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo", a__txt="one\n")
    (repo / "a.txt").write_text("two\n")
    people = {name: _make_key(repo, tmp_path, name, *more) for name, more in (("ann", ()), ("bob", ()))}
    people["eve"] = _make_key(repo, tmp_path, "eve", "--read-only")
    with serve_page(repo, "--auth", "key") as served:
        ann, bob, eve = (_come_in(served, key) for key in people.values())
        fields = {"file": "a.txt", "line": "1", "side": "R", "act": "draft"}
        for client, words in ((ann, "unfinished"), (ann, "thrown away"), (bob, "of bob")):
            typed = {**fields, "comment": words, "form-token": client.token()}
            assert client.post("/changes/remark", typed).status == 303
        assert ann.post("/inbox/2/withdraw", {"form-token": ann.token()}).status == 303
        for client in (bob, eve):
            for path in ("/changes", "/inbox", "/inbox?closed=1"):
                page = client.ask("GET", path).text
                assert ("unfinished" in page, "thrown away" in page) == (False, False)
            assert client.ask("GET", "/inbox/1").status == 404
        assert "1 draft to send" in bob.ask("GET", "/inbox").text
        token = {"form-token": bob.token()}
        for number in ("1", "2"):
            assert bob.post(f"/inbox/{number}/edit", {**token, "comment": "other words"}).status == 404
            assert bob.post(f"/inbox/{number}/withdraw", token).status == 404
        assert bob.post("/changes/send", token).status == 303
        assert "unfinished" in ann.ask("GET", "/changes").text
        assert "of bob" in ann.ask("GET", "/inbox").text
        assert bob.post("/changes/send", token).status == 404  # nothing is left that is his


def test_words_stay_those_of_who_signed_them(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo", a__txt="one\n")
    (repo / "a.txt").write_text("two\n")
    keys = [_make_key(repo, tmp_path, name) for name in ("ann", "bob")]
    with serve_page(repo, "--auth", "key") as served:
        ann, bob = (_come_in(served, key) for key in keys)
        fields = {"file": "a.txt", "line": "1", "side": "R", "act": "now", "comment": "as I said"}
        assert ann.post("/changes/remark", {**fields, "form-token": ann.token()}).status == 303
        refused = bob.post("/inbox/1/edit", {"form-token": bob.token(), "comment": "as she never said"})
        assert refused.status == 403
        assert "Only who wrote it" in refused.text
        assert "/inbox/1/withdraw" not in bob.ask("GET", "/inbox/1").text
        assert "as I said" in bob.ask("GET", "/inbox/1").text
        assert ann.post("/inbox/1/edit", {"form-token": ann.token(), "comment": "better"}).status == 303
        assert ann.post("/inbox/1/withdraw", {"form-token": ann.token()}).status == 303


def _make_key(repo: Path, folder: Path, name: str, *more: str) -> str:
    state = {"XDG_STATE_HOME": str(folder / "state")}
    made = run("postil", "key", "create", name, "--workspace", *more, cwd=repo, **state)
    assert made.returncode == 0, made.stderr
    return next(word for word in made.stdout.split() if len(word) > 30)


def _come_in(served: ServedPage, key: str) -> Client:
    client = Client(served)
    entered = client.post("/open", {"credential": key})
    assert entered.status == 200
    client.cookie = entered.headers["Set-Cookie"].partition(";")[0]
    return client
