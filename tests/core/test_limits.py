"""Nothing is read without a bound, and only regular files are: every read of the tree is looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from postil.core import limits

SOURCE = Path(__file__).parents[2] / "src" / "postil"
ALL = {"read", "readline", "readlines", "read_bytes", "read_text"}
# What is read whole on purpose, each with the reason why its size is known.
KNOWN = {
    "surfaces/page/assets.py": "the script and the stylesheet, files of this package",
    "app.py": "the catalogue, a file of this package",
    "storage/holder.py": "files of /proc",
    "surfaces/shell/ask.py": "a line that a person types",
    "surfaces/setup/init.py": "a line that a person types",
    "comments/operations/review.py": "a line that a person types",
    "tracker/index/disk_group.py": "a temporary file of this process",
    "comments/index/refresh_worker.py": "what the process that started us writes",
}


def list_unbounded() -> Iterator[tuple[str, int]]:
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ALL:
                # Methods of ours that have the same name take arguments, or are called on self.
                owner = node.func.value
                ours = (
                    isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "self"
                )
                if not node.args and not node.keywords and not ours:
                    yield file.relative_to(SOURCE).as_posix(), node.lineno


def test_every_read_has_a_bound_or_a_reason() -> None:
    found = [*list_unbounded()]
    assert [f"{file}:{line}" for file, line in found if file not in KNOWN] == []
    assert {file for file, _ in found} >= set(KNOWN), "a reason is left over"


def test_the_table_is_used_and_none_of_it_is_zero() -> None:
    text = "".join(file.read_text() for file in SOURCE.rglob("*.py"))
    for name, value in vars(limits).items():
        if name.isupper() and name not in ("KIB", "MIB"):
            assert value > 0
            assert f"limits.{name}" in text or f"import {name}" in text, f"nobody asks for {name}"


def test_the_table_is_changed_knowingly() -> None:
    mib = 1 << 20
    assert {name: value for name, value in vars(limits).items() if name.isupper()} == {
        "KIB": 1024, "MIB": mib,
        "FRAME": 4 * mib, "HEAD": 65_536, "HEADS": 8 * mib, "UNSEEN": 16 * mib,
            "PEEKED": 4 * mib, "FORMS": 4 * mib, "BODIES": 48 * mib, "BODIES_OF_ONE": 16 * mib,
            "AT_WORK": 16 * mib, "ON_DISK": 256 * mib, "LARGE": 262_144,
            "ANSWERS": 24 * mib, "ANSWERS_OF_ONE": 16 * mib,
        "WEBHOOK": 2 * mib, "WEBHOOKS": 16 * mib, "WEBHOOKS_OF_ONE": 4 * mib,
        "GITLAB_ANSWER": 32 * mib, "GITLAB_STREAM": 1024 * mib, "VERDICT": mib,
        "FORM": 16_384, "PAGE_FORM": mib, "DOCUMENT": 16 * mib,
        "GIT_OUTPUT": 64 * mib, "GIT_OBJECT": 16 * mib, "GIT_MEMORY": 256 * mib, "GIT_INDEX_MEMORY": 1024 * mib,
            "GIT_ALL_MEMORY": 512 * mib, "GIT_WALK_MEMORY": 2048 * mib,
        "LINES": 500_000, "BACKUP_LINE": 32 * mib, "BACKUP": 16_384 * mib, "IMPORT": 512 * mib,
        "IMPORTED_COMMENTS": 64 * mib, "IMPORTED_TEXTS": 100_000,
        "CONFIG": mib, "REFS": mib, "PACKED_REFS": 512 * mib, "LOGS": 10_000,
        "LOG_SEGMENT": 8 * mib, "LOG_OBJECT": 12 * mib, "LOG_TAIL": 64 * mib, "LOG_SEGMENTS": 100_000,
            "LOG_NAMES": 262_144, "LOG_EVENT": 4 * mib,
        "TEXT": 65_536, "COMMENT": mib, "CHANGED_COMMENT": 2 * mib, "CHANGED_COMMENTS": 40_000, "THREAD": 1_441_792,
            "MERGED": 24 * mib, "TEXTCONV": 2 * mib,
        "HELD": 40 * mib, "HERE": 131_072, "COMMENTS_HERE": 524_288, "LINES_HERE": 10_000,
        "FILE": 16 * mib, "SETTINGS": 262_144, "REPOSITORY_SETTINGS": 16_384,
            "REPOSITORY_FILE": 131_072, "SMALL_FILE": mib, "STANDARD_INPUT": 64 * mib,
    }  # fmt: skip


# Only regular files are opened

READERS = {
    "anchor/syntax/languages.py": "how large this process is, as the kernel says",
    "workspace/disk.py": "the door itself",
    "workspace/clones/sharing.py": "for its rights alone: what we just made, no link, and nobody is waited for",
    "app.py": "the catalogue, a file of this package",
    "flows/app_views.py": "the assets of the views, which are ours",
    "surfaces/page/assets.py": "the script and the stylesheet, files of this package",
    "anchor/syntax/colors.py": "the query of a grammar, a file of its package",
    "secret.py": "the user's own state folder",
    "storage/steady_clock.py": "a file of /proc",
    "storage/holder.py": "files of /proc",
    "workspace/editing/editor.py": "a file in a temporary folder of ours, after the user's own editor",
    "surfaces/http/access_log.py": "the operator's own file, to be added to; waits for no reader of a pipe",
    "surfaces/shell/main.py": "the three standard streams",
    "workspace/paths.py": "opens without blocking, and looks at what it opened",
    "workspace/files.py": "opens without blocking or to lock, and reads nothing of it",
    "wire/transports/stdio.py": "the null device",
    "storage/sqlite.py": "a folder, to make a new entry of it durable",
}
WRITERS = {
    "surfaces/page/running_server.py": "exclusively",
    "tracker/log/new_objects.py": "exclusively",
    "tracker/log/ref_file.py": "exclusively; or appends, waits for nobody, and follows no link",
    "surfaces/page/open_command.py": "a name of ours in the user's own state folder, and no link",
    "secret.py": "exclusively",
    "workspace/clones/sharing.py": "exclusively",
    "workspace/files.py": "exclusively; or a lock, opened for both, which waits for nobody",
    "workspace/git_folder.py": "a name of ours in the user's own cache",
    "storage/sqlite.py": "exclusively",
    "comments/storage/group_commit.py": "exclusively; or a file that a living process of ours holds a lock on",
    "comments/storage/write_log.py": "appends, waits for nobody, and follows no link",
    "comments/search/text_file.py": "opened for both, which waits for nobody, and follows no link",
    "comments/transfer/export.py": "exclusively",
    "inbox/lazygit/start_check.py": "in a temporary folder of ours",
    "inbox/drafting/clipboard.py": "the person's terminal",
    "workspace/editing/editor.py": "in a temporary folder of ours",
    "surfaces/shell/main.py": "the three standard streams",
    "surfaces/shell/run.py": "the null device",
    "workspace/workers/parsing.py": "the null device",
    "comments/index/refresh_worker.py": "the null device",
}


DOORS = (
    "self.read_bytes",
    "self._store.read_bytes",
    "store.read_bytes",
    "reader.store.read_bytes",
    "known.read_text",
)
"""The sidecars' own and the sources', which read through `workspace.files`."""


def list_opens() -> Iterator[tuple[str, str, int]]:
    """Yields the file, how it opens something ("r" or "w") and the line, of every call that opens a file."""
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text()
        if not any(word in text for word in ("open(", "read_text", "read_bytes", "copyfile")):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            rest = " ".join(map(ast.unparse, [*node.args[1:], *node.keywords]))
            name = file.relative_to(SOURCE).as_posix()
            if called in ("os.open", "posix.open"):
                if "O_DIRECTORY" not in rest:
                    yield name, "w" if "O_CREAT" in rest or "O_WRONLY" in rest or "O_RDWR" in rest else "r", node.lineno
            elif called in ("open", "io.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open", "codecs.open"):
                mode = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
                yield name, "w" if set(mode) & set("wxa+") else "r", node.lineno
            elif called.endswith((".copyfile", ".copyfileobj", ".read_text", ".read_bytes")) and called not in DOORS:
                yield name, "r", node.lineno


def test_files_are_opened_through_the_door_or_with_a_reason() -> None:
    opens = [*list_opens()]
    for kind, reasons in (("r", READERS), ("w", WRITERS)):
        found = {(name, line) for name, mode, line in opens if mode == kind}
        assert sorted(f"{name}:{line}" for name, line in found if name not in reasons) == []
        assert {name for name, _ in found} >= set(reasons), "a reason is left over"
