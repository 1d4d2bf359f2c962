"""The composition root, and that what is generated from the operations is true."""

import re
import shlex
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from postil.app import PARTS, App, describe_part, group_class, read_catalogue
from postil.contracts import CONTRACTS, instruct, united
from postil.core import call
from postil.core.catalogue import OperationEntry
from postil.core.failure import StorageFailed
from postil.core.operation import Operation
from postil.core.registry import Offer, Registry
from postil.settings.load import load
from postil.storage.shared import BadState
from postil.wire.protocol.shapes import NARROWING, how_to_get_the_rest
from postil.workspace.operations.checks import list_running
from postil.workspace.part import Workspace
from scripts.reference import generated
from tests.workspace.repositories import new_repository

SAFE = re.compile(r"[a-z0-9_]{1,50}")


def test_what_is_generated_has_not_fallen_behind() -> None:
    behind = [path.name for path, text in generated().items() if path.read_text("utf-8") != text]
    assert behind == [], "run `make docs`"


def test_the_catalogue_read_is_the_catalogue_described() -> None:
    for name in PARTS:
        assert read_catalogue([name]) == describe_part(name)


def test_no_two_operations_share_a_name_or_a_command() -> None:
    operations = read_catalogue().operations
    names = [entry.name for entry in operations]
    commands = [entry.shell for entry in operations if entry.shell]
    assert len(set(names)) == len(names)
    assert len(set(commands)) == len(commands)


def test_a_context_is_made_once(tmp_path: Path) -> None:
    app = App(load({"HOME": str(tmp_path)}, str(tmp_path)))
    assert app.context("workspace") is app.context("workspace")


def test_what_setup_git_writes_is_known_to_the_doctor(tmp_path: Path) -> None:
    app = App(load({"HOME": str(tmp_path)}, str(new_repository(tmp_path / "clone", a__txt="a\n"))))
    registry = app.registry()
    registry.method(registry.operations["comments_setup_git"])()
    workspace = cast("Workspace", app.context("workspace"))
    assert list_running(workspace.find()) == ["diff.postil-comments.textconv", "merge.postil-comments.driver"]
    assert list_running(workspace.find(), workspace.git_settings()) == []


def test_the_instructions_are_short_whatever_is_on() -> None:
    assert len(instruct([entry.name for entry in read_catalogue().operations])) <= 600


def test_read_only_leaves_nothing_that_changes() -> None:
    offered = Registry(read_catalogue(), None, Offer(read_only=True)).operations.values()
    assert offered
    assert {entry.effect for entry in offered} == {"reads"}


def test_tool_names_are_portable() -> None:
    for entry in read_catalogue().operations:
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", entry.name), entry.name


@pytest.mark.parametrize("part", [part for part in CONTRACTS if part in PARTS])
def test_a_contract_face_offers_exactly_what_its_document_names(part: str) -> None:
    contract = CONTRACTS[part]
    only = contract.only(part, read_catalogue([part]))
    assert {entry.name for entry in only.operations} == contract.tools
    assert {entry.uri for entry in only.resources} == contract.resources
    assert {entry.name for entry in only.prompts} == contract.prompts


def test_one_part_that_fails_hides_no_other_from_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(app: App) -> object:
        raise StorageFailed("the disk is gone")

    monkeypatch.setitem(PARTS, "inbox", msgspec.structs.replace(PARTS["inbox"], make=broken))
    app = App(load({"HOME": str(tmp_path)}, str(tmp_path)))
    assert ("inbox", "the disk is gone") in app.glances()


def test_a_state_that_cannot_be_kept_there_is_refused(tmp_path: Path) -> None:
    app = App(load({"HOME": str(tmp_path), "POSTIL_STATE": "mysql://user:hush@host"}, str(tmp_path)))
    with pytest.raises(BadState) as refused:
        _ = app.state
    assert "hush" not in refused.value.text()


def test_every_tool_of_the_united_server_has_a_name_that_the_model_apis_take() -> None:
    """One other name makes OpenAI and Anthropic refuse the whole request; clients put a prefix before it."""
    odd = [entry.name for entry in read_catalogue().operations if entry.tool and not SAFE.fullmatch(entry.name)]
    assert odd == []
    odd = [entry.name for entry in read_catalogue().prompts if not SAFE.fullmatch(entry.name)]
    assert odd == []


def test_no_two_names_old_or_new_call_different_operations() -> None:
    names = [name for entry in read_catalogue().operations for name in (entry.name, *entry.aliases)]
    assert len(set(names)) == len(names)


def test_a_contracts_own_server_has_its_own_names_alone() -> None:
    """`git_mile.list` is the contract's name: its own server lists and answers no other."""
    registry = Registry(CONTRACTS["tracker"].only("tracker", read_catalogue(["tracker"])))
    assert [entry.name for entry in registry.tools] == ["git_mile.list", "git_mile.show"]
    assert registry.find("git_mile_list") is None


