"""Code goes to another file only when something came along with it."""

from __future__ import annotations

import pytest

from postil.anchor.model import Source
from postil.anchor.page import Page
from postil.anchor.travelled import Travelled
from tests.anchor.stock import EDITED, LOAD, STOCK

OLD = """import os


def gross(price, rate):
    taxed = price * (1 + rate)
    check_currency(taxed)
    return round_to_cents(taxed)


def net(price):
    return price
"""
KEPT = """import os


def net(price):
    return price
"""
MOVED = """import os

RATE = 0.19


def gross(price, rate):
    taxed = price * (1 + rate)
    check_currency(taxed)
    return round_to_cents(taxed)
"""


def travelled(other: str, before: str = "", now: str = KEPT) -> Travelled:
    held = {"".join(row.split()) for row in before.split("\n")}
    return Travelled(
        Page(Source(OLD, "a.py")), Page(Source(now, "a.py")), Page(Source(other, "b.py")), lambda key: key in held
    )


def row_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n")


def test_a_function_that_left_one_file_and_is_new_in_another_travelled() -> None:
    assert travelled(MOVED).judge(row_of(OLD, "taxed ="), row_of(MOVED, "taxed =")) == "moved"


def test_what_cannot_have_come_is_said_to_be_nowhere_in_the_other_file() -> None:
    for other, before in ((MOVED, ""), (MOVED, OLD), (KEPT, ""), (OLD, ""), ("def fee():\n    return 1\n", "")):
        judge = travelled(other, before)
        for row in range(len(judge.old)):
            if not judge.may_have_come(row):
                assert {judge.judge(row, at) for at in range(len(judge.other))} == {""}
    assert travelled(MOVED).may_have_come(row_of(OLD, "taxed ="))


def test_a_line_that_is_alike_elsewhere_proves_nothing() -> None:
    other = "def fee(price, rate):\n    taxed = price * (1 + rate)\n    return taxed\n"
    assert travelled(other).judge(row_of(OLD, "taxed ="), 1) == ""


def test_what_the_other_file_held_before_is_a_copy() -> None:
    assert travelled(MOVED, before=MOVED).judge(row_of(OLD, "taxed ="), row_of(MOVED, "taxed =")) == ""


def test_what_stayed_in_its_file_did_not_travel() -> None:
    assert travelled(MOVED, now=OLD).judge(row_of(OLD, "taxed ="), row_of(MOVED, "taxed =")) == ""


def test_an_import_goes_along_only_with_a_renamed_file() -> None:
    found = travelled(MOVED)
    assert found.judge(0, 0) != "moved"
    assert found.judge(0, 0, renamed=True) != "review"


@pytest.mark.parametrize(
    ("path", "imports"),
    [
        ("a.go", 'import (\n\t"path/filepath"\n\t"encoding/json"\n\t"example.org/system"\n)\n'),
        ("a.ts", "import {\n  type EstimatedGas,\n  type ParametersOfGas,\n  estimateGas,\n} from './gas.js'\n"),
        ("a.ts", "export {\n  type EstimatedGas,\n  type ParametersOfGas,\n  estimateGas,\n} from './gas.js'\n"),
        ("a.py", "from shop.prices import (\n    gross_price,\n    rounded_price,\n    currencies,\n)\n"),
        ("a.rs", "use crate::{\n    prices::gross,\n    prices::rounded,\n    currencies::all,\n};\n"),
        ("a.rs", "use prices::gross;\nuse prices::rounded;\npub(crate) use currencies::all;\nuse std::fmt::Debug;\n"),
    ],
)
def test_imports_prove_nothing_in_lists_either(path: str, imports: str) -> None:
    old, other = Page(Source(imports + KEPT, path)), Page(Source(imports + "other = 1\n", f"b{path}"))
    found = Travelled(old, Page(Source(KEPT, path)), other, lambda _: False)
    assert {found.judge(row, row) for row in range(4)} == {""}


def test_code_that_begins_like_an_import_is_code() -> None:
    rows = "important = weigh(1)\nfromage = cheese(2)\nrequired = fill(3)\npackages = pack(4)\n"
    pages = Page(Source(rows, "a.py")), Page(Source("", "a.py")), Page(Source(f"import os\n\n{rows}", "b.py"))
    found = Travelled(*pages, lambda _: False)
    assert {found.judge(row, row + 2) for row in range(4)} == {"moved"}


def test_the_words_of_a_function_go_along_with_it() -> None:
    words = '    """The price with the tax of a country.\n\n    Rounded as people pay it.\n    """\n'
    remark = "# What people pay in the end.\n"
    with_words = [
        text.replace("def gross(price, rate):\n", f"{remark}def gross(price, rate):\n{words}") for text in (OLD, MOVED)
    ]
    old, moved = with_words
    pages = Page(Source(old, "a.py")), Page(Source(KEPT, "a.py")), Page(Source(moved, "b.py"))
    found = Travelled(*pages, lambda key: False)
    for part in ('"""The price', "Rounded", '    """\n    taxed', remark):
        assert found.judge(row_of(old, part), row_of(moved, part)) == "moved", part
    assert found.judge(row_of(old, "import os"), row_of(moved, "import os")) != "moved"


