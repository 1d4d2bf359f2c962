"""Ids, paths and refs are checked before any URL is built. S7."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postil.core.failure import InvalidArguments
from postil.gitlab.instance import identifiers
from tests.emulator.app import Emulator
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio
PROJECTS = [
    "..",
    ".",
    "",
    "/",
    "a",
    "%2e%2e",
    "%2e%2e/%2e%2e",
    "1/../2",
    "a/..",
    "a/./b",
    "1?x=1",
    "1#",
    "1%00",
    "a/b\n",
    "a/b\r\nX: y",
    "a//b",
    "a/b/",
    "a b/c",
    "é/b",
    "x/" + "y" * 300,
    "9" * 30,
    "-1",
    "a\\b/c",
]


@pytest.mark.parametrize("project", PROJECTS)
async def test_a_project_that_is_no_id_and_no_path_never_reaches_gitlab(
    gitlab: Groups, emulator: Emulator, project: str
) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await gitlab.issues.list_issues(project)
    assert caught.value.code == -32602
    assert emulator.seen == []


@pytest.mark.parametrize("number", [0, -1, 2**63])
async def test_an_id_that_no_database_holds_never_reaches_gitlab(
    gitlab: Groups, emulator: Emulator, number: int
) -> None:
    for work in (
        gitlab.projects.get_project(number),
        gitlab.issues.get_issue(123, issue_iid=number),
        gitlab.pipelines.get_pipeline(123, number),
    ):
        with pytest.raises(InvalidArguments):
            await work
    assert emulator.seen == []


@pytest.mark.parametrize(
    "path",
    ["../../x", "a/../../b", "%2e%2e/x", "/etc/passwd", "a//b", ".", "..", "a\x00b", "a\nb", "a\\b", "", "x" * 5000],
)
async def test_a_file_path_that_leaves_the_repository_never_reaches_gitlab(
    gitlab: Groups, emulator: Emulator, path: str
) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.repository.get_file_content(123, path)
    assert emulator.seen == []


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "a\n", "", "x^{}", "a:b"])
async def test_a_ref_that_is_no_ref_never_reaches_gitlab(gitlab: Groups, emulator: Emulator, ref: str) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.repository.get_file_content(123, "README.md", ref)
    with pytest.raises(InvalidArguments):
        await gitlab.pipelines.trigger_pipeline(123, ref)
    assert emulator.seen == []


@given(st.text(max_size=80), st.text(max_size=80))
@example("01", "a")
@settings(max_examples=300)
def test_whatever_is_accepted_stays_in_its_own_segment(project: str, path: str) -> None:
    try:
        checked = identifiers.check_project(project)
        route = identifiers.make_route("projects", checked, "files", identifiers.check_file_path(path))
    except InvalidArguments:
        return
    assert checked == (int(project) if project.isdigit() else project)
    segments = route.split("/")
    assert len(segments) == 4
    assert [unquote(segment) for segment in segments] == ["projects", str(checked), "files", path]
    assert not {".", ".."} & set(segments)
    assert re.fullmatch(r"[A-Za-z0-9_.~%/-]+", route)


async def test_every_request_matches_the_template_of_its_route(gitlab: Groups, emulator: Emulator) -> None:
    await gitlab.repository.get_file_content("username/my-project", "src/lib/deep.py")
    assert emulator.seen[0].path == "/api/v4/projects/username%2Fmy-project/repository/files/src%2Flib%2Fdeep.py"


def refused(check: Callable[[], object], path: str) -> bool:
    with pytest.raises(InvalidArguments) as caught:
        check()
    assert caught.value.message.startswith(f"Invalid params: {path} ")
    assert caught.value.data["path"] == path
    return True


def test_a_number_is_one_that_a_database_can_hold() -> None:
    assert [identifiers.check_number("id", number) for number in (1, 2**63 - 1)] == [1, 2**63 - 1]
    assert all(refused(lambda number=number: identifiers.check_number("id", number), "id") for number in (0, -1, 2**63))
    assert refused(lambda: identifiers.check_number("id", True), "id")


def test_a_project_is_a_number_a_number_in_digits_or_a_full_path() -> None:
    longest = f"a/{'b' * 253}"
    given: tuple[int | str, ...] = (7, "7", "9223372036854775807", "group/project", "a/b.c/D_e-1", longest)
    assert [identifiers.check_project(each) for each in given] == [
        7,
        7,
        2**63 - 1,
        "group/project",
        "a/b.c/D_e-1",
        longest,
    ]
    wrong = (
        "",
        "project",
        "1" * 20,
        "٧",
        longest + "b",
        "a//b",
        "a/..",
        "./b",
        "a/b c",
        "a/b%2f",
        "/a",
        "a/b/",
        0,
        True,
    )
    assert all(refused(lambda each=each: identifiers.check_project(each), "project_id") for each in wrong)


def test_a_file_path_is_relative_and_stays_below_the_root() -> None:
    for path in ("README.md", "src/app.py", "100%.md", "a b", ".hidden/..x", "é" * 4096):
        assert identifiers.check_file_path(path) == path
    wrong = (
        "",
        "/x",
        "a\\b",
        "%2e",
        "a%2Fb",
        "a//b",
        "./a",
        "a/.",
        "../a",
        "a/../b",
        "a/",
        "x" * 4097,
        "a\x1fb",
        "\ud800",
    )
    assert all(refused(lambda path=path: identifiers.check_file_path(path), "file_path") for path in wrong)


def test_a_folder_may_be_the_root_and_may_end_with_a_slash() -> None:
    assert [identifiers.check_folder(folder) for folder in ("", ".", "/", "src/", "/src", "a/b")] == [
        "",
        "",
        "",
        "src",
        "src",
        "a/b",
    ]
    assert refused(lambda: identifiers.check_folder("src/../.."), "path")


def test_a_ref_is_a_name_that_git_would_take() -> None:
    for ref in ("main", "feature/x", "fix-it", "v1.0", "a" * 255, "0123abc"):
        assert identifiers.check_ref(ref) == ref
    wrong = ("", "-x", "a..b", *(f"a{sign}b" for sign in " ~^:?*[\\\x7f"), "a" * 256)
    assert all(refused(lambda ref=ref: identifiers.check_ref(ref, "branch"), "branch") for ref in wrong)


def test_a_line_holds_no_control_character() -> None:
    for text in ("x", "a b", "\xa0", "\ud7ff", "\ue000", "x" * 255):
        assert identifiers.check_line("title", text) == text
    for text in ("", "\x1f", "\n", "\x7f", "\x9f", "\ud800", "\udfff", "x" * 256):
        assert refused(lambda text=text: identifiers.check_line("title", text), "title")
    assert identifiers.check_line("title", " ") == " "
    assert refused(lambda: identifiers.check_line("title", "xx", 1), "title")


def test_ids_of_commits_and_discussions_are_hexadecimal() -> None:
    given: list[object] = ["abc", "A" * 64, "a" * 65, "", "xyz", None, 7]
    assert [identifiers.check_commit(each) for each in given] == ["abc", "A" * 64, None, None, None, None, None]
    assert identifiers.check_discussion("6a9c1750b37d513a43987b574953fceb50b03ce7")
    assert refused(lambda: identifiers.check_discussion("../1"), "discussion_id")


def test_a_route_encodes_every_segment_whole() -> None:
    assert identifiers.make_route("projects", "a/b", 7, "x y%") == "projects/a%2Fb/7/x%20y%25"
    assert all(refused(lambda part=part: identifiers.make_route("projects", part), "path") for part in ("", ".", ".."))


def test_the_project_of_a_route_is_its_second_segment() -> None:
    routes = ("projects/7", "projects/a%2Fb/issues/1", "projects", "issues", "groups/7")
    assert [identifiers.find_project(route) for route in routes] == ["7", "a%2Fb", "", "", ""]


def test_the_path_of_a_project_has_at_most_255_letters() -> None:
    assert identifiers.check_project("g/" + "p" * 253) == "g/" + "p" * 253
    assert refused(lambda: identifiers.check_project("g/" + "p" * 254), "project_id")
