"""What every test has: an environment of its own, and `needs` for programs that a machine may lack.

Nothing a test does may touch the user's settings, state or git configuration; and in CI nothing may skip.
"""

import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.needs import needs as find_program

# No test is timed: a loaded machine makes examples slowly.
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("postil", deadline=None, print_blob=True, suppress_health_check=SLOW_IS_FINE)
settings.load_profile("postil")

# Without maintenance a commit is one process, not two.
GIT_CONFIG = """
[user]
    name = Test Person
    email = test@example.org
[init]
    defaultBranch = main
[gc]
    auto = 0
[maintenance]
    auto = false
[postil]
    trusted = *
"""
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}


@pytest.fixture(scope="session", autouse=True)
def home_of_the_tests() -> Iterator[Path]:
    """A home folder for the whole run, so that no test reads or writes the user's."""
    with tempfile.TemporaryDirectory(prefix="postil-home-") as folder, pytest.MonkeyPatch.context() as patch:
        home = Path(folder)
        for name in [name for name in os.environ if name.startswith(("POSTIL_", "GIT_", "GITLAB_", "XDG_"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        for name in ("CONFIG", "STATE", "CACHE", "DATA"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        config = home / ".gitconfig"
        config.write_text(GIT_CONFIG)
        patch.setenv("GIT_CONFIG_GLOBAL", str(config))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        yield home


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests (`pytest.mark.anyio`) run on asyncio, as the server does."""
    return "asyncio"


@pytest.fixture
def needs() -> Callable[[str], str]:
    """The path of a program; a test whose program is missing skips, and in CI fails."""
    return find_program


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failed one: a green run means that everything ran."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may skip: {report.longrepr}"
    return report
