"""Code that moved to another file is found there; code that was only copied there stays where it is."""

from postil.anchor.model import Source, Span
from postil.anchor.other_files import OtherFiles
from postil.anchor.relocate import relocate_all


def function(name: str, unit: str) -> str:
    return f"""def {name}(orders, {unit}_rate):
    total = 0
    for order in orders:
        if order.{unit} > {unit}_rate:
            total += order.{unit} * order.count
            order.note("{unit} applied")
    return round(total, 2)


"""


NAMES = ["price", "weight", "volume", "length", "power"]
OLD = "import math\n\n\n" + "".join(function(f"sum_{name}", name) for name in NAMES)
WITHOUT = OLD.replace(function("sum_volume", "volume"), "")
OTHER = "import json\n\n\n" + function("read_speed", "speed") + function("sum_volume", "volume")
LINE = OLD.split("\n").index("        if order.volume > volume_rate:") + 1
THERE = OTHER.split("\n").index("        if order.volume > volume_rate:") + 1
FILES = [Source(function(f"x_{n}", f"thing{n}") * 3, f"noise{n}.py") for n in range(20)] + [Source(OTHER, "other.py")]


def test_a_function_that_moved_to_another_file_is_found_there() -> None:
    (found,) = relocate_all(Source(OLD, "old.py"), Source(WITHOUT, "old.py"), [Span(LINE)], FILES)
    assert (found.state, found.path, found.span) == ("moved", "other.py", Span(THERE, THERE))
    assert "other.py" in found.reason


def test_a_moved_function_is_found_though_it_was_edited() -> None:
    edited = OTHER.replace(
        "    total = 0\n    for order in orders:\n        if order.volume",
        "    total = 1\n    for order in orders:\n        if order.volume",
    )
    (found,) = relocate_all(
        Source(OLD, "old.py"), Source(WITHOUT, "old.py"), [Span(LINE)], [Source(edited, "other.py")]
    )
    assert (found.path, found.span) == ("other.py", Span(THERE, THERE))


def test_a_deleted_file_leaves_its_code_to_be_found_elsewhere() -> None:
    (found,) = relocate_all(Source(OLD, "old.py"), Source("", "old.py"), [Span(LINE)], OtherFiles(FILES))
    assert (found.path, found.span) == ("other.py", Span(THERE, THERE))


def test_code_that_was_only_copied_stays_where_it_is() -> None:
    (found,) = relocate_all(Source(OLD, "old.py"), Source("# new\n" + OLD, "old.py"), [Span(LINE)], FILES)
    assert (found.state, found.path, found.span) == ("moved", "", Span(LINE + 1, LINE + 1))


def test_what_is_in_no_file_is_orphaned() -> None:
    (found,) = relocate_all(Source(OLD, "old.py"), Source("", "old.py"), [Span(LINE)], FILES[:20])
    assert found.state in ("orphaned", "review")
    assert found.path == "" or found.state == "review"


def test_a_file_without_a_path_is_not_looked_at_and_of_two_of_one_path_the_last_one_is() -> None:
    old, now = Source(OLD, "old.py"), Source(WITHOUT, "old.py")
    (found,) = relocate_all(old, now, [Span(LINE, LINE + 1)], [Source("# head\n" * 500 + OTHER)])
    assert (found.state, found.path) == ("orphaned", "")
    (found,) = relocate_all(
        old, now, [Span(LINE)], [Source("# head\n" * 500 + OTHER, "other.py"), Source(OTHER, "other.py")]
    )
    assert (found.path, found.span) == ("other.py", Span(THERE, THERE))
