"""Brackets and blank lines say nothing; they go where the rows go that they belong to."""

import pytest

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate, relocate_all

OLD = """int first(int a) {
    if (a > 0) {
        return one(a);
    }
    return 0;
}

int second(int b) {
    while (b > 0) {
        b = less(b);
    }
    return b;
}
"""


def test_closing_brackets_follow_their_functions_when_these_change_places() -> None:
    rows = OLD.split("\n")
    new = "\n".join([*rows[7:13], "", *rows[0:6], ""])
    lines = {4: 11, 6: 13, 11: 4, 13: 6}
    found = relocate_all(Source(OLD, "a.c"), Source(new, "a.c"), [Span(line) for line in lines])
    assert [each.span and each.span.start for each in found] == list(lines.values())


def test_a_bracket_follows_its_neighbours_when_what_it_closes_was_rewritten() -> None:
    new = OLD.replace("    while (b > 0) {\n", "    for (int n = b; n; n = next(n)) {\n        log(n);\n")
    assert relocate(OLD, new, Span(11), "a.c").span == Span(12, 12)


def test_a_bracket_of_deleted_code_is_not_taken_for_another() -> None:
    new = "".join(f"{row}\n" for row in OLD.split("\n")[7:13])
    found = relocate(OLD, new, Span(4), "a.c")
    assert found.state in ("review", "orphaned")


def test_blank_lines_go_with_the_rows_around_them() -> None:
    assert relocate(OLD, "// a remark\n\nint zero;\n" + OLD, Span(7), "a.c").span == Span(10, 10)


@pytest.mark.timeout(20)
def test_braces_on_rows_of_their_own_do_not_wait_for_each_other() -> None:
    nested = "\n".join(f"{' ' * n}{{\n{' ' * n} call_{n}();" for n in range(60))
    changed = nested.replace("call_1", "other_1").replace("call_3", "")
    spans = [Span(line) for line in range(1, 120)]
    for path in ("a.c", "a.unknown"):
        assert len(relocate_all(Source(nested, path), Source(changed, path), spans)) == len(spans)


TOTAL = """int total(int a, int b) {
    int sum = 0;
    if (a > 0) {
        sum = sum + price(a);
        note(sum);
    }
    int rows[] = {
        sum, b,
    };
    while (b > 0) {
        b = less(b);
        sum += b;
    }

    return sum;
}
"""
COPY = TOTAL.replace("total", "grand")
EDITED = TOTAL.replace("price(a)", "cost(a)").replace("(a > 0)", "(a >= 0)")
REWRITTEN = EDITED.replace("while (b > 0)", "for (; b > 1;)").replace("int rows[] =", "static long all[] =")
AFTER = "\nint next(void) {\n    return 1;\n}\n"


@pytest.mark.parametrize("edited", [EDITED, REWRITTEN])
@pytest.mark.parametrize("above", [True, False])
def test_brackets_of_a_function_that_was_copied_stay_with_what_they_close(edited: str, above: bool) -> None:
    """The copy is liker than the original, which was edited: a bracket is never taken to it in silence."""
    new, shift = (f"{COPY}\n{edited}", COPY.count("\n") + 1) if above else (f"{edited}\n{COPY}", 0)
    rows = TOTAL.split("\n")
    lines = [line for line, row in enumerate(rows, 1) if row.strip() in ("}", "};", "")][:-1]
    spans = [Span(line) for line in lines]
    found = relocate_all(Source(TOTAL + AFTER, "a.c"), Source(new + AFTER, "a.c"), spans)
    places = {line: each.span.start - shift for line, each in zip(lines, found, strict=True) if each.span}
    taken = {line: places[line] for line, each in zip(lines, found, strict=True) if each.state != "review"}
    assert taken == {line: line for line in taken}
    assert {9, 16} <= set(taken)  # of the function, and the only one of its kind


@pytest.mark.parametrize("above", [True, False])
def test_a_span_of_a_whole_function_that_was_copied_ends_with_it(above: bool) -> None:
    new, shift = (f"{COPY}\n{EDITED}", COPY.count("\n") + 1) if above else (f"{EDITED}\n{COPY}", 0)
    found = relocate(TOTAL + AFTER, new + AFTER, Span(1, 16), "a.c")
    assert found.span == Span(1 + shift, 16 + shift)


def test_the_bracket_of_a_class_that_was_copied_stays_with_the_class() -> None:
    old = "class Total {\n  int first = 1;\n  int second = 2;\n\n  int sum() {\n    return first + second;\n  }\n}\n"
    copy = old.replace("Total", "Grand")
    edited = old.replace("first + second", "first * second + 1")
    found = relocate(f"{old}{AFTER}", f"{edited}\n{copy}{AFTER}", Span(8), "A.java")
    assert found.span == Span(8, 8)
    found = relocate(f"{old}{AFTER}", f"{copy}\n{edited}{AFTER}", Span(8), "A.java")
    assert found.span == Span(17, 17)


