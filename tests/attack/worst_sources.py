"""`python -m tests.attack.worst_sources`: search, for every grammar, for the texts that are dearest to parse.

A text is words of the grammar (its own tokens, and what opens without closing in any language), repeated. The search
keeps the dearest and changes them. Each is read by a process of its own, as by a server whose workers refuse it: its
tree, names, complexities, errors, and the colours of its first rows. Printed are the CPU time of all that
together, the smallest of three runs, and the growth of memory of the dearest of each size; more than the bounds is a
failure. What others do on the machine counts: run it on a quiet one.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import struct
import time
import warnings

from postil.anchor.syntax.colors import color_rows
from postil.anchor.syntax.complexity import complexities
from postil.anchor.syntax.languages import LANGUAGES, grammar
from postil.anchor.syntax.symbols import symbols, syntax_problems

SIZES = (4096, 8192, 16_384, 32_768, 49_152, 65_536)
LONGEST, LARGEST = 0.05, 64.0
"""Seconds of CPU and MB of growth that no text may take."""
ROWS = 100
"""Rows whose colours are asked for."""
OPENINGS = r"""
a 1 " ' `  ''' /* // <!-- <![CDATA[ <<E <<~E ${ #{ $( $(( %{ {{ <a <a> </a> \ (} [) {] () [] {} @ # r#" R"( f"{
<?php ?> => < > << >> & ; : , . - * ``` ~~~ | |a| [a]: ![ ]( &a a( a< a[ a{ if for case 0x 1e %w( <<-'E' begin do end
a: a= ? --- === $ $a @a template< a<; a::< ! ~
"""
KNOWN = [
    *([each] for each in r"<!-- \ a< template< 0x --- /* ~ a<; # // a: + <a".split()),  # noqa: SIM905
    ["$", "?>"], ["private", "?>"], ["break", "and", "END"], ["---", "$", "?", "<a>", "a="],
    ["function a() {"], ["class a {"],
]  # fmt: skip
INSIDE, LEVELS = "inside", 40
"""Between words that stand on so many rows, what they open inside each other, before empty rows to the end."""
LINE = 4000
"""Characters after which a text has a new line, whatever is between its words: one long line is no code."""


def list_words(language: str) -> list[str]:
    """The tokens of a grammar, and what opens something in any."""
    found, of = {*OPENINGS.split()}, grammar(language)
    for number in range(of.node_kind_count):
        if of.node_kind_is_visible(number) and not of.node_kind_is_named(number):
            found.add(of.node_kind_for_id(number) or "a")
    return sorted(found)


def repeat(words: list[str], between: str, size: int) -> str:
    if between == INSIDE:
        return ((" ".join(words) + "\n") * LEVELS).ljust(size, "\n")[:size]
    unit = between.join(words) + between
    if "\n" not in between:
        unit = unit * (LINE // len(unit)) + "\n"
    return (unit * (size // len(unit) + 1))[:size]


def measure(text: str, language: str) -> tuple[float, float]:
    """Seconds of CPU and MB by which a process grew that did with a text all that is done with a source."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
            before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
            symbols(text, language)
            complexities(text, language)
            syntax_problems(text, language)
            color_rows(text, language, range(ROWS))
            spent = time.thread_time() - begun
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            os.write(writing, struct.pack("dd", spent, grown))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    used = os.wait4(child, 0)[2]
    if len(said) != 16:  # it died: of its limit, or in a grammar
        return max(10.0, used.ru_utime + used.ru_stime), used.ru_maxrss / 1024
    return struct.unpack("dd", said)


def measure_again(text: str, language: str) -> tuple[float, float]:
    """The least time of three runs, where the first one took long, and the most memory: others do not add to that."""
    runs = [measure(text, language)]
    while runs[0][0] > LONGEST / 3 and len(runs) < 3:
        runs.append(measure(text, language))
    return min(spent for spent, _ in runs), max(grown for _, grown in runs)


def load(language: str) -> None:
    """Load what every server has after its first file, which each process takes over from this one."""
    grammar(language)
    measure_here = "a = 1\n"
    symbols(measure_here, language)
    complexities("def a():\n    pass\n", language)
    color_rows(measure_here, language, [0])


def search(language: str, seconds: float, size: int, chance: random.Random) -> list[tuple[list[str], str]]:
    """The dearest texts of a size, as words and what is between them."""
    words, until = list_words(language), time.monotonic() + seconds
    todo = [(each, between) for each in [*KNOWN, *([word] for word in words)] for between in ("\n", " ", INSIDE)]
    chance.shuffle(todo)
    best: list[tuple[float, list[str], str]] = []
    while time.monotonic() < until:
        if todo and chance.random() < 0.5:
            some, between = todo.pop()
        elif best and chance.random() < 0.7:
            _, old, between = chance.choice(best)
            some = [*old]
            some[chance.randrange(len(some))] = chance.choice(words)
            if chance.random() < 0.4:
                some.insert(chance.randrange(len(some)), chance.choice(words))
        else:
            some = [chance.choice(words) for _ in range(chance.randint(1, 5))]
            between = chance.choice(["\n", " ", "", INSIDE])
        spent, grown = measure(repeat(some, between, size), language)
        best = sorted([*best, (spent / LONGEST + grown / LARGEST, some, between)], reverse=True)[:12]
    return [(some, between) for _, some, between in best[:4]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Search for the texts that are dearest to parse.")
    parser.add_argument("--seconds", type=float, default=10.0, help="of the search for each grammar")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("languages", nargs="*", default=LANGUAGES)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"seed {given.seed}; ms of CPU / MB of growth of the dearest text")
    print(
        "| grammar | " + " | ".join(f"{size // 1000} kB" for size in SIZES) + " |\n" + "|---" * (len(SIZES) + 1) + "|"
    )
    failed = 0
    for language in given.languages:
        load(language)
        chance = random.Random(f"{given.seed} {language}")
        found = [each for size in SIZES[2:5] for each in search(language, given.seconds / 3, size, chance)]
        texts = [*found, *(([*some], between) for some in KNOWN for between in ("\n", " ", INSIDE))]
        row: list[str] = []
        for size in SIZES:
            taken = [(*measure_again(repeat(some, between, size), language), some) for some, between in texts]
            row.append(f"{max(each[0] for each in taken) * 1000:.0f} / {max(each[1] for each in taken):.0f}")
            for spent, grown, some in taken:
                if spent > LONGEST or grown > LARGEST:
                    failed += 1
                    print(f"{language}, {size} bytes of {some}: {spent * 1000:.0f} ms, {grown:.0f} MB")
        print(f"| {language} | " + " | ".join(row) + " |", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
