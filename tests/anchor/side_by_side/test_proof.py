"""What proves where a row is that says little by itself, of a piece of a file."""

import pytest

from postil.anchor.fingerprint import fingerprint, relocate_fingerprints
from postil.anchor.model import Relocation, Source, Span
from postil.anchor.page import Page
from postil.anchor.side_by_side.proof import Proof

pytestmark = pytest.mark.usefixtures("unhurried")

POOL = """function run(pool, conn) {
    conn.on('end', () => {
        if (pool.busy) {
            pool.wait(conn);
        } else {
            pool.next();
        }
    });

    pool.list.push(conn);
    return conn;
}
"""
INSERTED = """            if (pool.idle) {
                pool.emit("clear");
            }
"""
IMPORTS = """from peewee import SENTINEL
from peewee import __exception_wrapper__

try:
    from psycopg2cffi import compat
    compat.register()
except ImportError:
    pass

from psycopg2.extras import register_hstore
try:
    from psycopg2.extras import Json
except:
    Json = None


logger = logging.getLogger('peewee')
"""
SECOND = """try:
    from psycopg2.extras import register_hstore
except ImportError:
    def register_hstore(c, globally):
        pass
"""
HOOKS = """useMemo,
useReducer,
useRef,
useState,
useTransition
"""


def find(old: str, new: str, line: int, path: str) -> Relocation:
    (found,) = relocate_fingerprints([fingerprint(Source(old, path), Span(line))], Source(new, path))
    return found


@pytest.mark.parametrize("trimmed", [True, False])
def test_a_bracket_is_not_that_of_a_block_that_was_inserted_before_it(trimmed: bool) -> None:
    kept = fingerprint(Source(POOL, "p.js"), Span(7))
    rows = POOL.split("\n")
    assert kept.text == "        }"
    new = "\n".join([*rows[:5], *INSERTED.split("\n")[:-1], *rows[5:]])
    old = POOL.replace("        }\n    });", "}\n    });") if trimmed else POOL  # sidecars keep the row without blanks
    found = find(old, new, 7, "p.js")
    assert (found.state, found.span) == ("moved", Span(10, 10))


@pytest.mark.parametrize("left", [True, False])
def test_a_word_is_taken_to_no_other_place_than_below_the_row_that_it_was_below(left: bool) -> None:
    first = IMPORTS if left else IMPORTS.replace("    pass\n", "    raise\n")
    new = first.replace("from psycopg2.extras import register_hstore\n", SECOND)
    found = find(IMPORTS, "# new\n" + new, 8, "a.py")
    assert (found.state, found.span) == ("moved", Span(9, 9)) if left else found.state in ("review", "orphaned")


@pytest.mark.parametrize(("head", "state"), [("import {\n", "review"), ("export {\n", "moved")])
def test_an_entry_of_a_list_is_not_taken_to_another_list(head: str, state: str) -> None:
    old = f"const a = 1\nexport {{\n{HOOKS}}}\n"
    other = "import {\n" if head == "export {\n" else "export {\n"
    new = f"{head}{HOOKS}}}\nuse(1)\nuse(2)\n{other}{HOOKS}}}\n"
    piece, page = Page(Source(old, "a.js")), Page(Source(new, "a.js"))
    assert Proof(piece, page).proves(4, 3) == (state == "moved")


def test_the_bracket_of_the_only_such_row_is_proven_though_the_row_above_it_was_edited() -> None:
    old = "module.exports = {\n    tabWidth: 4,\n    quotes: true\n};\n"
    new = "// how it looks\nmodule.exports = {\n    tabWidth: 4,\n    singleQuote: true\n};\n"
    assert (find(old, new, 4, "a.js").state, find(old, new, 4, "a.js").span) == ("moved", Span(5, 5))


def test_a_row_of_signs_has_the_same_rows_on_both_sides() -> None:
    old, new = " * one more thing\n *\n * @return nothing\n", " * another one\n *\n * @return nothing\n"
    proof = Proof(Page(Source(old, "a.js")), Page(Source(new, "a.js")))
    assert not proof.proves(1, 1)
    assert proof.proves(0, 0)


def test_the_only_proven_place_is_found() -> None:
    old = "  def a\n    run(1)\n  end\n"
    new = "  def a\n    if b\n      walk(1)\n    end\n    run(1)\n  end\n"
    proof = Proof(Page(Source(old, "a.rb")), Page(Source(new, "a.rb")))
    assert proof.find_proven(2, [3, 5]) == -1
    assert proof.proves(2, 5)
    assert not proof.proves(2, 3)
