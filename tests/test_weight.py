"""What the plain install brings: all parts, in few packages."""

from __future__ import annotations

import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
MOST_PACKAGES = 28
MOST_BYTES = 60_000_000


def installed_with(wanted: list[str]) -> dict[str, Distribution]:
    """The packages that these requirements bring, each with all that it needs."""
    found: dict[str, Distribution] = {}
    todo = [Requirement(each) for each in wanted]
    while todo:
        requirement = todo.pop()
        extras = requirement.extras or {""}
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        package = distribution(requirement.name)
        name = package.metadata["Name"].lower()
        if name in found and not requirement.extras:
            continue
        found[name] = package
        for line in package.requires or ():
            inner = Requirement(line)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                inner.marker = None
                todo.append(inner)
    return found


def plain() -> dict[str, Distribution]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return installed_with(project["dependencies"])


def size(package: Distribution) -> int:
    paths = [Path(str(file.locate())) for file in package.files or () if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


def test_the_plain_install_is_light() -> None:
    packages = plain()
    assert len(packages) + 1 <= MOST_PACKAGES, sorted(packages)  # and Postil itself
    assert sum(map(size, packages.values())) <= MOST_BYTES, {name: size(each) for name, each in packages.items()}


def test_what_only_a_gateway_needs_is_not_in_it() -> None:
    assert not {"cryptography", "pyjwt", "uvloop", "redis", "pyarrow", "psycopg"} & {*plain()}


def test_the_commonest_languages_are_in_it_and_the_others_in_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = {Requirement(each).name for each in project["optional-dependencies"]["languages"]}
    common = {name for name in plain() if name.startswith("tree-sitter-")}
    names = ("c", "cpp", "go", "java", "javascript", "python", "rust", "typescript")
    assert common == {f"tree-sitter-{name}" for name in names}
    assert len(extra) == 14
    assert not extra & common
