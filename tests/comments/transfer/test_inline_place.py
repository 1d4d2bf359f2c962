"""A line with a comment never stands inside a string, another comment or a continued line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from postil.comments.transfer.inline_place import CommentLines
from tests.comments.workspaces import workspace

PYTHON = '''#!/usr/bin/env python3
def run(state):
    """Do it.

    At once.
    """
    query = f"""select {state}
        from t
    """
    return query + \\
        state
'''


@pytest.mark.parametrize(
    ("path", "text", "elsewhere"),
    [
        ("a.py", PYTHON, {1: 2, 4: 3, 5: 3, 6: 3, 8: 7, 9: 7, 11: 10}),
        ("a.js", "/**\n * doc\n */\nconst a = `x\n y ${f(\n  1)}\n`;\n", {2: 1, 3: 1, 5: 4, 6: 4, 7: 4}),
        ("a.tsx", "const b = (\n  <div>\n    {c}\n    text\n  </div>\n);\n", {3: 2, 4: 2, 5: 2}),
        ("a.sh", "cat <<EOF\none\ntwo\nEOF\nfoo \\\n  bar\n", {2: 1, 3: 1, 4: 1, 6: 5}),
        ("a.rb", "x = <<~SQL\n  select 1\n  from t\nSQL\nputs x\n", {2: 1, 3: 1, 4: 1}),
        ("a.yaml", "a: |\n  one\n  two\nb:\n  - 1\n", {2: 1, 3: 1}),
        ("a.go", "package a\n\nvar x = `one\ntwo\n`\n", {4: 3, 5: 3}),
        ("a.c", "#define A(x) \\\n  f(x); \\\n  g(x)\nint b;\n", {2: 1, 3: 1}),
        ("a.java", 'class A {\n  String s = """\n    x\n    """;\n  int b;\n}\n', {3: 2, 4: 2}),
        ("a.md", "# T\n\none\ntwo\n\n```py\nx = 1\n```\n", {7: 6, 8: 6}),
        ("a.html", "<!DOCTYPE html>\n<p>one\ntwo</p>\n<script>\na = 1;\n</script>\n", {1: 2, 5: 4, 6: 4}),
        ("a.php", "<?php\n$x = <<<EOT\none\nEOT;\necho $x;\n", {1: 2, 3: 2, 4: 2}),
        ("a.unknown", "one \\\ntwo \\\\\nthree\n", {2: 1}),
    ],
)
def test_a_comment_stands_above_what_its_line_is_part_of(path: str, text: str, elsewhere: dict[int, int]) -> None:
    places = CommentLines(path, text)
    found = {line: places.above(line) for line in range(1, text.count("\n") + 1)}
    assert {line: above for line, above in found.items() if line != above} == elsewhere


def test_a_large_file_is_read_as_well() -> None:
    text = "".join(f"value_{number} = {number}\n" for number in range(8000)) + 'last = """one\ntwo\n"""\n'
    assert CommentLines("a.py", text).above(8002) == 8001


def test_strings_stay_what_they_are_and_nothing_is_written_or_read_twice(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": PYTHON})
    for line in range(1, 12):
        comments.add("a.py", line, f"about line {line}", "NOTE")
    done = comments.transfer.write_inline("a.py")
    assert (done.written, done.above) == (11, 6)
    assert "11 comments written into a.py, 6 of them above" in done.for_model()
    written = (tmp_path / "a.py").read_text()
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(PYTHON))
    assert written.startswith("#!/usr/bin/env python3\n")
    assert written.count("@paired") == 11
    assert comments.transfer.write_inline("a.py").written == 0
    taken = comments.transfer.import_files(("a.py",), remove=True)
    assert (len(taken.added), taken.skipped) == (0, 11)
    assert (tmp_path / "a.py").read_text() == PYTHON
