"""What the workspace part says of itself."""

from postil.workspace.operations.answers import CheckedFiles, Fault, Glance, Status, Versions, WorkspaceInfo

VERSIONS = Versions("0.1", "3.11", "")


def test_where_we_are_is_said_line_by_line() -> None:
    assert WorkspaceInfo("/r", "main", ["inbox", "tracker"], VERSIONS).for_model().splitlines() == [
        "Repository: /r",
        "Branch: main",
        "Parts: inbox, tracker",
        "Versions: Postil 0.1, Python 3.11, git not found",
    ]
    assert WorkspaceInfo(None, None, [], VERSIONS).for_model().startswith("Not inside a git repository\nParts: \n")


def test_a_status_has_its_parts_in_columns() -> None:
    said = Status("/r", None, [Glance("a", "one"), Glance("longer", "two")]).for_model()
    assert said == "/r on a detached HEAD\na       one\nlonger  two"
    assert Status(None, None, []).for_model() == "not inside a git repository"


def test_faults_are_named_and_worth_a_status() -> None:
    assert (CheckedFiles(3, []).for_model(), CheckedFiles(3, []).exit_status) == ("3 tracked files, all in order", 0)
    found = CheckedFiles(3, [Fault("a", "missing"), Fault("b", "conflict-markers", 2)])
    assert found.exit_status == 1
    assert found.for_model().splitlines() == [
        "3 tracked files, 2 with a fault",
        "a: tracked, but not in the work tree",
        "b:2: has conflict markers left",
    ]
