"""A program runs to its end without the subprocess module: input, outputs, status, a time limit."""

import os
import subprocess
import sys
import time

import pytest

from postil.workspace.spawn import TooMuchOutput, run

ENVIRONMENT = {"PATH": os.environ["PATH"], "SAID": "by us"}


def shell(script: str, input: bytes = b"", timeout: float = 20.0) -> tuple[int, bytes, bytes]:
    return run(["sh", "-c", script], ENVIRONMENT, input, timeout)


def test_status_and_both_outputs_are_answered() -> None:
    assert shell('echo "$SAID"; echo trouble >&2; exit 3') == (3, b"by us\n", b"trouble\n")
    assert shell("kill -9 $$")[0] == -9


def test_much_goes_in_and_out_at_once() -> None:
    much = os.urandom(3_000_000)
    assert shell("cat", much) == (0, much, b"")
    assert shell("head -c 10 >/dev/null; exec cat >/dev/null", much)[0] == 0


def test_a_program_that_does_not_want_its_input_is_no_fault() -> None:
    assert shell("exec 0<&-; echo done", b"x" * 1_000_000)[:2] == (0, b"done\n")


def test_a_program_that_stays_is_ended_when_its_time_is_up() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        shell("exec sleep 60", timeout=0.2)
    assert time.monotonic() - started < 20


def test_a_missing_program_is_said_and_no_descriptor_stays_open() -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with pytest.raises(FileNotFoundError):
        run(["no-such-program-anywhere"], ENVIRONMENT, b"", 5)
    shell("exit 0", b"input")
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)


def test_a_pipe_that_breaks_ends_the_child_as_it_would_in_a_shell() -> None:
    assert shell("yes | head -1; echo after") == (0, b"y\nafter\n", b"")


FULL_DISK = """
import os, resource, signal, sys
from postil.workspace.spawn import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
print_much = "for n in range(200_000): print(n)"
status, out, _ = run([sys.executable, "-c", print_much], dict(os.environ), b"", timeout=60)
assert (status, out.split()) == (0, [str(n).encode() for n in range(200_000)])
"""


def test_long_output_is_whole_where_the_disk_is_full() -> None:
    """Beyond a little it waits on the disk."""
    subprocess.run([sys.executable, "-W", "error", "-c", FULL_DISK], check=True, timeout=100)


def test_no_file_stays_open_of_output_that_was_too_much() -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(TooMuchOutput):
        run([sys.executable, "-c", "print('x' * 2_000_000)"], dict(os.environ), b"", timeout=60, largest=1_000_000)
    assert len(os.listdir("/dev/fd")) == before