def test_words_that_are_alike_in_another_function_do_not_travel() -> None:
    words = '    """The price with the tax of a country."""\n'
    old = OLD.replace("rate):\n", f"rate):\n{words}")
    other = MOVED.replace("rate):\n", f"rate):\n{words}").replace("def gross", "def fee")
    pages = Page(Source(old, "a.py")), Page(Source(KEPT, "a.py")), Page(Source(other, "b.py"))
    row, at = row_of(old, words), row_of(other, words)
    assert Travelled(*pages, lambda key: False).judge(row, at) != "moved"


def test_a_decorator_goes_to_no_function_for_its_name() -> None:
    old = OLD.replace("def gross", "@app.route('/')\ndef gross")
    other = MOVED.replace("def gross", "@app.route('/')\ndef gross")
    pages = Page(Source(old, "a.py")), Page(Source(KEPT, "a.py")), Page(Source(other, "b.py"))
    found = Travelled(*pages, lambda key: False)
    assert found.judge(row_of(old, "@app"), row_of(other, "@app")) == "review"
    assert found.judge(row_of(old, "@app"), row_of(other, "@app"), renamed=True) == "moved"


def test_a_short_function_travels_by_its_name() -> None:
    other = "def fee():\n    return 1\n\n\ndef gross(price, rate):\n    return round_to_cents(taxed)\n"
    assert travelled(other).judge(row_of(OLD, "return round"), 5) == "moved"


def test_a_row_that_came_alone_is_no_proof_though_its_function_has_the_same_name() -> None:
    other = "def gross(price, rate):\n    return price.with_tax(rate)\n"
    assert travelled(other).judge(3, 0) == ""
    assert travelled(other).judge(3, 0, renamed=True) == ""
    came_along = "def gross(price, rate):\n    taxed = price * (1 + rate)\n    return taxed\n"
    assert travelled(came_along).judge(3, 0) == "moved"


BUILDER = """class Builder:
    def __init__(self, poetry, environment, output):
        self._poetry = poetry
        self._environment = environment
        self._output = output
"""


def test_parameters_that_an_object_keeps_prove_little() -> None:
    old = BUILDER + "\n    def build(self):\n        return self._poetry.build_everything(self._environment)\n"
    other = BUILDER.replace("class Builder", "class EditableBuilder(Tool)") + "\n    def build(self):\n        pass\n"
    pages = Page(Source(old, "a.py")), Page(Source("", "a.py")), Page(Source(other, "b.py"))
    found = Travelled(*pages, lambda key: False)
    assert found.judge(row_of(old, "self._environment = "), row_of(other, "self._environment = ")) != "moved"
    assert found.judge(row_of(old, "def build"), row_of(other, "def build")) != "moved"


def test_parameters_that_an_object_keeps_travel_with_its_class() -> None:
    other = "import os\n\n\n" + BUILDER
    pages = Page(Source(BUILDER, "a.py")), Page(Source("", "a.py")), Page(Source(other, "b.py"))
    found = Travelled(*pages, lambda key: False)
    assert found.judge(row_of(BUILDER, "self._output = "), row_of(other, "self._output = ")) == "moved"


def judge_stock(now: str, other: str, part: str = "read_item(", old: str = STOCK) -> str:
    before, after, there = Page(Source(old, "a.py")), Page(Source(now, "a.py")), Page(Source(other, "b.py"))
    return Travelled(before, after, there, lambda _: False).judge(row_of(old, part), row_of(other, part))


def test_a_class_that_was_copied_and_edited_where_it_was_did_not_travel() -> None:
    assert judge_stock(STOCK.replace(LOAD, EDITED), "import json\n\n\n" + STOCK) == "review"


def test_a_method_that_was_copied_and_edited_where_it_was_did_not_travel() -> None:
    now = STOCK.replace(LOAD, EDITED)
    assert judge_stock(now, "class Archive:\n" + LOAD) == "review"
    assert judge_stock(now, "class Archive:\n" + LOAD.replace("def load", "def load_archive")) == "review"


def test_a_method_that_was_copied_and_shortened_where_it_was_did_not_travel() -> None:
    shortened = "".join(LOAD.splitlines(keepends=True)[:2] + LOAD.splitlines(keepends=True)[5:])
    assert judge_stock(STOCK.replace(LOAD, shortened), "class Archive:\n" + LOAD) == "review"


def test_a_method_that_is_gone_did_not_travel_with_a_copy_of_its_class() -> None:
    more = STOCK + "".join(f"\n    def show_{n}(self):\n        print_item(self.items[{n}])\n" for n in range(6))
    assert judge_stock(more.replace(LOAD, ""), more, old=more) == "review"


def test_a_method_that_left_its_head_behind_travelled() -> None:
    kept = "    def load(self, folder):\n        return archive.load(self, folder)\n\n"
    assert judge_stock(STOCK.replace(LOAD, kept), "class Archive:\n" + LOAD) == "moved"


