"""`python -m postil`."""

import subprocess
import sys

from postil import __version__


def test_the_module_is_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "postil", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["postil", __version__]
