"""What can take longer than linear time is used where its input is bounded: every use of it is looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from tests.tree import modules

# difflib is cubic where lines or words repeat: 1,000 of them take 10 s.
DIFFLIB = {
    "core/arguments/near_name.py": "100 characters of a name, beside the names of arguments",
    "core/others/short_diff.py": "300 lines",
    "settings/files.py": "100 characters of a name, beside the names of settings",
    "surfaces/shell/commands.py": "100 characters of a word, beside the names of commands",
    "wire/protocol/methods.py": "100 characters of a name, beside the names of tools",
    "wire/protocol/session.py": "100 characters of a method, beside the names of methods",
}
# Patterns of callers go to RE2 (comments/search/regex.py), which is linear; these are put together by us.
MADE = {
    "comments/search/patterns.py": "a plain text, escaped, and one class behind it",
    "core/others/untrusted.py": "one class of single signs, escaped",
    "core/resource.py": "the templates of our own resources",
    "surfaces/page/router.py": "the routes of our own page",
    "surfaces/setup/yaml_edit.py": "keys of our own",
}
CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


def list_difflib() -> Iterator[str]:
    for module in modules().values():
        for node in ast.walk(module.tree) if "difflib" in module.text else ():
            named = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                named = [node.module or ""]
            if "difflib" in named:
                yield module.where


def test_difflib_is_used_for_what_is_short() -> None:
    assert {*list_difflib()} == {*DIFFLIB}


def list_made_patterns() -> Iterator[str]:
    """The modules in which a pattern of `re` is more than texts and constants of the module."""
    for module in modules().values():
        constants = {
            each.id
            for node in module.tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            for each in ast.walk(target)
            if isinstance(each, ast.Name) and each.id.isupper()
        }
        imported = {
            (each.asname or each.name)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ImportFrom)
            for each in node.names
            if each.name.isupper()
        }
        for node in ast.walk(module.tree):
            if is_pattern_call(node) and not is_fixed(node.args[0], constants | imported):
                yield module.where


def is_pattern_call(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in CALLS
        and bool(node.args)
    )


def is_fixed(node: ast.AST, constants: set[str]) -> bool:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names <= constants


def test_no_pattern_of_a_caller_reaches_pythons_engine() -> None:
    assert {*list_made_patterns()} == {*MADE}
    compiled = [module.where for module in modules().values() if '"re2"' in module.text]
    assert compiled == ["comments/search/regex.py"]
