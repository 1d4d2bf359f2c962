"""Where rows are expected, from the alignment alone."""

import pytest

from postil.anchor.counterparts import Counterparts
from postil.anchor.model import Source, Span
from postil.anchor.page import Page
from postil.anchor.relocate import relocate

OLD = "".join(f"line_{number} = {number}\n" for number in range(20))


def pages(old: str, new: str) -> tuple[Page, Page]:
    return Page(Source(old)), Page(Source(new))


def test_a_row_without_a_counterpart_is_expected_beside_its_neighbours() -> None:
    known = Counterparts(*pages(OLD, "new = 1\n" + OLD.replace("line_7 = 7", "something quite different")))
    assert known.expect(7) == 8
    assert known.find_settled(3) == 4


def test_nothing_in_common_leaves_a_row_where_it_was() -> None:
    known = Counterparts(*pages(OLD, "x\n" * 3))
    assert known.expect(5) == 5
    assert known.find_settled(5) == -1
    assert Counterparts(*pages("a\nb\n", "x\n"), shift=40).expect(1) == 41


def test_a_fragment_is_settled_at_its_old_place_or_at_the_only_other_one() -> None:
    rows = OLD.splitlines()
    fragment = "\n".join(rows[5:8])
    assert Counterparts(*pages(fragment, OLD), shift=5).find_settled(1) == 6
    assert Counterparts(*pages(fragment, OLD), shift=0).find_settled(1) == 6
    twice = OLD + OLD
    assert Counterparts(*pages(fragment, twice), shift=25).find_settled(1) == 26
    assert Counterparts(*pages(fragment, twice), shift=1).find_settled(1) == -1


def test_without_a_function_the_whole_file_bounds_a_row() -> None:
    known = Counterparts(*pages(OLD, OLD + "x\n"))
    assert known.bound_rows(3, []) == (0, 1 << 30)
    assert known.trace_tokens(3, []) == known.aligned.drift(3)


def test_the_only_row_of_its_kind_is_known_under_the_row_it_was_under() -> None:
    old = "def load(path):\n    lines = read_all(path)\n    return parse(lines)\n"
    new = "def load(path, strict):\n    check(path)\n    lines = read_all(path)\n    return parse(lines, strict)\n"
    known = Counterparts(*pages(old, new))
    assert known.find_single(1, [(0.6, 0)]) == 2
    assert known.find_single(1, [(0.4, 0), (0.3, 1)]) == -1, "what it is under is hardly there"
    assert known.find_single(2, [(0.6, 0)]) == -1, "it was edited"
    assert Counterparts(*pages("a()\npackage main\n", "b()\npackage main\n")).find_single(1, []) == -1
    assert Counterparts(*pages(old, new), shift=3).find_single(1, [(0.6, 0)]) == -1


def test_a_function_is_known_by_its_name_where_it_is_the_only_one() -> None:
    old = Page(Source("class A:\n    def load(self, path):\n        pass\n", "a.py"))

    def find(new: str, row: int) -> int:
        return Counterparts(old, Page(Source(new, "a.py"))).find_namesake(row)

    now = "import os\n\n\nclass A(B):\n    def load(self, path, strict=True):\n        pass\n"
    assert (find(now, 0), find(now, 1), find(now, 2)) == (3, 4, -1)
    assert find(now + "\n    def load(self):\n        pass\n", 1) == -1, "there are two"
    assert find(now.replace("self, path, strict=True", "one_argument_that_has_a_long_name, another_one_too"), 1) == -1
    assert find(now.replace("class A", "class C"), 1) == -1, "of another class"


def define(name: str, body: str) -> str:
    return f"def {name}(value):\n    {body}\n    return value\n\n\n"


def test_a_row_like_many_others_leaves_no_function_that_is_still_there() -> None:
    old = "".join(define(name, "check()") for name in ("one", "two", "three", "four"))
    new = old.replace(define("two", "check()"), "def two(value):\n    pass\n\n\n") + define("five", "check()")
    known = Counterparts(Page(Source(old, "a.py")), Page(Source(new, "a.py")))
    row, place = old.split("\n").index("def two(value):") + 2, new.split("\n").index("def five(value):") + 2
    assert known.leaves_function(row, place, settled=False)
    assert not known.leaves_function(row, row, settled=False)
    renamed = new.replace("def two", "def second")
    assert not Counterparts(Page(Source(old, "a.py")), Page(Source(renamed, "a.py"))).leaves_function(
        row, place, settled=False
    )
    few = Counterparts(Page(Source(define("two", "check()"), "a.py")), Page(Source(new, "a.py")))
    assert few.leaves_function(2, place, settled=False), "in the new version there are many"
    rare = new.replace("return value", "return None", 2)
    assert not Counterparts(Page(Source(define("two", "rare()"), "a.py")), Page(Source(rare, "a.py"))).leaves_function(
        1, place - 1, settled=False
    )


def test_a_row_alike_is_found_in_the_function_of_the_same_name() -> None:
    old = define("area", "width = value * 2") + "last = 1\n"
    copy, edited = define("area_of_box", "width = value * 2"), define("area", "width = value * 3")
    known = Counterparts(Page(Source(old, "a.py")), Page(Source(edited + copy + "last = 1\n", "a.py")))
    likeness, at = known.find_in_function(1, 6)
    assert at == 1
    assert 0.9 < likeness < 1.0
    assert known.find_in_function(1, 1) == (0.0, -1)
    gone = Counterparts(Page(Source(old, "a.py")), Page(Source(copy + "last = 1\n", "a.py")))
    assert gone.find_in_function(1, 1) == (0.0, -1)


def test_of_equal_rows_in_a_function_it_is_the_same_in_order_or_a_person_is_asked() -> None:
    old = (
        "def total(a):\n    if a:\n        return None\n    log(a)\n    if not a:\n        return None\n    return a\n"
    )
    copy = old.replace("total", "grand")
    edited = old.replace("log(a)", "log(a, 1)")
    known = Counterparts(Page(Source(old, "a.py")), Page(Source(copy + edited, "a.py")))
    assert known.find_in_function(2, 2) == (1.0, 9)
    assert known.find_in_function(5, 5) == (1.0, 12)
    more = edited.replace("    return a\n", "    return None\n")
    doubted = Counterparts(Page(Source(old, "a.py")), Page(Source(copy + more, "a.py")))
    likeness, at = doubted.find_in_function(2, 2)
    assert at == 9
    assert 0.6 < likeness < 0.8


HANDLE = """export async function handle<T extends Router>(
): Promise<Response> {
  const create = async () => {
  };
      continue;
    }
"""
HANDLES = """export async function handle<T extends Router>(
): Promise<Response> {
  const onHead = (head: Answer, streams: boolean) => {
        continue;
        continue;
      }
"""
LISTS = """def list_users(page):
    found = load(
        page,
        user,
    )
    return found
"""
ROUTED = f'@route(\n    "/users",\n    cache=True,\n)\n{LISTS}'
CUT = f'    "/users",\n    cache=True,\ndef list_people(page):\n    found = load(\n)\n{LISTS}'


@pytest.mark.parametrize(("path", "old", "line", "new"), [("a.ts", HANDLE, 6, HANDLES), ("a.py", ROUTED, 4, CUT)])
def test_a_bracket_after_an_inner_function_or_above_its_own_leaves_it_only_after_asking(
    path: str, old: str, line: int, new: str
) -> None:
    """A function ended where one in it began, and a decorator is above its own: looking for such brackets failed."""
    assert relocate(old, new, Span(line), path).state == "review"