def test_rows_that_left_a_function_for_another_travelled() -> None:
    taken = "".join(LOAD.splitlines(keepends=True)[1:5])
    now = STOCK.replace(taken, "        read_everything(self, folder)\n")
    assert judge_stock(now, "def read_everything(self, folder):\n" + taken) == "moved"


def test_a_method_of_the_same_name_is_another_one_while_its_class_is_still_here() -> None:
    old = "class Appear:\n    def dispatch(self, emitter):\n        emitter.receive_event(self.tag, self.name)\n"
    kept = "class Appear:\n    def event_data(self):\n        return make_map()\n"
    there = Page(Source(old.replace("Appear", "Height"), "b.py"))
    for now, verdict in ((kept, "review"), ("def make_map():\n    return {}\n", "moved")):
        judge = Travelled(Page(Source(old, "a.py")), Page(Source(now, "a.py")), there, lambda key: False)
        assert judge.judge(2, 2) == verdict


def test_a_bracket_goes_along_only_with_what_it_closes() -> None:
    """The bracket of a function was taken to that of a block in it."""
    body = "    let total = sum(parts)\n    note(total, places)\n    keep(total, forever)\n"
    old = f"func close() {{\n{body}}}\n"
    other = f"func close() {{\n{body}    if late {{\n        tell(total)\n    }}\n}}\n"
    judge = Travelled(
        Page(Source(old, "a.swift")), Page(Source("", "a.swift")), Page(Source(other, "b.swift")), lambda _: False
    )
    row, rows = old.rstrip().count("\n"), other.split("\n")
    block = rows.index("    }")
    assert judge.judge(row, block) == "review"
    assert judge.judge(row, block, renamed=True) == "review"
    assert judge.judge(row, block + 1) == "moved"


PARTS = [
    f"def {verb}_{thing}(shelf):\n    found = shelf.{verb}('{thing}')\n    note_that_{verb}ed(found, '{thing}')\n"
    f"    return {thing}s_of(found, {verb}=True)\n"
    for verb, thing in (("pick", "apple"), ("wash", "pear"), ("sell", "plum"), ("weigh", "cherry"))
]


def judge_parts(now: str, other: str) -> dict[str, str]:
    """Returns what is said of each row, by its text, where the other file has the same one."""
    old = Page(Source("\n\n".join(PARTS), "a.py"))
    found = Travelled(old, Page(Source(now, "a.py")), Page(Source(other, "b.py")), lambda _: False)
    rows = {row.strip(): number for number, row in enumerate(old.source.text.split("\n")) if row.strip()}
    return {row: found.judge(number, row_of(other, row)) for row, number in rows.items() if row in other}


def test_functions_that_came_in_another_order_travelled() -> None:
    judged = judge_parts("", "import os\n\n\n" + "\n\n".join(reversed(PARTS)))
    assert len(judged) == 16
    assert set(judged.values()) == {"moved"}


def test_functions_that_were_copied_in_another_order_and_edited_where_they_were_did_not_travel() -> None:
    edited = "\n\n".join(PARTS).replace("found", "taken").replace("=True", "=False")
    assert "moved" not in judge_parts(edited, "\n\n".join(reversed(PARTS))).values()


def test_rows_that_came_upside_down_prove_nothing() -> None:
    other = "\n".join(reversed("\n".join(PARTS).split("\n")))
    assert "moved" not in judge_parts("", other).values()


def test_a_short_function_of_a_common_name_proves_no_travel() -> None:
    """A deleted test's two rows `def add(x, y)` were taken to those of a new test; its call to that of another one."""
    old = "class TestResult:\n    def setup(self):\n        def add(x, y):\n            return x + y\n"
    other = old.replace("TestResult", "TestStamps").replace("def setup", "def set_up_stamps")
    pages = Page(Source(old, "a.py")), Page(Source("", "a.py")), Page(Source(other, "b.py"))
    assert {Travelled(*pages, lambda _: False).judge(row, row) for row in (2, 3)} == {"review"}
    old = (
        "class TestRiak:\n    def test_get(self):\n        bucket.get.assert_called('1f')\n\n    def test_set(self):\n"
    )
    other = old.replace("TestRiak", "TestArango").replace(
        "bucket.get.assert_called('1f')", "backend.get.assert_called()"
    )
    pages = Page(Source(old, "a.py")), Page(Source("", "a.py")), Page(Source(other, "b.py"))
    assert Travelled(*pages, lambda _: False).judge(2, 2) != "moved"


def test_what_several_files_hold_is_company_for_what_tells_something_and_proves_nothing_by_itself() -> None:
    """A function of its own name that does what its like do was lost, or what a bundler writes went along."""
    old, other = Page(Source(OLD, "a.py")), Page(Source(MOVED, "b.py"))
    rows = {part: (row_of(OLD, part), row_of(MOVED, part)) for part in ("taxed =", "check_currency", "return round")}
    for told, verdict in (("defgross(price,rate):", "moved"), ("", "")):
        found = Travelled(old, Page(Source(KEPT, "a.py")), other, lambda _: False, lambda key, told=told: key != told)
        assert {found.judge(row, at) for row, at in rows.values()} == {verdict}
        assert {found.may_have_come(row) for row, _ in rows.values()} == {bool(verdict)}
