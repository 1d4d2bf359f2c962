"""On the contract's face the two tools have the contract's arguments; elsewhere they have more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postil.app import read_catalogue
from postil.contracts import CONTRACTS
from postil.core.operation import Operation
from postil.tracker.failures import InvalidParams, InvalidRequest, ServerError
from postil.tracker.issues import Issues
from postil.tracker.operations.contract import ContractTools
from postil.workspace.repository import find_repository
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, run

LIST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entity": {"enum": ["issue", "milestone"], "type": "string"},
        "filter": {"description": 'status == "open" and labels contains "x"', "type": "string"},
        "sort": {"description": "field[:asc|desc]", "type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer", "minimum": 1, "default": 50},
        "cursor": {"type": "string"},
        "includeClosed": {"type": "boolean", "default": False},
    },
    "required": ["entity"],
    "additionalProperties": False,
}
SHOW: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entity": {"enum": ["issue", "milestone"], "type": "string"},
        "id": {"description": "UUID or its beginning", "type": "string"},
    },
    "required": ["entity", "id"],
    "additionalProperties": False,
}


def test_the_contracts_face_publishes_the_contracts_schemas_byte_for_byte():
    face = CONTRACTS["tracker"].only("tracker", read_catalogue(["tracker"]))
    published = {entry.name: bytes(entry.input_schema).decode() for entry in face.operations}
    assert published == {
        "git_mile.list": json.dumps(LIST, separators=(",", ":")),
        "git_mile.show": json.dumps(SHOW, separators=(",", ":")),
    }


def test_the_contract_asks_for_the_kind_and_the_united_server_does_not(repository: Path):
    tools = ContractTools(Issues(lambda: find_repository(str(repository))))
    with pytest.raises(InvalidRequest, match="entity"):
        Operation(tools.list_entities, by_contract=True).decode({})
    assert Operation(tools.list_entities).decode({})["entity"] == "issue"


@pytest.mark.parametrize("name", ["query", "all", "long", "columns", "format", "in_full"])
def test_what_only_the_shell_has_is_refused_from_others(repository: Path, name: str):
    tools = ContractTools(Issues(lambda: find_repository(str(repository))))
    with pytest.raises(InvalidRequest, match=name):
        Operation(tools.list_entities).decode({name: True})


def test_what_git_or_the_workspace_refuses_is_the_contracts_server_error(tmp_path: Path):
    with pytest.raises(ServerError):
        Tracker(tmp_path).list()
    assert run(tmp_path, "list", "issue", "--limit", "7").returncode == 5  # a person is told what it was


def test_an_unknown_column_is_refused_with_those_there_are(repository: Path):
    with pytest.raises(InvalidParams, match="Unknown column `colour`"):
        Tracker(repository).contract.list_entities(columns="id,colour", in_full=True)


def test_format_json_is_the_json_of_the_flag(repository: Path):
    Tracker(repository).tools.create("One")
    printed = run(repository, "list", "issue", "--format", "json").stdout
    assert json.loads(printed) == answered(repository, "list", "issue")
