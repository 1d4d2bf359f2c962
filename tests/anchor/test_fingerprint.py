"""Finding code again from what a sidecar keeps of it, without the old file."""

import pytest
from msgspec.structs import replace

from postil.anchor.fingerprint import Fingerprint, fingerprint, line_hash, relocate_fingerprints
from postil.anchor.model import Source, Span

pytestmark = pytest.mark.usefixtures("unhurried")

OLD = "".join(f"def f{n}(a):\n    b = a + {n}\n    return b\n\n\n" for n in range(20))


def test_the_hash_is_that_of_the_sidecars() -> None:
    assert line_hash("  function add(a, b) {  ") == line_hash("function add(a, b) {")
    assert line_hash("") == "1db9f36777e9ef0b"


def test_a_fingerprint_keeps_text_surroundings_and_symbol() -> None:
    found = fingerprint(Source(OLD, "a.py"), Span(12, 13))
    assert (found.text, found.symbol, len(found.before), len(found.after)) == (
        "    b = a + 2\n    return b",
        ("f2",),
        5,
        5,
    )


def test_a_span_is_found_again_after_edits_elsewhere() -> None:
    kept = fingerprint(Source(OLD, "a.py"), Span(12))
    (found,) = relocate_fingerprints([kept], Source("import os\n" * 30 + OLD, "a.py"))
    assert (found.state, found.span) == ("moved", Span(42, 42))


def test_a_repeated_line_is_told_apart_by_its_surroundings() -> None:
    kept = fingerprint(Source(OLD, "a.py"), Span(13))
    (found,) = relocate_fingerprints([kept], Source("import os\n" + OLD, "a.py"))
    assert found.span == Span(14, 14)


def test_a_line_of_which_only_the_hash_was_kept_is_found() -> None:
    kept = Fingerprint(line=3, text="", hash=line_hash("b = a + 7"))
    (found,) = relocate_fingerprints([kept], Source(OLD, "a.py"))
    assert found.span == Span(37, 37)
    assert found.state in ("moved", "review")


def test_what_is_gone_is_not_found() -> None:
    kept = Fingerprint(line=3, text="launch_missiles(now=True)", before=("check()",), after=("wait()",))
    assert relocate_fingerprints([kept], Source(OLD, "a.py"))[0].state == "orphaned"


def test_a_repeated_fragment_that_stands_where_it_was_is_exact() -> None:
    text = "a = 1\nb = 2\n" * 9
    kept = fingerprint(Source(text, "a.txt"), Span(8))
    (found,) = relocate_fingerprints([kept], Source(text + "c = 3\n", "a.txt"))
    assert (found.state, found.span) == ("exact", Span(8, 8))


def test_a_blank_row_between_others_is_in_review() -> None:
    old = OLD + "\nres.end()\n\nres.sendfile = function (path) {\n  return path\n}\n"
    new = OLD + "\nres.begin(2)\nres.end()\n\nres.sendFile = async (name) => {\n  return open(name)\n}\n"
    blank = old.split("\n").index("res.end()") + 2
    (kept,) = relocate_fingerprints([fingerprint(Source(old, "a.js"), Span(blank))], Source(new, "a.js"))
    assert (kept.state, [each.span for each in kept.candidates]) == ("review", [kept.span])
    (same,) = relocate_fingerprints([fingerprint(Source(old, "a.js"), Span(blank))], Source("// first\n" + old, "a.js"))
    assert (same.state, same.span) == ("moved", Span(blank + 1, blank + 1))


SHOP = '''class Reader:
    """Reads orders."""

    def open(self, name):
        self.opened = None
        if isinstance(name, str):
            name = files.open(name, "rb")
            self.opened = name
        try:
            self.read(name)
        except OSError:
            if self.opened:
                name.close()
            raise

    def read(self, file):
        self.orders = parse(file.read())


class Writer:
    """Writes orders."""

    def open(self, name):
        self.opened = None
        if isinstance(name, str):
            name = files.open(name, "wb")
            self.opened = name
        try:
            self.begin(name)
        except OSError:
            if self.opened:
                name.close()
            raise

    def begin(self, file):
        self.file = file
        self.written = 0
        self.count = 0

    def write(self, order):
        self.file.write(order.encode())
        self.written += 1
        self.count += len(order.lines)
        self.last = order


def total(orders):
    found = [order.price for order in orders]
    return sum(found)
'''
SHOP_ROWS = SHOP.split("\n")


def keep(line: int, new: str) -> Fingerprint:
    """What a sidecar keeps of a line: in a clone of depth 1, 25 rows more on each side as far as they are there."""
    now, kept = set(new.split("\n")), fingerprint(Source(SHOP, "a.py"), Span(line))
    above, below = SHOP_ROWS[max(0, line - 31) : max(0, line - 6)], SHOP_ROWS[line + 5 : line + 30]
    far = [tuple(row if row in now else "" for row in rows) for rows in (above, below)]
    return replace(kept, before=(*far[0], *kept.before), after=(*kept.after, *far[1]))


def find_all(new: str, lines: range) -> list[tuple[int, str, int]]:
    """Returns each line that says something, its state and its place."""
    asked = [line for line in lines if len(SHOP_ROWS[line - 1]) > 5]
    found = relocate_fingerprints([keep(line, new) for line in asked], Source(new, "a.py"))
    return [(line, each.state, each.span.start if each.span else 0) for line, each in zip(asked, found, strict=True)]


WRITE = SHOP_ROWS.index("    def write(self, order):")


@pytest.mark.parametrize("is_above", [True, False])
def test_a_piece_of_a_function_that_was_copied_stays_in_its_function(is_above: bool) -> None:
    body = SHOP_ROWS[WRITE : WRITE + 5]
    copy = [body[0].replace("write", "rewrite"), *body[1:]]
    rows = [*copy, "", *body] if is_above else [*body, "", *copy]
    new = "\n".join([*SHOP_ROWS[:WRITE], *rows, *SHOP_ROWS[WRITE + 5 :]])
    shift = len(copy) + 1 if is_above else 0
    found = find_all(new, range(WRITE + 1, WRITE + 6))
    assert [(line, place) for line, state, place in found if state != "review" and place != line + shift] == []
    assert sum(state == "review" for _, state, _ in found) <= 1


def test_a_row_that_its_function_lost_is_not_silently_taken_to_a_copy_of_that() -> None:
    body = SHOP_ROWS[WRITE : WRITE + 5]
    copy = [body[0].replace("write", "rewrite"), *body[1:]]
    new = "\n".join([*SHOP_ROWS[:WRITE], *body[:2], *body[3:], "", *copy, *SHOP_ROWS[WRITE + 5 :]])
    ((_, state, _),) = find_all(new, range(WRITE + 3, WRITE + 4))
    assert state in ("review", "orphaned")


def test_an_edited_row_among_edited_ones_is_where_the_rows_around_them_say() -> None:
    new = SHOP.replace("self.written += 1", "self.written = self.written + len(order)")
    new = new.replace("self.count += len(order.lines)", "self.lines += order.count_lines()")
    assert find_all(new, range(WRITE + 3, WRITE + 4)) == [(WRITE + 3, "modified", WRITE + 3)]
