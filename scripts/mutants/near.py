"""Which tests judge a module, and what became of a mutant."""

import re
from pathlib import Path
from typing import NamedTuple

from scripts.mutants.make import PACKAGES, ROOT, Mutant

# The tests that know a package from outside; they follow the module's own test and those that import it.
NEAR = {
    "core": ["tests/core", "tests/wire/test_server.py", "tests/test_app.py"],
    "wire": ["tests/wire", "tests/contracts", "tests/surfaces/http/test_app.py"],
    "surfaces/gateway": ["tests/surfaces/gateway", "tests/surfaces/http/test_app.py"],
    "gitlab/instance": ["tests/gitlab/instance", "tests/gitlab"],
    "gitlab/policy": ["tests/gitlab/policy", "tests/gitlab"],
    "storage": ["tests/storage", "tests/test_state_operations.py"],
}


class Judged(NamedTuple):
    """A mutant and what became of it."""

    mutant: Mutant
    caught: bool
    by: str
    seconds: float


def tests_for(path: str) -> tuple[list[str], list[str]]:
    """The tests that judge a module: its own and those that import it; then those that know its package."""
    package = next(package for package in PACKAGES if path.startswith(package + "/"))
    module = Path(path)
    dotted = "postil." + ".".join(module.with_suffix("").parts)
    own = ROOT / "tests" / module.parent / f"test_{module.name}"
    imports = re.compile(rf"(?:from|import) {re.escape(dotted)}\b")
    direct = [each for each in near(package) if imports.search(each.read_text("utf-8"))]
    first: dict[Path, None] = dict.fromkeys([*([own] if own.exists() else []), *direct])
    rest = [each for each in near(package) if each not in first]
    return [str(each.relative_to(ROOT)) for each in first], [str(each.relative_to(ROOT)) for each in rest]


def near(package: str) -> list[Path]:
    """The tests that know a package from outside."""
    places = [ROOT / name for name in NEAR[package]]
    return [file for place in places for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]


# Tests of more than two seconds that judge load and not logic.
SLOW = re.compile(
    r"garbage_token|ten_thousand|five_thousand|half_open|each_token_of_many|test_secrets|what_is_written_is_read_back"
    r"|flipped_page|lasts_longer_than_its_lease|many_processes"
)


def quick(items: list) -> list:
    """The tests that are quick enough to judge mutants."""
    return [item for item in items if item.get_closest_marker("slow") is None and not SLOW.search(item.nodeid)]
