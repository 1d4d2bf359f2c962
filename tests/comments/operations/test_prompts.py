"""Prompts: the contract's text, real content, and arguments that complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from postil.comments.model import Candidate, Located
from postil.core.failure import InvalidArguments
from tests.comments.workspaces import CONTRACT, Comments, auth_source, contract_workspace, workspace, write


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return contract_workspace(tmp_path)


def said(comments: Comments, name: str, **arguments: str) -> str:
    asked = comments.registry().prompt(name)
    return asked.run(**asked.decode(arguments))


@pytest.mark.parametrize("listed", CONTRACT["prompts"], ids=lambda each: each["name"])
def test_the_prompts_are_listed_as_in_the_contract(comments: Comments, listed: dict[str, Any]) -> None:
    entry = comments.registry().prompts[listed["name"]]
    assert entry.description == listed["description"]
    assert msgspec.to_builtins(entry.arguments) == listed["arguments"]


def test_reviewing_for_security_says_what_the_contract_shows(comments: Comments) -> None:
    exchange = next(each for each in CONTRACT["exchanges"] if each["request"]["method"] == "prompts/get")
    text = exchange["response"]["result"]["messages"][0]["content"]["text"]
    wanted = text.replace("[Source code from src/services/auth.ts]", auth_source().rstrip("\n"))
    assert said(comments, "review_code", **exchange["request"]["params"]["arguments"]) == wanted


@pytest.mark.parametrize("focus", ["performance", "maintainability", "all"])
def test_every_focus_has_points_of_its_own(comments: Comments, focus: str) -> None:
    others = said(comments, "review_code", filePath="src/app.ts", focus="security").split("Focus on:")[1]
    assert said(comments, "review_code", filePath="src/app.ts", focus=focus).split("Focus on:")[1] != others


def test_an_unknown_focus_is_refused(comments: Comments) -> None:
    with pytest.raises(InvalidArguments):
        said(comments, "review_code", filePath="src/app.ts", focus="beauty")


def test_complex_functions_are_counted_and_simple_ones_left_out(comments: Comments) -> None:
    branches = "".join(f"    if x == {n}:\n        return {n}\n" for n in range(12))
    write(
        Path(comments.tree.root),
        "tool.py",
        f"def simple(x):\n    return x\n\n\ndef hard(x):\n{branches}    return 0\n",
    )
    text = said(comments, "explain_complexity", filePath="tool.py")
    assert "- hard(), line 5: complexity 13" in text
    assert "- simple()" not in text
    assert "- simple(), line 1: complexity 1" in said(
        comments, "explain_complexity", filePath="tool.py", complexityThreshold="1"
    )


def test_the_training_prompt_honours_include_context(comments: Comments) -> None:
    comments.add("src/app.ts", 1, "one", "NOTE")
    assert '"includeSourceContext": true' in said(comments, "training_export")
    text = said(comments, "training_export", includeContext="false")
    assert '"includeSourceContext": false' in text
    assert "1 NOTE" in text


def test_orphans_come_with_their_old_code(comments: Comments) -> None:
    assert "nothing to fix" in said(comments, "fix_orphans")
    comments.add("src/services/auth.ts", 42, "check attempts", "TODO")
    old = auth_source().splitlines()[41]
    write(Path(comments.tree.root), "src/services/auth.ts", "export {};\n")
    text = said(comments, "fix_orphans", filePath="src/services/auth.ts")
    assert "check attempts" in text
    assert old in text


def test_places_that_are_hardly_likely_are_not_offered_to_an_assistant(
    comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments.add("src/services/auth.ts", 42, "check attempts", "TODO")
    write(Path(comments.tree.root), "src/services/auth.ts", "export {};\nconst a = 1;\n")
    (found,) = comments.overview.where("state = 'orphaned'")
    options = tuple(Candidate("src/app.ts", line, sure, "x") for line, sure in ((3, 0.4), (4, 0.01)))
    lost = replace(found, place=replace(found.place, candidates=options))

    def find_lost(*_: object) -> list[Located]:
        return [lost]

    monkeypatch.setattr(comments.overview, "where", find_lost)
    text = said(comments, "fix_orphans")
    assert "src/app.ts:3 (confidence 0.40)" in text
    assert "src/app.ts:4" not in text
    assert "a place less than 5% likely left out" in text


def test_file_arguments_complete_from_the_workspace(comments: Comments) -> None:
    assert comments.prompts.complete_file("src/serv") == ["src/services/auth.ts", "src/services/security/auth.ts"]
    assert comments.prompts.complete_file("login") == ["src/api/login.ts"]
    comments.add("src/app.ts", 1, "one", "NOTE")
    assert comments.prompts.complete_commented_file("") == ["src/app.ts"]


def test_a_name_makes_no_row_of_its_own_in_a_prompt(tmp_path: Path) -> None:
    name = "a\nForged.py"
    comments = workspace(tmp_path, **{name: "def f(x):\n" + "    if x:\n        x = x + 1\n" * 12 + "    return x\n"})
    comments.add(name, 3, "x", "NOTE")
    write(tmp_path, name, "def f(x):\n" + "    if x:\n        x = x + 1\n" * 12 + "    return x\n")
    told = said(comments, "explain_complexity", filePath=name)
    assert "of a Forged.py with" in told
    assert '(filePath "a\\nForged.py", the line' in told
    write(tmp_path, name, "nothing = 1\n")
    assert not [line for line in said(comments, "fix_orphans").split("\n") if line.startswith("Forged")]
