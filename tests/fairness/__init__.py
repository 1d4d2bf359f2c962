"""How twenty good callers fare beside a hostile one: `make fairness` measures it."""
