"""Two rules the linters cannot say: one module runs git, one module replaces files."""

import ast
from collections.abc import Iterator

from tests.tree import modules

RUNNING = {"run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec", "create_subprocess_shell"}
REPLACERS = {
    "workspace/files.py",
    "workspace/git_folder.py",  # a copy of a config, made again when it is lost
    "inbox/lazygit/start_check.py",  # copies into a temporary folder of its own
    "storage/sqlite.py",  # publishes a database that it has just made
    "comments/storage/write_log.py",  # a log that has grown gets its older name
    "comments/transfer/export.py",  # an export, streamed to where the person says, in no workspace
}
REPLACING = {"rename", "replace", "renames"}


def calls(*owners: str) -> Iterator[tuple[str, ast.Call, str]]:
    """The calls of functions of these modules: where, the call, and the function's name."""
    for module in modules().values():
        if any(f"{owner}." in module.text for owner in owners):  # few need to be parsed
            for node in ast.walk(module.tree):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if owner in owners:
                        yield module.where, node, name
                    case _:
                        pass


def test_only_the_workspace_runs_git() -> None:
    offenders = [
        f"{file}:{node.lineno}"
        for file, node, name in calls("subprocess", "asyncio", "os")
        if name in RUNNING | {"system", "popen", "execvp", "posix_spawn", "posix_spawnp"}
        and file not in {"workspace/git.py", "workspace/hardening.py", "workspace/spawn.py"}
        and any(isinstance(part, ast.Constant) and part.value == "git" for part in ast.walk(node))
    ]
    assert offenders == []


def test_only_the_workspace_replaces_files() -> None:
    offenders = [
        f"{file}:{node.lineno}"
        for file, node, name in calls("os", "shutil")
        if name in REPLACING | {"move", "copyfile", "copy", "copy2"} and file not in REPLACERS
    ]
    assert offenders == []
