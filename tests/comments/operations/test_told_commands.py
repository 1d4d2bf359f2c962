"""Commands that are told to be copied run nothing of what an id or a name holds."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from postil.comments.operations.views import ViewTools
from postil.core.failure import Failure
from tests.comments.workspaces import commit, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 9))


@pytest.mark.parametrize("evil", ["x; touch pwned", "--all"])
def test_an_id_is_one_word_of_each_command_that_names_it(tmp_path: Path, evil: str) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 2, "x", "NOTE")
    held = json.loads((tmp_path / "a.py.comments").read_text())
    name = held["comments"][0]["id"]
    (tmp_path / "a.py.comments").write_text(json.dumps(held).replace(name, evil))
    commit(tmp_path, "commented")
    said: list[str] = []
    with pytest.raises(Failure) as refused:
        comments.undo(evil)
    said.append(refused.value.advice)
    said.append(str(comments.contract.delete(evil).for_person()))
    commands = [found for text in said for found in re.findall(r"`(postil [^`]*)`", text)]
    assert len(commands) == 2
    for command in commands:
        assert shlex.split(command)[3:] in ([evil], ["--", evil])


def test_a_folder_is_one_word_of_the_command_that_lists_it(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    write(tmp_path, "x; touch pwned/b.py", CODE)
    with pytest.raises(Failure, match="is a folder") as refused:
        ViewTools(comments.context).view("x; touch pwned")
    assert "`postil comments list 'x; touch pwned'`" in refused.value.advice
