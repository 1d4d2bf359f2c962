"""How many independent ways lead through a function."""

from postil.anchor.syntax.complexity import complexities


def test_complexity_counts_the_branches_of_each_function() -> None:
    text = """
def plain():
    return 1

def busy(a, b):
    if a and b or not a:
        for x in b:
            while x:
                x -= 1
    elif b:
        return [y for y in b if y]
    def inner():
        return 1 if a else 2
    try:
        pass
    except ValueError:
        pass
"""
    assert {each.function.name: each.cyclomatic for each in complexities(text, "python")} == {
        "plain": 1,
        "busy": 10,
        "inner": 2,
    }


def test_a_default_branch_is_not_counted() -> None:
    text = "func f(x int) {\n\tswitch x {\n\tcase 1:\n\t\ta()\n\tcase 2:\n\t\tb()\n\tdefault:\n\t\tc()\n\t}\n}\n"
    assert [each.cyclomatic for each in complexities(text, "go")] == [3]


def test_a_text_without_a_grammar_has_no_functions() -> None:
    assert complexities("if a: pass", None) == []
    assert complexities("a: 1", "yaml") == []
