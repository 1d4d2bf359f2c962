"""Starting a worker: a second process of this Python that runs a module of ours and talks through its pipes.

A repository that somebody cloned must not run code in it. So the worker is isolated (`-I`): no folder of the
repository and no PYTHON* variable is on its import path. It gets no secret, either: only what Python and git need.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from subprocess import Popen

_NEEDED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT",
    "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
})  # fmt: skip
# Isolation also drops the user's own site-packages, where Postil may be installed: its folders are named again, last.
_PROGRAM = """
import sys
sys.path += sys.argv[2:]
from postil.core.startup import prepare, release
prepare()
import runpy
runpy.run_module(sys.argv[1], run_name='__main__')
release()
"""


def start_worker(module: str, answers: IO[bytes] | None = None) -> Popen[bytes]:
    """Start a module of this package as a worker, with pipes to its stdin and stdout, or a file for its answers.

    Raises OSError.
    """
    import subprocess  # only who has much to do starts a worker

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = dict.fromkeys(os.path.dirname(each) for each in (package, os.path.dirname(msgspec.__file__)))
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _PROGRAM, module, *folders],
        stdin=subprocess.PIPE,
        stdout=answers or subprocess.PIPE,
        cwd="/",
        env=worker_environment(os.environ),
    )


def worker_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of an environment that a worker may see."""
    return {name: value for name, value in environ.items() if name in _NEEDED or name.startswith("LC_")}
