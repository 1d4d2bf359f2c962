"""Code that went to another file takes its comments along; a copy does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.anchoring.moved_files import find_other_files
from postil.workspace.paths import RelativePath
from tests.comments.shop import CODE, add_at, line_of
from tests.comments.sidecars import extension_accepts
from tests.comments.workspaces import Comments, commit, root_of, sidecar, workspace, write
from tests.workspace.repositories import git


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE})


def test_a_function_moved_to_another_file_takes_its_comment_along(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    begin, end = CODE.index("def gross"), CODE.index("class Basket")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    moved = '"""Taxes."""\n\nRATE = 0.19\n\n\n' + CODE[begin:end]
    write(root, "tax.py", moved)
    commit(root, "split")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line) == ("tax.py", line_of(moved, "taxed = "))
    (step,) = comments.relocate().moved
    assert (step.source, step.target) == ("shop.py", "tax.py")
    assert [each.id for each in comments.file_comments("tax.py").comments] == [identity]
    assert comments.file_comments("shop.py").comments == ()
    assert extension_accepts(sidecar(root, "tax.py"))
    undone = comments.undo(identity)
    assert (undone.targetFile, undone.targetLine) == ("shop.py", line_of(CODE, "taxed = "))
    assert [each.id for each in comments.file_comments("shop.py").comments] == [identity]


def test_a_renamed_file_whose_sidecar_stayed_behind_is_found(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "def total")
    commit(root, "commented")
    git(root, "mv", "shop.py", "store.py")
    commit(root, "renamed")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line) == ("store.py", line_of(CODE, "def total"))
    comments.relocate()
    assert [each.id for each in comments.file_comments("store.py").comments] == [identity]


def test_copied_code_does_not_take_the_comment_away(comments: Comments) -> None:
    add_at(comments, "taxed = ")
    begin, end = CODE.index("def gross"), CODE.index("class Basket")
    write(root_of(comments), "shop.py", CODE + "\n\n" + CODE[begin:end].replace("gross", "gross_again"))
    (found,) = comments.file_comments("shop.py").comments
    assert (found.state, found.line) == ("exact", line_of(CODE, "taxed = "))


def cloned_shallowly(comments: Comments, folder: Path) -> Comments:
    commit(root_of(comments), "and on")
    git(folder, "clone", "-q", "--depth", "1", f"file://{root_of(comments)}", "shallow")
    return Comments(str(folder / "shallow"))


def test_a_renamed_file_is_found_in_a_clone_without_history(tmp_path: Path) -> None:
    comments = workspace(tmp_path / "work", **{"shop.py": CODE, "other.py": "import os\n"})
    identity = add_at(comments, "taxed = ")
    commit(root_of(comments), "commented")
    (tmp_path / "work" / "shop.py").rename(tmp_path / "work" / "market.py")
    place = cloned_shallowly(comments, tmp_path).show(identity).comment
    assert (place.state, place.movedTo, place.line) == ("moved", "market.py", line_of(CODE, "taxed = "))


def test_a_deleted_file_is_gone_in_a_clone_without_history_though_a_few_of_its_lines_stand_elsewhere(
    tmp_path: Path,
) -> None:
    comments = workspace(tmp_path / "work", **{"shop.py": CODE, "other.py": "import os\n"})
    identity = add_at(comments, "taxed = ")
    commit(root_of(comments), "commented")
    (tmp_path / "work" / "shop.py").unlink()
    line = next(each for each in CODE.split("\n") if "taxed = " in each)
    write(tmp_path / "work", "other.py", f"import os\n\n\ndef other(price):\n{line}\n    return taxed\n")
    assert cloned_shallowly(comments, tmp_path).show(identity).comment.state == "orphaned"


@pytest.mark.parametrize("became", [("two",), ("two", "three")])
def test_a_file_whose_lines_two_files_got_became_neither_of_them(comments: Comments, became: tuple[str, ...]) -> None:
    root = root_of(comments)
    write(root, "one/setup.py", setup("one"))
    comments.add("one/setup.py", 13, "why?", "NOTE")
    commit(root, "commented")
    lost = comments.overview.reader.file(RelativePath("one/setup.py"))
    (root / "one" / "setup.py").unlink()
    for name in became:
        write(root, f"{name}/setup.py", setup(name))
    commit(root, "other examples")
    found = find_other_files(comments.tree, lost, comments.overview.reader.versions)["one/setup.py"]
    assert {each.path: each.renamed for each in found} == {f"{name}/setup.py": len(became) == 1 for name in became}


SHARED = "".join(f"shared_setting_{n} = {n}\n" for n in range(8))


def setup(name: str) -> str:
    """Returns a file that is like its neighbours in other folders in ten lines, two of which stand together."""
    own = "".join(f"{name}_{n} = value_of_{name}({n})\n" for n in range(12))
    return f"{own}include_package_data = True\ninstall_requires = ['flask']\n{own}{SHARED}"


def test_a_file_of_a_family_became_the_one_of_its_name(tmp_path: Path) -> None:
    def code(verb: str, *more: str) -> str:
        begin = f"def check_{verb}(client):\n    reply = client.send('{verb}', body=SMALL_BODY)\n"
        common = [f"    assert reply.header_{letter} == EXPECTED[{letter!r}]\n" for letter in "abcdefgh"]
        return begin + "".join((*common, *(f"    {row}\n" for row in more)))

    family = {verb: code(verb) for verb in ("copy", "lock", "move", "unlock", "trace", "search", "report")}
    comments = workspace(tmp_path, **{f"{verb}_case.py": text for verb, text in family.items()})
    identity = comments.add("copy_case.py", line_of(family["copy"], "EXPECTED['c']"), "look here", "NOTE").commentId
    commit(tmp_path, "commented")
    for verb, text in family.items():
        (tmp_path / f"{verb}_case.py").unlink()
        write(tmp_path, f"verbs/{verb}_case.py", text)
    changed = family["copy"].replace("check_copy(client)", "check_copy(client, server)")
    for letter in "afgh":
        changed = changed.replace(f"reply.header_{letter} ==", f"reply[{letter!r}] ==")
    write(tmp_path, "verbs/copy_case.py", changed)
    commit(tmp_path, "verbs have a folder")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line) == ("verbs/copy_case.py", line_of(changed, "EXPECTED['c']"))


LICENCE = (
    "/*\n * Copyright (c) 2009, the authors. All rights reserved.\n * Use of it is governed by a licence.\n */\n\n"
)


def header(*names: str, licence: str = LICENCE) -> str:
    return f"{licence}#include <Python.h>\n\n" + "".join(f"PyObject *{name}(PyObject *args);\n" for name in names)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (header("cpu_count", "swap_mem", "virtual_mem", licence="// Another licence\n"), header("swap_mem")),
        (header("swap_mem", "virtual_mem", "users", licence="// Another licence\n"), header("swap_mem", "virtual_mem")),
    ],
)
def test_a_header_became_none_of_its_name_while_its_own_folder_has_its_lines(
    tmp_path: Path, here: str, there: str
) -> None:
    old = header("virtual_mem", "swap_mem")
    comments = workspace(tmp_path, **{"netbsd/mem.h": old})
    lines = (line_of(old, "Use of it"), line_of(old, "swap_mem"))
    identities = [comments.add("netbsd/mem.h", line, "why?", "NOTE").commentId for line in lines]
    commit(tmp_path, "commented")
    (tmp_path / "netbsd" / "mem.h").unlink()
    write(tmp_path, "netbsd/init.h", here)
    write(tmp_path, "sunos/mem.h", there)
    commit(tmp_path, "one header a folder")
    assert "sunos/mem.h" not in [comments.show(identity).comment.movedTo for identity in identities]


def test_of_files_that_got_as_many_lines_those_of_its_own_folder_are_looked_at_first(tmp_path: Path) -> None:
    old = header("virtual_mem", "swap_mem", "cpu_count")
    comments = workspace(tmp_path, **{"net/mem.h": old})
    comments.add("net/mem.h", line_of(old, "swap_mem"), "why?", "NOTE")
    commit(tmp_path, "commented")
    lost = comments.overview.reader.file(RelativePath("net/mem.h"))
    (tmp_path / "net" / "mem.h").unlink()
    for folder in ("aix", "bsd", "free", "linux", "net", "open", "osx", "windows"):
        write(tmp_path, f"{folder}/all.h", header("virtual_mem", "swap_mem", "cpu_count", f"of_{folder}"))
    commit(tmp_path, "one header a folder")
    found = find_other_files(comments.tree, lost, comments.overview.reader.versions)["net/mem.h"]
    assert found[0].path == "net/all.h"


def test_the_code_of_a_file_that_was_split_into_many_is_found_in_each_of_them(tmp_path: Path) -> None:
    """Those that got most lines of all were looked at, and not the ones that got the few around one comment."""
    parts = {
        f"part{number}.py": "".join(
            f"def {letter}_{number}_{each}(shelf):\n    found = shelf.{letter}{each}('{number} times')\n"
            f"    note_that_{letter}{each}(found, {number})\n    return count_{letter}{each}(found, by={number})\n\n\n"
            for letter in "abcdefghij"
            for each in range(1 + (number < 6) * 3)
        )
        for number in range(12)
    }
    comments = workspace(tmp_path, **{"whole.py": "".join(parts.values())})
    whole = (tmp_path / "whole.py").read_text()
    wanted: dict[str, tuple[str, int]] = {}
    for path, text in parts.items():
        for letter in "bei":
            row = next(each for each in text.split("\n") if f"note_that_{letter}0" in each)
            wanted[comments.add("whole.py", line_of(whole, row), "here", "NOTE").commentId] = path, line_of(text, row)
    commit(tmp_path, "commented")
    (tmp_path / "whole.py").unlink()
    for path, text in parts.items():
        write(tmp_path, path, text)
    commit(tmp_path, "split")
    found = {each.id: (each.movedTo, each.line) for each in comments.listed().comments if each.state == "moved"}
    assert found == wanted


BUNDLED = """var names = Object.getOwnPropertyNames;
var define = (to, name, get) => Object.defineProperty(to, name, { get, enumerable: true });
var share = (to, from) => {
  for (let key of names(from))
    if (key !== "default")
      define(to, key, () => from[key]);
  return to;
};
var %s_exports = {};
module.exports = share(%s_exports, require("./%s"));
// Names for other programs:
0 && (module.exports = {
  handle
});
"""
SET_UP = """import shop


