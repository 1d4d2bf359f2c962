"""GitLab's refusals in the contract's error format."""

from __future__ import annotations

import pytest

from postil.gitlab.failures import GitLabFailure, GitLabUnreachable, flatten, read_refusal
from postil.gitlab.instance.client import Instance
from tests.emulator.world import FILES_ONLY, READER
from tests.gitlab.conftest import Connect

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"message":"404 Project Not Found"}', "Project not found"),
        (b'{"message":"401 Unauthorized"}', "Unauthorized"),
        (b'{"message":["One","Two"]}', "One; Two"),
        (b'{"message":{"base":["Reference not found"]}}', "Reference not found"),
        (b'{"message":{"title":["can\'t be blank"]}}', "Title can't be blank"),
        (b'{"error":"title is missing"}', "Title is missing"),
        (b'{"error":"invalid_token","error_description":"Token was revoked."}', "Token was revoked."),
        (b"Retry later\n", "Retry later"),
        (b"<html>no</html>", "Bad gateway"),
        (b"", "Bad gateway"),
        (b'{"message":null}', "Bad gateway"),
        (b"[[[[", "[[[["),
    ],
)
def test_every_form_of_gitlabs_message_becomes_one_sentence(body: bytes, said: str) -> None:
    assert flatten(502, body) == said


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, -32602),
        *((status, -32000) for status in (401, 403, 404, 405, 409, 412, 422, 429)),
        *((status, -32603) for status in (500, 502, 503, 504)),
    ],
)
def test_every_status_has_the_contracts_code(status: int, code: int) -> None:
    failure = read_refusal(status, b"{}", {}, "")
    assert (failure.code, failure.data["status"]) == (code, status)


async def test_a_missing_scope_is_named(connect: Connect) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await connect(READER).issues.create_issue(123, "No")
    assert caught.value.data["required_scopes"] == ["api"]
    assert (await connect(FILES_ONLY).repository.get_file_content(123, "README.md")).size == 1024
    with pytest.raises(GitLabFailure):
        await connect(FILES_ONLY).issues.list_issues(123)


@pytest.mark.parametrize(
    ("url", "reason", "proxy", "said"),
    [
        ("gitlab.example.org", "it is no address of the web", "", "such as https://gitlab.example.com"),
        ("https://g.example", "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "", "GITLAB_CA_FILE"),
        (
            "https://g.example",
            "Connection refused",
            "http://me:secret@proxy:3128",
            "through the proxy http://proxy:3128",
        ),
        ("https://g.example", "Connection refused", "http://me:secret@proxy:3128", "GITLAB_PROXY"),
        ("https://g.example", "Connection refused", "", "Check GITLAB_URL and the network"),
    ],
)
def test_who_cannot_reach_gitlab_learns_what_to_look_at(url: str, reason: str, proxy: str, said: str) -> None:
    text = GitLabUnreachable(url, reason, proxy).text()
    assert said in text
    assert "secret" not in text


async def test_an_address_without_a_scheme_is_told() -> None:
    with pytest.raises(GitLabUnreachable, match="Internal error") as caught:
        await Instance("gitlab.example.org", sleep=_do_not_wait).get("user", token="x")
    assert "such as https://" in caught.value.text()


async def _do_not_wait(seconds: float) -> None:
    return None
