"""Breaks the source on purpose, one small change at a time, and counts how many changes the tests notice.

    python -m scripts.mutants --map                  every third mutant of the packages
    python -m scripts.mutants core storage           those packages or modules alone
    python -m scripts.mutants --sample 30 --seed x   thirty, the same for the same seed (CI)

A mutant is one changed expression or one removed statement (`make`). The tests that stand nearest to the module judge
it (`near`): in forks of one pytest session where it changes a function (`forked`), else, or when they notice nothing,
over a copy of the source (`copied`). The checkout is never changed.
Mutants that change nothing anybody can see are listed with the reason in `listed.json` beside this file, and so are,
without one, those that no test catches yet: at most a tenth of all, and the list is there to become shorter.

It is not a judge of the tests' worth: a caught mutant proves that a line matters to some test, nothing more.
"""