@pytest.mark.parametrize(
    "environ",
    [
        {"GITLAB_TOKEN": "hush"},
        {"GITLAB_TOKEN": "hush", "POSTIL_READ_ONLY": "1"},
        {"POSTIL_READ_ONLY": "1"},
        {},
        {"POSTIL_PARTS": "tracker"},
        {"POSTIL_DENY_TOOLS": "inbox_resolve,git_mile_ready"},
        {"POSTIL_ALLOW_TOOLS": "workspace_info"},
        {"POSTIL_TOOLSETS": "extra"},
    ],
    ids=str,
)
def test_the_instructions_name_only_tools_that_are_offered(tmp_path: Path, environ: dict[str, str]) -> None:
    server = App(load({"HOME": str(tmp_path), **environ}, str(tmp_path))).server()
    tools = {entry.name for entry in server.registry.tools}
    said = server.profile.instructions
    assert {*re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", said)} <= tools
    for prefix in re.findall(r"\b([a-z]+_)\*", said):
        assert any(tool.startswith(prefix) for tool in tools), prefix
    assert ("GitLab" in said) == ("GITLAB_TOKEN" in environ)
    assert ("gitlab_issue_from_issue" in tools) == (environ == {"GITLAB_TOKEN": "hush"})
    assert ("check_lazygit_messages" in said) == ("check_lazygit_messages" in tools)


def test_instructions_speak_of_what_one_caller_over_http_may_use(tmp_path: Path) -> None:
    server = App(load({"HOME": str(tmp_path)}, str(tmp_path))).server(over_http=True)
    narrow = server.narrow(server.registry.narrowed(lambda entry: entry.part == "comments"))
    assert "get_file_comments" in narrow.profile.instructions
    assert "git_mile" not in narrow.profile.instructions


def test_the_united_server_claims_no_changes_that_it_never_tells() -> None:
    declared = united().capabilities
    assert not any("listChanged" in each for each in declared.values())
    assert declared["resources"] == {"subscribe": True}


READING = [entry for entry in read_catalogue().operations if entry.tool and entry.effect == "reads"]


@pytest.mark.parametrize("entry", READING, ids=[entry.name for entry in READING])
def test_the_command_for_the_rest_of_an_answer_answers_the_same_call(entry: OperationEntry) -> None:
    """For every tool that reads, with what it must be given, and with everything that it can be given."""
    schema = msgspec.json.decode(entry.input_schema)
    every = {name: example(each, schema) for name, each in schema.get("properties", {}).items()}
    for given in ({name: every[name] for name in schema.get("required", ())}, every):
        advice = how_to_get_the_rest(entry, given)
        (command,) = re.findall(r"`(postil [^`]+)`", advice)
        _, verb, name, *arguments = shlex.split(command)
        assert (verb, name) == ("call", entry.name)
        if arguments != ["@FILE"]:
            assert msgspec.json.decode(arguments[0] if arguments else "{}") == given
        operation = Operation(getattr(group_class(entry.part, entry.group), entry.attribute))
        operation.decode(given, from_shell=True)
        told = re.findall(r"Ask for less with ([^;]+);", advice)
        assert {*", ".join(told).split(", ")} - {""} <= NARROWING & {*schema.get("properties", {})}
    assert "filePath" not in how_to_get_the_rest(entry, {"filePath": "a.py"}).split("`")[0]


def test_the_command_for_the_rest_of_a_list_says_that_a_shell_bounds_it_too() -> None:
    (entry,) = (each for each in READING if each.name == "comments_list")
    assert how_to_get_the_rest(entry, {}).endswith(
        "prints it whole; more than that comes with limit (up to 1000), skip."
    )


TRYING = [
    (each, name)
    for each in read_catalogue().operations
    if each.tool and each.effect != "reads"
    for name in msgspec.json.decode(each.input_schema).get("properties", {})
    if name in ("claim", "dryRun", "dry_run", "fix")
]


@pytest.mark.parametrize(("entry", "name"), TRYING, ids=[entry.name for entry, _ in TRYING])
def test_a_tool_that_only_told_what_it_would_do_may_be_asked_again(entry: OperationEntry, name: str) -> None:
    allows = name in ("claim", "fix")
    assert "Nothing was changed" in how_to_get_the_rest(entry, {name: not allows})
    assert "do not ask again" in how_to_get_the_rest(entry, {name: allows})


def example(field: dict[str, Any], schema: dict[str, Any]) -> object:
    """A value that a published field takes."""
    if "$ref" in field:
        return {}
    kind = next((each for each in field.get("anyOf", ()) if each.get("type") != "null"), field)
    if "$ref" in kind:
        return {}
    if kind.get("enum"):
        return kind["enum"][0]
    empty: dict[str, object] = {"string": "it's", "boolean": True, "array": [], "object": {}, "number": 1.5}
    return empty.get(kind.get("type", "string"), max(kind.get("minimum", 1), 1))


def test_the_status_has_a_line_of_every_part_that_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = {"HOME": str(tmp_path)}
    app = App(load(home, str(tmp_path)))
    heard: list[str] = []

    def hear(doing: call.Call, done: float, total: float | None = None, message: str = "") -> None:
        heard.append(message)

    monkeypatch.setattr(call.Call, "progress", hear)
    app.glances()
    assert heard == ["looking at inbox", "looking at comments", "looking at tracker"]
    assert {part for part, _ in app.glances()} == {"inbox", "comments", "tracker", "gitlab"}
    assert ("gitlab", "not connected (postil gitlab connect)") in app.glances()
    connected = App(load({**home, "GITLAB_TOKEN": "hush"}, str(tmp_path))).glances()
    assert connected[-1] == ("gitlab", "a token for https://gitlab.com is configured")
    only = App(load({**home, "POSTIL_PARTS": "inbox"}, str(tmp_path)))
    assert [part for part, _ in only.glances()] == ["inbox"]
