"""The page on a gateway: the same identities and rights as the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.page.pages import serve_page
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
