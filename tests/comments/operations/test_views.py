"""Comments where people read them: between the lines, since a revision, in CI, in git's own diffs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from postil.comments.operations import views as view_tools
from postil.comments.operations.views import Reported, ViewTools
from postil.core import call
from postil.core.failure import InvalidArguments, NotFound
from postil.core.others.visible import paint
from tests.comments.workspaces import FUNCTIONS, Comments, commit, split, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"def step_{number}(state):\n    return state + {number}\n\n\n" for number in range(1, 11))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "b.py": CODE})


def views(comments: Comments) -> ViewTools:
    return ViewTools(comments.context)


def test_a_view_has_each_comment_below_its_line(comments: Comments) -> None:
    comments.add("a.py", 2, "TODO: round it\nto cents", "TODO", author="Ann")
    identity = comments.add("a.py", 2, "Why?", "QUESTION", author="Ben").commentId
    comments.reply(identity, "The tax law", author="Ann")
    rows = views(comments).view("a.py").text.split("\n")
    at = next(number for number, row in enumerate(rows) if row.endswith("return state + 1"))
    shown = "\n".join(rows[at + 1 : at + 9])
    assert "[TODO] Ann, 20" in shown
    assert "│ round it" in shown
    assert "│ to cents" in shown
    assert "[QUESTION] Ben" in shown
    assert ": The tax law" in shown
    assert sum("def step_" in row for row in rows) == 10


def test_a_view_of_a_diff_shows_what_changed_and_the_comments_near_it(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("a.py", 6, "near", "NOTE")
    comments.add("a.py", 38, "far", "NOTE")
    commit(root, "commented")
    write(root, "a.py", CODE.replace("return state + 2\n", "return state + two\n"))
    text = views(comments).view("a.py", diff="HEAD").text
    assert "+ " in text
    assert "-     return state + 2" in text
    assert "return state + two" in text
    assert "near" in text
    assert "def step_7" not in text


def test_a_view_of_a_file_that_is_not_there_is_refused(comments: Comments) -> None:
    with pytest.raises(NotFound):
        views(comments).view("missing.py")
    with pytest.raises(NotFound):
        views(comments).view("a.py", diff="no-such-branch")


def test_a_view_of_a_folder_is_refused_and_one_without_comments_says_so(comments: Comments) -> None:
    write(Path(comments.tree.root), "lib/c.py", "x = 1\n")
    with pytest.raises(InvalidArguments, match="lib is a folder or no text") as refused:
        views(comments).view("lib")
    assert "postil comments list lib" in refused.value.advice
    assert views(comments).view("a.py", near=True).text == "a.py has no open comments."
    nothing = "a.py has no open comments, and nothing changed in it since HEAD."
    assert views(comments).view("a.py", diff="HEAD").text == nothing


def test_a_view_of_a_file_that_was_renamed_says_where_the_code_is_now(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("a.py", 6, "goes along", "NOTE")
    commit(root, "commented")
    git(root, "mv", "a.py", "moved.py")
    text = views(comments).view("a.py").text
    assert text.startswith("Their code is in another file now:\n")
    assert "│ now at moved.py:6" in text
    assert "Without their code" not in text
    assert "now at" not in views(comments).view("moved.py").text


def test_a_model_gets_the_code_around_the_comments_of_a_long_file(comments: Comments) -> None:
    write(Path(comments.tree.root), "long.py", CODE * 100)
    comments.add("long.py", 2002, "in the middle", "NOTE")
    viewed = views(comments).view("long.py")
    said = viewed.for_model()
    assert said.startswith("long.py is long: ")
    assert "in the middle" in said
    assert len(said) < 1000
    assert len(viewed.text) > len(CODE) * 100
    assert viewed.for_person() == viewed.text
    assert views(comments).view("a.py").near == ""


def test_the_lines_of_a_diff_are_coloured_for_a_person(comments: Comments) -> None:
    root = Path(comments.tree.root)
    write(root, "a.py", CODE.replace("return state + 2\n", "return state + two\n"))
    person = call.Call()
    person.colors = True
    call.enter(person)
    try:
        rows = paint(views(comments).view("a.py", diff="HEAD").for_person(), colors=True).split("\n")
    finally:
        call.enter(call.Call())
    changed = [row for row in rows if row.startswith(("\x1b[31m", "\x1b[32m"))]
    assert [row[:5] for row in changed] == ["\x1b[31m", "\x1b[32m"]
    assert "state + 2" in changed[0]
    assert "state + two" in changed[1]


def test_comments_stand_out_from_the_code_for_a_person(comments: Comments) -> None:
    comments.add("a.py", 1, "first\n2 + 2", "NOTE")
    person = call.Call()
    person.colors = True
    call.enter(person)
    try:
        rows = paint(views(comments).view("a.py").for_person(), colors=True).split("\n")
    finally:
        call.enter(call.Call())
    framed = [row for row in rows if "\x1b[34m" in row]
    assert [row.replace("\x1b[34m", "").replace("\x1b[0m", "").strip()[:1] for row in framed] == ["┌", "│", "│", "└"]
    assert framed[2].endswith("\x1b[0m 2 + 2")
    assert rows[0].startswith("\x1b[2m")


def test_a_comment_without_its_code_is_shown_at_the_end(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("a.py", 6, "lost", "NOTE")
    commit(root, "commented")
    write(root, "a.py", "print('another file altogether')\n")
    text = views(comments).view("a.py").text
    assert "Without their code:" in text
    assert "lost" in text
    assert "was:" in text


def test_what_was_said_and_settled_since_a_revision_is_told(comments: Comments) -> None:
    root = Path(comments.tree.root)
    old = comments.add("a.py", 2, "old one", "NOTE").commentId
    gone = comments.add("a.py", 6, "to be deleted", "NOTE").commentId
    edited = comments.add("b.py", 6, "to be edited", "NOTE").commentId
    commit(root, "commented")
    new = comments.add("b.py", 2, "new one", "TODO").commentId
    comments.resolve(old)
    comments.reply(old, "done")
    comments.delete("a.py", gone)
    comments.edit("b.py", edited, "was edited")
    found = views(comments).diff_comments("HEAD")
    assert {(each.what, each.commentId) for each in found.steps} == {
        ("resolved", old),
        ("replied", old),
        ("deleted", gone),
        ("edited", edited),
        ("said", new),
    }
    assert "new one" in found.for_model()
    assert views(comments).diff_comments("HEAD", "b.py").steps[0].filePath == "b.py"
    with pytest.raises(NotFound):
        views(comments).diff_comments("no-such-branch")


def changed(comments: Comments) -> tuple[str, str]:
    """Two comments of which one is on a line that changed."""
    root = Path(comments.tree.root)
    touched = comments.add("a.py", 6, "on what changes", "FIXME", author="Ann").commentId
    other = comments.add("a.py", 38, "far from it", "NOTE").commentId
    commit(root, "commented")
    git(root, "branch", "base")
    write(root, "a.py", CODE.replace("return state + 2\n", "return state + 2.5\n"))
    return touched, other


def test_only_comments_on_changed_lines_are_listed(comments: Comments) -> None:
    touched, _ = changed(comments)
    assert [each.id for each in comments.listed(changed="base").comments] == [touched]
    commit(Path(comments.tree.root), "changed")
    assert [each.id for each in comments.listed(changed="base").comments] == [touched]
    assert comments.listed(changed="HEAD").comments == ()


def test_ci_gets_sarif_and_code_quality(comments: Comments) -> None:
    touched, _ = changed(comments)
    log = json.loads(views(comments).report("base", "sarif").for_person())
    (result,) = read_sarif(views(comments).report("base", "sarif"))
    place = result["locations"][0]["physicalLocation"]
    assert (log["version"], result["level"]) == ("2.1.0", "warning")
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("a.py", 6)
    assert result["partialFingerprints"]["postilComment/v1"] == touched
    (issue,) = json.loads(views(comments).report("base", "codequality").for_person())
    assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert issue["location"] == {"path": "a.py", "lines": {"begin": 6}}
    assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")


def test_a_copied_file_and_its_comments_are_issues_of_their_own(comments: Comments) -> None:
    changed(comments)
    root = Path(comments.tree.root)
    for name in ("a.py", "a.py.comments"):
        (root / name.replace("a.py", "copy.py")).write_bytes((root / name).read_bytes())
    commit(root, "copied")
    issues = json.loads(views(comments).report("base", "codequality").for_person())
    assert {issue["location"]["path"] for issue in issues} == {"a.py", "copy.py"}
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_ci_fails_only_when_it_was_asked_to(comments: Comments) -> None:
    changed(comments)
    assert views(comments).report("base").exit_status == 0
    assert views(comments).report("base", failOn="open").exit_status == 6
    assert views(comments).report("base", failOn="lost").exit_status == 0
    write(Path(comments.tree.root), "b.py.comments", "{")
    assert views(comments).report("base").exit_status == 7


def test_ci_tells_of_comments_whose_file_the_change_deletes(comments: Comments) -> None:
    root = Path(comments.tree.root)
    lost = comments.add("a.py", 6, "about what goes", "TODO", author="Ann").commentId
    commit(root, "commented")
    git(root, "branch", "base")
    (root / "a.py").unlink()
    (root / "b.py").unlink()
    commit(root, "deleted")
    found = views(comments).report("base", failOn="lost")
    assert [each.id for each in found.comments] == [lost]
    assert found.exit_status == 6
    assert [each.id for each in comments.listed(changed="base").comments] == [lost]
    (issue,) = json.loads(views(comments).report("base", "codequality").for_person())
    assert "it was at line 6: return state + 2" in issue["description"]


def test_ci_tells_only_of_code_that_the_change_lost(comments: Comments) -> None:
    root = Path(comments.tree.root)
    before, kept = (comments.add("a.py", line, f"about {line}", "TODO").commentId for line in (2, 6))
    commit(root, "commented")
    write(root, "a.py", without_step(1))
    commit(root, "took the first out")
    git(root, "branch", "base")
    write(root, "a.py", without_step(1).replace("state + 9", "state + 99"))
    assert views(comments).report("base", failOn="lost").comments == ()
    assert comments.listed(changed="base").comments == ()
    since = comments.add("a.py", 10, "about what the change takes out", "TODO").commentId
    write(root, "a.py", "import os\n")
    commit(root, "took all out")
    found = views(comments).report("base", failOn="lost")
    assert ({each.id for each in found.comments}, found.total, found.lost) == ({kept, since}, 2, 2)
    assert {each.id for each in comments.listed(changed="base").comments} == {kept, since}
    assert {each.id for each in views(comments).report("base~1").comments} == {before, kept, since}


def test_ci_does_not_tell_of_code_that_was_lost_before_its_file_got_another_name(comments: Comments) -> None:
    root = Path(comments.tree.root)
    for line in (2, 6):
        comments.add("a.py", line, f"about {line}", "TODO")
    commit(root, "commented")
    write(root, "a.py", without_step(1))
    commit(root, "took the first out")
    git(root, "branch", "base")
    for name in ("a.py", "a.py.comments"):
        git(root, "mv", name, name.replace("a.py", "renamed.py"))
    commit(root, "renamed")
    assert views(comments).report("base", failOn="lost").comments == ()
    write(root, "renamed.py", "import os\n")
    found = views(comments).report("base", failOn="lost")
    assert ([each.text for each in found.comments], found.lost) == (["about 6"], 1)


def without_step(number: int) -> str:
    return CODE.replace(f"def step_{number}(state):\n    return state + {number}\n\n\n", "")


def test_a_report_names_only_lines_that_a_file_has(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("a.py", 37, "about what goes", "TODO", endLine=38)
    comments.add("b.py", 6, "about a file that goes", "TODO")
    commit(root, "commented")
    git(root, "branch", "base")
    write(root, "a.py", "import os\nimport sys\n")
    (root / "b.py").unlink()
    places = [each["locations"][0]["physicalLocation"] for each in read_sarif(views(comments).report("base", "sarif"))]
    assert [each["artifactLocation"]["uri"] for each in places] == ["a.py", "b.py"]
    assert [each.get("region") for each in places] == [{"startLine": 2, "endLine": 2}, None]
    issues = json.loads(views(comments).report("base", "codequality").for_person())
    assert [each["location"] for each in issues] == [
        {"path": "a.py", "lines": {"begin": 2}},
        {"path": "b.py", "lines": {"begin": 1}},
    ]
    assert "it was at line 37" in issues[0]["description"]


class Members(Struct, forbid_unknown_fields=True):
    """An object of SARIF 2.1.0, which knows no other members than it names."""


class Message(Members):
    text: Annotated[str, Meta(min_length=1)]


class Help(Members):
    text: str
    markdown: str


class Rule(Members):
    id: str
    name: str
    shortDescription: Message
    fullDescription: Message
    help: Help


class Driver(Members):
    name: str
    version: str
    rules: list[Rule]


class Tool(Members):
    driver: Driver


class Region(Members):
    startLine: Annotated[int, Meta(ge=1)]
    endLine: Annotated[int, Meta(ge=1)]


class Artifact(Members):
    uri: Annotated[str, Meta(pattern=r"^[^\\s]+$")]
    uriBaseId: str


class PhysicalLocation(Members):
    artifactLocation: Artifact
    region: Region | None = None


class Location(Members):
    physicalLocation: PhysicalLocation


class Result(Members):
    ruleId: str
    level: Literal["none", "note", "warning", "error"]
    message: Message
    locations: list[Location]
    partialFingerprints: dict[str, str]


class Notification(Members):
    level: Literal["none", "note", "warning", "error"]
    message: Message


class Invocation(Members):
    executionSuccessful: bool
    toolExecutionNotifications: list[Notification]


class Run(Members):
    tool: Tool
    columnKind: Literal["utf16CodeUnits", "unicodeCodePoints"]
    results: list[Result]
    invocations: list[Invocation] = []


class Sarif(Members, rename={"schema": "$schema"}):
    schema: str
    version: Literal["2.1.0"]
    runs: Annotated[list[Run], Meta(min_length=1)]


def read_sarif(reported: Reported) -> list[dict[str, Any]]:
    """The results of a log, whose members are all known to SARIF 2.1.0 and have the types that it demands."""
    said = reported.for_person()
    msgspec.json.decode(said, type=Sarif, strict=True)
    return json.loads(said)["runs"][0]["results"]


def test_a_view_of_some_lines_shows_these_and_the_comments_on_them(comments: Comments) -> None:
    identity = comments.add("a.py", 2, "what is on the line", "NOTE").commentId
    comments.add("a.py", 12, "what is elsewhere", "NOTE")
    viewed = views(comments).view("a.py:2-3")
    assert [each.id for each in viewed.comments] == [identity]
    assert "what is elsewhere" not in viewed.text
    assert viewed.text.splitlines()[-1].split()[0] == "6"
    with pytest.raises(InvalidArguments, match="Invalid line number"):
        views(comments).view("a.py:9998-9999")


def test_a_view_beyond_the_end_of_a_file_shows_what_there_is_and_says_so(comments: Comments) -> None:
    count = CODE.count("\n")
    *shown, said = views(comments).view(f"a.py:{count - 1}-{count + 2}").text.splitlines()
    assert shown[-1].split()[0] == str(count)
    assert said == f"a.py ends at line {count}: {count + 2} is beyond it"


def test_short_names_are_taken_wherever_an_id_is(comments: Comments) -> None:
    first, second = (comments.add("a.py", line, f"text {line}", "NOTE").commentId for line in (2, 6))
    names = comments.context.short_names()
    assert len(set(names.values())) == 2
    assert max(map(len, names.values())) < 10
    assert comments.show(names[first]).comment.id == first
    comments.resolve(names[second])
    comments.contract.edit(names[first], "edited by its short name")
    assert comments.show(first).comment.text == "edited by its short name"
    assert comments.show(second).comment.status == "resolved"
    with pytest.raises(NotFound):
        comments.show("0123456789")
    with pytest.raises(InvalidArguments):
        comments.show("zz")


def test_git_shows_a_comment_file_as_text(comments: Comments, tmp_path: Path) -> None:
    root = Path(comments.tree.root)
    comments.maintenance.setup_git()
    comments.add("a.py", 2, "TODO: round it", "TODO", author="Ann")
    commit(root, "commented")
    program = tmp_path / "bin" / "postil"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m postil "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    shown = subprocess.run(
        ["git", "-C", str(root), "log", "-p", "-1", "--", "a.py.comments"],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    assert "+    round it" in shown
    assert "lineHash" not in shown
    comments.maintenance.setup_git(remove=True)
    assert "postil" not in (root / ".git" / "config").read_text("utf-8")


def test_what_was_said_since_is_told_where_its_code_is_now(comments: Comments) -> None:
    root = Path(comments.tree.root)
    comments.add("a.py", 6, "about six", "NOTE")
    write(root, "a.py", "# one more\n" + CODE)
    assert [(each.what, each.line) for each in views(comments).diff_comments("HEAD").steps] == [("said", 7)]


def test_the_diff_of_a_renamed_file_shows_what_was_edited(comments: Comments, tmp_path: Path) -> None:
    (tmp_path / "b.py").unlink()
    commit(tmp_path, "one file")
    git(tmp_path, "mv", "a.py", "c.py")
    write(tmp_path, "c.py", CODE.replace("state + 7", "state + 70"))
    commit(tmp_path, "renamed and edited")
    rows = views(comments).view("c.py", diff="HEAD~1").text.split("\n")
    assert [row.split(" ", 1)[1].strip() for row in rows if " + " in row[:6]] == ["+     return state + 70"]


def test_what_was_said_is_told_by_the_file_that_its_code_went_to(comments: Comments) -> None:
    root = Path(comments.tree.root)
    identity = comments.add("a.py", 6, "goes along", "NOTE", "ann").commentId
    comments.reply(identity, "indeed", author="bob")
    (root / "a.py").rename(root / "moved.py")
    (step, _) = views(comments).diff_comments("HEAD").steps
    assert (step.filePath, step.movedTo, step.line) == ("a.py", "moved.py", 6)
    assert "moved.py:6  ann: goes along" in views(comments).diff_comments("HEAD").for_model()
    assert "  ann: goes along (+1)  " in comments.listed().for_model()


def test_a_view_names_the_comments_whose_code_went_to_another_file(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": FUNCTIONS})
    stays = comments.add("a.py", 2, "about nought", "NOTE").commentId
    went = comments.add("a.py", 26, "about six", "NOTE").commentId
    commit(tmp_path, "commented")
    split(tmp_path, 6)
    for diff, near in (("", False), ("", True), ("HEAD", False)):
        seen = views(comments).view("a.py", diff, near)
        assert {each.id for each in seen.comments} == {stays, went}
        code, _, rest = seen.text.partition("Their code is in another file now:\n")
        assert "about nought" in code
        assert "about six" in rest
        assert "now at b.py:5" in rest
    assert "another file" not in views(comments).view("b.py").text


def test_a_report_of_very_many_comments_holds_some_and_says_how_many_there_are(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_tools, "MOST_REPORTED", 2)
    for line in (2, 6, 10, 14):
        comments.add("a.py", line, f"about {line}", "NOTE")
    commit(Path(comments.tree.root), "commented")
    write(Path(comments.tree.root), "a.py", "import os\n")
    report = views(comments).report("HEAD", failOn="lost")
    assert (len(report.comments), report.total, report.lost, report.exit_status) == (2, 4, 4, 6)
    assert "… and 2 more, which are not reported: 4 in all" in report.for_model()
    (run,) = json.loads(bytes(views(comments).report("HEAD", "sarif").for_person()))["runs"]  # type: ignore[arg-type]
    assert len(run["results"]) == 2
    assert "4 in all" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_comments_on_changed_lines_are_counted_and_the_first_are_listed(comments: Comments) -> None:
    for line in (14, 2, 10, 6):
        comments.add("a.py", line, f"about {line}", "NOTE")
    commit(Path(comments.tree.root), "commented")
    write(Path(comments.tree.root), "a.py", CODE.replace("return state", "return 1 + state"))
    listed = comments.listed(changed="HEAD", limit=2)
    assert ([each.line for each in listed.comments], listed.total) == ([2, 6], 4)


def test_what_was_said_since_a_branch_that_moved_on_counts_from_where_both_came(comments: Comments) -> None:
    """A comment that somebody wrote on main meanwhile was told as deleted here."""
    root = Path(comments.tree.root)
    git(root, "branch", "-M", "main")
    comments.add("a.py", 2, "known to both", "NOTE")
    base = commit(root, "commented")
    git(root, "checkout", "-q", "-b", "work")
    comments.add("a.py", 6, "said here", "NOTE")
    commit(root, "here")
    git(root, "checkout", "-q", "main")
    comments.add("b.py", 2, "said there", "NOTE")
    commit(root, "there")
    git(root, "checkout", "-q", "work")
    since = views(comments).diff_comments("main")
    assert since.revision == base
    assert [(each.what, each.text) for each in since.steps] == [("said", "said here")]
    assert since.for_model().startswith(f"Since {base[:12]}, from which this branch and main came:\n")
    own = views(comments).diff_comments(base)
    assert own.steps == since.steps
    assert "came:" not in own.for_model()