REQUEST = """const accessors = {
  host: {
    get() {
      return this.headers.host;
    }
  },
  protocol: {
    get() {
      if (this.headers.forwarded) {
        return last(this.headers.forwarded);
      }
      return this.socket.encrypted ? 'https' : 'http';
    }
  },
};
"""
HELP = """formatHelp(command, helper) {
  const width = helper.padWidth(command, helper);
  function formatItem(term, description) {
    if (description) {
      return helper.wrap(`${term.padEnd(width)}${description}`, width);
    }
    return term;
  }
  function formatList(texts) {
    return texts.join('\\n').replace(/^/gm, ' '.repeat(INDENT));
  }

  // Usage
  return formatList([command.usage(), command.description()].map(formatItem));
}
"""


def _find_place(old: str, new: str, line: int) -> tuple[bool, int]:
    """Returns whether the place is said without asking, and where."""
    found = relocate(old, new, Span(line), "a.js")
    return found.state not in ("review", "orphaned"), found.span.start if found.span else 0


def test_a_bracket_closes_what_it_closed_when_a_block_comes_into_what_is_before_it() -> None:
    """The rows above and below, and a diff, speak for the bracket of the new block."""
    new = REQUEST.replace(
        "      return this.socket.encrypted ? 'https' : 'http';\n",
        "      if (this.socket) {\n        return this.socket.encrypted ? 'https' : 'http';\n      }\n",
    )
    assert _find_place(REQUEST, new, 13) == (True, 15)


def test_a_bracket_of_a_function_that_is_gone_is_not_silently_that_of_another() -> None:
    """What stood around it, and what a diff makes of it, both speak for the bracket of what came there instead."""
    start, end = HELP.index("  function formatItem"), HELP.index("\n  // Usage")
    called = "  function call(term, description) {\n    return helper.formatItem(term, width, description);\n  }\n"
    new = HELP[:start] + called + HELP[end:]
    said, place = _find_place(HELP, new, 11)
    assert not said, place


FEATURES = """#include "check.h"

void test_features(void)
{
\tint caps = features();

#ifdef THREADS
\tcheck((caps & THREADS) != 0);
#else
\tcheck((caps & THREADS) == 0);
#endif
}
"""
BACKENDS = """
void test_backends(void)
{
\tconst char *name = backend();

#if defined(SHA_OPENSSL)
\tcheck_equal("openssl", name);
#elif defined(SHA_WIN32)
\tcheck_equal("win32", name);
#else
\tcheck(name == 0);
#endif
}
"""


def test_the_last_bracket_of_a_file_is_not_that_of_another_function_below() -> None:
    """A preprocessor's lines stand at the margin in every function; the diff may leave the last of them at the end."""
    now = FEATURES.replace("test_features", "test_basic").replace("#endif\n}", "#endif\n\n\tcheck(caps & REGEX);\n}")
    assert relocate(FEATURES, now + BACKENDS, Span(12), "a.c").span == Span(14, 14)
    assert relocate(FEATURES, now, Span(12), "a.c").span == Span(14, 14)


COMMAND = """var generate = &Command{
\tUse:   "generate",
\tShort: "Generate pages",
\tLong: `
The command writes pages.

STATUS
======

Zero if it was successful.
`,
\tDisableTag: true,
\tRun:        runGenerate,
}

type options struct {
\tDir string
}
"""
MADE_COMMAND = """func newGenerate(global *Global) *Command {
\tvar opts options

\tcommand := &Command{
\t\tUse:   "generate [flags]",
\t\tShort: "Generate pages and files",
\t\tLong: `
The command writes pages and files.

STATUS
======

Zero if it was successful.
One if there was any error.
`,
\t\tDisableTag: true,
\t\tRun: func(args []string) error {
\t\t\treturn runGenerate(opts, *global, args)
\t\t},
\t}
\topts.AddFlags(command.Flags())
\treturn command
}

type options struct {
\tDir string
}
"""


def test_what_ends_a_table_does_not_end_a_function() -> None:
    """The lines of a text stand at the margin, and hide what the bracket closes."""
    found = relocate(COMMAND, MADE_COMMAND, Span(14), "a.go")
    assert (found.state, found.span) == ("review", Span(23, 23))


CHECKED = """func initialize(opts Options, args []string) error {
\tpolynomial, err := readPolynomial(opts)
\tif err != nil {
\t\treturn err
\t}

\trepo, err := readRepo(opts)
\tif err != nil {
\t\treturn err
\t}

\topts.password, err = readPasswordTwice(opts)
\tif err != nil {
\t\treturn err
\t}

\tstore, err := repository.New(repo, opts.password)
\tif err != nil {
\t\treturn err
\t}

\tprint("created repository", store.ID())
\treturn nil
}
"""
CHECKED_LESS = """func initialize(ctx Context, opts Options, printer Printer) error {
\tpolynomial, err := readPolynomial(ctx, opts, printer)
\tif err != nil {
\t\treturn err
\t}

\tstore, err := createRepository(ctx, opts, polynomial)
\tif err != nil {
\t\treturn fatal("%s", err)
\t}

\tif !opts.JSON {
\t\tprinter.P("created repository", store.ID())
\t}
\treturn nil
}
"""


def test_the_end_of_a_check_that_stands_everywhere_is_no_surer_than_the_check() -> None:
    found = relocate_all(Source(CHECKED, "a.go"), Source(CHECKED_LESS, "a.go"), [Span(5), Span(10), Span(15)])
    assert [each.state for each in found] == ["exact", "review", "review"]
