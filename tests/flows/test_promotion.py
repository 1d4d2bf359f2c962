"""The whole story with the real program: a remark becomes a comment, an issue and a GitLab issue."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.emulator.app import Emulator
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.gitlab.http_server import postil as serving
from tests.gitlab.test_over_http import asked, post
from tests.inbox.people import Person
from tests.tracker.groups import Tracker

SOURCE = "def price(cart):\n    return sum(cart)\n\n\ndef total(cart):\n    return price(cart)\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with one file."""
    (tmp_path / "cart.py").write_text(SOURCE)
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def postil(shop: Path, *words: str, status: int = 0, environ: dict[str, str] | None = None) -> Any:
    """Run the command; its answer as JSON, or what it said when it failed as it should."""
    done = subprocess.run(
        [Path(sys.executable).parent / "postil", *words, "--json"],
        cwd=shop,
        env={**os.environ, "XDG_STATE_HOME": str(shop / ".git" / "state"), **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if status == 0 else done.stderr


def promoted_comment(shop: Path) -> str:
    postil(shop, "inbox", "send", "-f", "cart.py", "-l", "2", "-c", "What of an empty cart?", "--kind", "question")
    (shop / "cart.py").write_text("# prices\n" + SOURCE)
    return postil(shop, "inbox", "comment", "1")["target"].removeprefix("comment ")


def test_a_message_becomes_a_comment_where_its_code_is_now(shop: Path) -> None:
    comment = promoted_comment(shop)
    (listed,) = postil(shop, "comments", "list")["comments"]
    assert (listed["id"], listed["line"], listed["tag"]) == (comment, 3, "QUESTION")
    assert listed["text"] == "What of an empty cart?"
    (reply,) = postil(shop, "inbox", "show", "1")["replies"]
    assert reply["text"] == f"Kept as comment {comment}"


def test_a_comment_becomes_an_issue_with_its_place_and_code(shop: Path) -> None:
    comment = promoted_comment(shop)
    made = postil(shop, "comments", "issue", comment)
    (issue,) = postil(shop, "issue", "list")["items"]
    assert issue["title"] == "What of an empty cart?"
    assert issue["labels"] == ["question"]
    shown = postil(shop, "issue", "show", issue["id"])
    assert "`cart.py:3`" in shown["description"]
    assert made["target"] == f"issue {issue['id'][:8]}"


def test_it_is_said_when_an_issue_does_not_hold_all_of_a_comment(shop: Path) -> None:
    comment = promoted_comment(shop)
    path = shop / "cart.py.comments"
    path.write_text(path.read_text().replace("What of an empty cart?", "What? " * 12_000))
    promoted = postil(shop, "comments", "issue", comment)
    assert promoted["warning"] == (
        "The last 6,464 characters of the comment are not in the issue: cart.py.comments has all"
    )
    other = postil(shop, "comments", "add", "cart.py", "2", "short")["commentId"]
    assert "warning" not in postil(shop, "comments", "issue", other)


def test_a_step_taken_twice_is_refused_and_makes_nothing(shop: Path) -> None:
    comment = promoted_comment(shop)
    postil(shop, "comments", "issue", comment)
    assert "already" in postil(shop, "inbox", "comment", "1", status=6)
    assert "already" in postil(shop, "comments", "issue", comment, status=6)
    assert len(postil(shop, "comments", "list")["comments"]) == 1
    assert len(postil(shop, "issue", "list")["items"]) == 1


def test_an_issue_is_opened_at_gitlab_once_and_remembers_where(shop: Path) -> None:
    created = postil(shop, "issue", "create", "Round to cents", "--label", "bug")
    emulator = Emulator()
    with running(emulator) as address:
        gitlab = {"GITLAB_URL": address, "GITLAB_TOKEN": DEVELOPER}
        project = str(postil(shop, "gitlab", "projects", environ=gitlab)["projects"][0]["id"])
        opened = postil(shop, "issue", "gitlab", created["id"], project, environ=gitlab)
        assert "already" in postil(shop, "issue", "gitlab", created["id"], project, status=6, environ=gitlab)
        titles = [issue["title"] for issue in postil(shop, "gitlab", "issues", project, environ=gitlab)["issues"]]
    assert titles.count("Round to cents") == 1
    (comment,) = postil(shop, "issue", "show", created["id"])["comments"]
    assert comment["body"] == f"Opened at GitLab as {opened['where']}"


def test_an_issue_opened_at_gitlab_answers_to_its_address_and_is_not_imported_twice(shop: Path, tmp_path: Path) -> None:
    created = postil(shop, "issue", "create", "Round to cents", "--label", "bug")
    with running(Emulator()) as address:
        gitlab = {"GITLAB_URL": address, "GITLAB_TOKEN": DEVELOPER}
        opened = postil(shop, "issue", "gitlab", created["id"], "123", environ=gitlab)
        iid = opened["target"].rpartition("#")[2]
        there = postil(shop, "gitlab", "issue", "123", "--issue-iid", iid, environ=gitlab)
    url = opened["where"]
    place = re.sub(r"^https?://|/-/issues/\d+$", "", url)
    for name in (url, f"{place}#{iid}", f"{place.partition('/')[2]}#{iid}"):
        assert postil(shop, "issue", "show", name)["id"] == created["id"], name
    file = tmp_path / "there.json"
    file.write_text(json.dumps([there]))
    assert postil(shop, "issue", "import", str(file))["created"] == 0
    note = {"id": 5, "author": {"username": "bob"}, "body": "Half up", "created_at": "2999-01-02T00:00:00Z"}
    later = {**there, "state": "closed", "updated_at": "2999-01-02T00:00:00Z", "comments": [note]}
    file.write_text(json.dumps([later]))
    assert postil(shop, "issue", "import", str(file))["updated"] == 1
    assert postil(shop, "issue", "import", str(file))["unchanged"] == 1
    (item,) = postil(shop, "issue", "list", "--all")["items"]
    shown = postil(shop, "issue", "show", item["id"])
    assert (shown["id"], shown["status"]) == (created["id"], "closed")
    assert [comment["body"] for comment in shown["comments"]] == [f"Opened at GitLab as {url}", "Half up"]


def test_an_issue_with_many_comments_is_opened_at_gitlab_whole_and_once(shop: Path) -> None:
    text = "\n".join(f"line {number} of a long description" for number in range(900)) + "\nthe end"
    created = postil(shop, "issue", "create", "Long", "--description", text)
    emulator = Emulator()
    with running(emulator) as address:
        gitlab = {"GITLAB_URL": address, "GITLAB_TOKEN": DEVELOPER}
        opened = postil(shop, "issue", "gitlab", created["id"], "123", environ=gitlab)
        iid = opened["target"].rpartition("#")[2]
        there = postil(shop, "gitlab", "issue", "123", "--issue-iid", iid, environ=gitlab)
        assert there["description"].endswith("the end")
        tracker = Tracker(shop)
        for number in range(21):
            tracker.tools.comment(created["id"], f"and {number}")
        assert "already" in postil(shop, "issue", "gitlab", created["id"], "123", status=6, environ=gitlab)


def test_a_remark_that_no_comment_can_hold_is_refused_with_advice(shop: Path) -> None:
    postil(shop, "inbox", "send", "-f", "cart.py", "-l", "2", "-c", "word " * 12_000)
    said = postil(shop, "inbox", "comment", "1", status=2)
    assert "60000 characters, a comment has at most 10000" in said
    assert "postil comments add cart.py 2" in said
    assert postil(shop, "comments", "list")["comments"] == []


def test_an_assistant_is_told_that_a_remark_is_too_long_for_a_comment(person: Person) -> None:
    person.send("word " * 12_000, "a.txt", "1")
    with person.assistant("postil", "serve") as assistant:
        answer = assistant.ask("tools/call", {"name": "comment_from_message", "arguments": {"id": 1}})
    assert answer["error"]["code"] == -32602
    assert "too long" in answer["error"]["message"]
    assert "add_comment" in answer["error"]["data"]["suggestion"]


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_caller_with_a_token_of_their_own_needs_none_of_the_servers(shop: Path, tmp_path: Path) -> None:
    created = postil(shop, "issue", "create", "Round to cents")
    (tmp_path / "settings.toml").write_text('[http]\nmembers = ["*"]\n')
    environ = {
        "POSTIL_CONFIG": str(tmp_path / "settings.toml"),
        "XDG_STATE_HOME": str(shop / ".git" / "state"),
        "POSTIL_STATE": "",
    }
    with running(Emulator()) as address, serving(address, shop, environ=environ) as endpoint:
        answer = post(endpoint, asked("gitlab_issue_from_issue", id=created["id"], project_id=123))
    assert answer["result"]["target"] == "GitLab issue #2", answer


def test_what_is_missing_is_named(shop: Path) -> None:
    assert "no message #7" in postil(shop, "inbox", "comment", "7", status=5)
    assert postil(shop, "comments", "issue", "c_1", status=5)
    postil(shop, "inbox", "send", "-f", "cart.py", "-c", "About all of it")
    assert "names no line" in postil(shop, "inbox", "comment", "1", status=5)


def test_a_step_into_a_hidden_part_is_unknown(shop: Path) -> None:
    postil(shop, "inbox", "send", "-f", "cart.py", "-l", "2", "-c", "Hm")
    (shop / "postil.toml").write_text('deny_tools = ["add_comment"]\n')
    assert postil(shop, "inbox", "comment", "1", status=2)
    assert not (shop / "cart.py.comments").exists()
