"""The methods of the GitLab clients, Python and JavaScript, written from the catalogue.

`make docs` writes them with everything else that is derived; a test fails when they fall behind.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from postil.core.catalogue import Catalogue, OperationEntry

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
Field = dict[str, Any]
WITHOUT = ("connect_gitlab",)
"""Offered where there is no token, and a client always has one."""

PYTHON_HEAD = '''\
"""A method for each operation of the server, as the contract names them; how a call travels is the client's.

Written by `make docs` from the server's own catalogue: do not edit. `T` is what a call gives: a Result of the
synchronous client, an awaitable of one of the asynchronous client. All arguments are by name; what is left out is the
server's to decide.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")
{reads}


class Operations(Generic[T]):
    """Every operation by name."""

    @abstractmethod
    def call(self, method: str, params: dict[str, Any]) -> T:
        """Call any method of the server and give its result."""
'''
JAVASCRIPT_HEAD = """\
'use strict';

// The operations of the server; each becomes a method in camelCase. Written by `make docs`: do not edit.
"""
TYPES_HEAD = """\
// A method for each operation of the server. Written by `make docs` from the server's own catalogue: do not edit.
import type { PerCall, Result } from './index';

"""


def files(catalogue: Catalogue) -> dict[Path, str]:
    """Every generated file of the clients and what it has to hold."""
    entries = [entry for entry in catalogue.operations if entry.name not in WITHOUT]
    names = "".join(f"  '{entry.name}',\n" for entry in entries)
    reads = [entry.name for entry in entries if entry.effect == "reads"]
    only = "".join(f"  '{name}',\n" for name in reads)
    typed = "\n".join(_typescript_method(entry) for entry in entries)
    return {
        CLIENTS / "python/src/mcp_gitlab/operations.py": _formatted(
            PYTHON_HEAD.replace("{reads}", _python_reads(reads)) + "".join(map(_python_method, entries))
        ),
        CLIENTS / "javascript/operations.cjs": (
            f"{JAVASCRIPT_HEAD}const OPERATIONS = [\n{names}];\n\n"
            f"// Those that only read: asking again changes nothing.\nconst READS = new Set([\n{only}]);\n\n"
            "module.exports = { OPERATIONS, READS };\n"
        ),
        CLIENTS / "javascript/operations.d.ts": f"{TYPES_HEAD}export interface Operations {{\n{typed}\n}}\n",
    }


def _arguments(entry: OperationEntry) -> Iterator[tuple[str, Field, bool]]:
    """Name, schema and whether it is required; then what no schema lists and every such call takes."""
    schema: Field = msgspec.json.decode(entry.input_schema)
    for name, field in schema["properties"].items():
        yield name, field, name in schema.get("required", ())
    if entry.effect != "reads":
        yield "idempotency_key", {"type": "string"}, False
    elif entry.open_world:
        yield "cache", {"type": "boolean"}, False
        yield "cache_ttl", {"type": "integer"}, False


def _formatted(source: str) -> str:
    """The source as `make check` wants it."""
    ruff = Path(sys.executable).with_name("ruff")
    words = [ruff, "format", "--stdin-filename", CLIENTS / "python/src/mcp_gitlab/operations.py", "-"]
    return subprocess.run(words, input=source, capture_output=True, text=True, check=True).stdout


def _python_reads(names: list[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f'READS = frozenset({{{listed}}})\n"""Those that only read: asking again changes nothing."""'


def _sentence(entry: OperationEntry) -> str:
    """What it does. What stands behind a semicolon is told to models: a program gets GitLab's text whole."""
    return entry.description.partition(";")[0].rstrip(".") + "."


def _python_method(entry: OperationEntry) -> str:
    arguments = list(_arguments(entry))
    declared = ", ".join(
        f"{name}: {_python_type(field)}{'' if required else ' | None = None'}" for name, field, required in arguments
    )
    sent = ", ".join(f'"{name}": {name}' for name, _, _ in arguments)
    return f'''
    def {entry.name}(self, *, {declared}) -> T:
        """{_sentence(entry)}"""
        return self.call("{entry.name}", {{{sent}}})
'''


def _typescript_method(entry: OperationEntry) -> str:
    arguments = list(_arguments(entry))
    first, *rest = entry.name.split("_")
    name = first + "".join(word.title() for word in rest)
    declared = " ".join(
        f"{name}{'' if required else '?'}: {_typescript_type(field)};" for name, field, required in arguments
    )
    optional = "" if any(required for _, _, required in arguments) else "?"
    taken = f"params{optional}: {{ {declared} }}, options?: PerCall"
    return f"  /** {_sentence(entry)} */\n  {name}({taken}): Promise<Result>;"


_PYTHON = {"integer": "int", "string": "str", "boolean": "bool", "number": "float"}
_TYPESCRIPT = {"integer": "number", "string": "string", "boolean": "boolean", "number": "number"}


def _python_type(field: Field) -> str:
    if "enum" in field:
        return "Literal[" + ", ".join(f'"{value}"' for value in field["enum"]) + "]"
    if field.get("type") == "array":
        return f"list[{_python_type(field['items'])}]"
    if "properties" in field:
        return "Mapping[str, Any]"
    if field.get("type") == "object":
        return f"Mapping[str, {_python_type(field['additionalProperties'])}]"
    return _united(field, _python_type) if "anyOf" in field else _PYTHON[field["type"]]


def _typescript_type(field: Field) -> str:
    if "enum" in field:
        return " | ".join(f"'{value}'" for value in field["enum"])
    if field.get("type") == "array":
        return f"Array<{_typescript_type(field['items'])}>"
    if "properties" in field:
        required = field.get("required", ())
        inner = (
            f"{n}{'' if n in required else '?'}: {_typescript_type(one)}" for n, one in field["properties"].items()
        )
        return f"{{ {'; '.join(inner)} }}"
    if field.get("type") == "object":
        return f"Record<string, {_typescript_type(field['additionalProperties'])}>"
    return _united(field, _typescript_type) if "anyOf" in field else _TYPESCRIPT[field["type"]]


def _united(field: Field, type_of: Callable[[Field], str]) -> str:
    return " | ".join(dict.fromkeys(type_of(option) for option in field["anyOf"]))