class Test%s:
    def setup_method(self):
        @shop.task
        def add(first, second):
            return first + second

        self.add = add

    def test_%s(self):
        assert shop.%s(self.add) == "%s"
"""


@pytest.mark.parametrize("edited", [False, True])
def test_what_a_bundler_writes_into_every_file_is_no_code_that_went_from_one_to_another(
    tmp_path: Path, edited: bool
) -> None:
    names = ("near", "edge", "node", "deno", "bun", "wasm", "page")
    files = {f"{name}/index.js": BUNDLED % (name, name, name) for name in names}
    comments = workspace(tmp_path, **files)
    root, text = root_of(comments), files["near/index.js"]
    lines = [line_of(text, part) for part in ("return to;", "0 && (", "});")]
    identities = [comments.add("near/index.js", line, "Who reads it?", "QUESTION").commentId for line in lines]
    commit(root, "commented")
    (root / "near" / "index.js").unlink()
    for name in names[1:] if edited else ():  # so they got lines, too, and are likelier by what they hold
        write(root, f"{name}/index.js", files[f"{name}/index.js"] + f"// {name}, written anew\n")
    write(root, "zone/index.js", BUNDLED % ("zone", "zone", "zone"))
    commit(root, "one part less, and another one")
    assert [comments.show(each).comment.state for each in identities] == ["orphaned"] * len(lines)


def test_a_helper_that_many_tests_set_up_did_not_go_from_a_deleted_one_to_a_new_one(tmp_path: Path) -> None:
    names = ("Cart", "Till", "Shelf", "Price")
    files = {f"tests/test_{each.lower()}.py": SET_UP % (each, each, each, each) for each in names}
    comments = workspace(tmp_path, **files)
    root, text = root_of(comments), files["tests/test_cart.py"]
    lines = [line_of(text, part) for part in ("def add", "return first", "self.add = add")]
    identities = [comments.add("tests/test_cart.py", line, "Why add?", "QUESTION").commentId for line in lines]
    commit(root, "commented")
    (root / "tests" / "test_cart.py").unlink()
    write(root, "units/test_stamp.py", SET_UP % (("Stamp",) * 4))
    commit(root, "one test less, and another one")
    assert [comments.show(each).comment.state for each in identities] == ["orphaned"] * len(lines)


def test_code_of_which_one_copy_stays_went_to_another_file_all_the_same(tmp_path: Path) -> None:
    begin, end = CODE.index("def gross"), CODE.index("class Basket")
    comments = workspace(tmp_path, **{"shop.py": CODE, "till.py": "import os\n\n\n" + CODE[begin:end]})
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "shop.py", CODE[:begin] + CODE[end:])
    write(root, "tax.py", '"""Taxes."""\n\n\n' + CODE[begin:end])
    commit(root, "split")
    assert comments.show(identity).comment.movedTo == "tax.py"
