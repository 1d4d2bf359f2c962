"""Two rules the linters cannot say: one module runs git, one module replaces files."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "postil"
RUNNING = {"run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec", "create_subprocess_shell"}
REPLACERS = {
    "workspace/files.py",
    "workspace/git_folder.py",  # a copy of a config, made again when it is lost
    "inbox/lazygit/start_check.py",  # copies into a temporary folder of its own
    "storage/sqlite.py",  # publishes a database that it has just made
    "comments/transfer/export.py",  # an export, streamed to where the person says, in no workspace
}
REPLACING = {"rename", "replace", "renames"}


def calls() -> Iterator[tuple[Path, ast.Call, str, str]]:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
                yield file.relative_to(SOURCE), node, owner, node.func.attr


def test_only_the_workspace_runs_git() -> None:
    offenders = [
        f"{file}:{node.lineno}"
        for file, node, owner, name in calls()
        if owner in {"subprocess", "asyncio", "os"}
        and name in RUNNING | {"system", "popen", "execvp", "posix_spawn", "posix_spawnp"}
        and file.as_posix() not in {"workspace/git.py", "workspace/hardening.py", "workspace/spawn.py"}
        and any(isinstance(part, ast.Constant) and part.value == "git" for part in ast.walk(node))
    ]
    assert offenders == []


def test_only_the_workspace_replaces_files() -> None:
    offenders = [
        f"{file}:{node.lineno}"
        for file, node, owner, name in calls()
        if owner in {"os", "shutil"} and name in REPLACING | {"move", "copyfile", "copy", "copy2"}
        and file.as_posix() not in REPLACERS
    ]  # fmt: skip
    assert offenders == []
