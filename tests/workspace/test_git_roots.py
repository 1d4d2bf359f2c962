"""The one search for `.git`: the folder itself and those above it, the nearest first."""

import subprocess
import sys
from pathlib import Path

from postil.workspace.git_roots import find_git_roots


def test_every_folder_with_a_git_entry_is_found_the_nearest_first(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "between" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    (inner / ".git").write_text("gitdir: elsewhere")
    roots = [root for root in find_git_roots(str(inner)) if root.startswith(str(tmp_path))]
    assert roots == [str(inner), str(tmp_path / "outer")]
    assert next(find_git_roots(str(inner.parent))) == str(tmp_path / "outer")


def test_a_link_that_leads_nowhere_is_an_entry_too(tmp_path: Path) -> None:
    (tmp_path / ".git").symlink_to("nowhere")
    assert next(find_git_roots(str(tmp_path))) == str(tmp_path)


def test_the_search_ends_at_the_root_of_the_file_system() -> None:
    assert list(find_git_roots("/")) in ([], ["/"])


def test_it_imports_next_to_nothing() -> None:
    code = "import sys; import postil.workspace.git_roots; print(*sorted(sys.modules))"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert {name for name in loaded if name.startswith("postil")} == {
        "postil", "postil.workspace", "postil.workspace.git_roots",
    }  # fmt: skip
    assert loaded & {"msgspec", "subprocess", "re", "typing"} == set()
