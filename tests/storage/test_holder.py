"""A holder is alive exactly as long as its process, whoever is given its number afterwards."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from postil.storage.holder import is_alive, this_process

NAME = "from postil.storage.holder import this_process; print(this_process(), flush=True)"


def test_this_process_is_alive_however_long_ago_it_took_hold() -> None:
    assert is_alive(this_process(), since=0, patience=0)


def test_a_process_that_ended_is_dead_at_once() -> None:
    holder = subprocess.run([sys.executable, "-c", NAME], capture_output=True, text=True, check=True).stdout.strip()
    assert not is_alive(holder, since=time.time(), patience=1000)


def test_a_process_that_still_runs_is_alive() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NAME + "; input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        holder = process.stdout.readline().strip()
        assert str(process.pid) in holder.split()
        assert is_alive(holder, since=0, patience=0)


def test_another_process_with_the_same_number_is_not_the_holder() -> None:
    host, _, started = this_process().rpartition(" ")
    assert not is_alive(f"{host} {int(started) + 1}", since=time.time(), patience=1000)


def test_a_process_that_cannot_be_found_is_not_alive() -> None:
    host = this_process().rsplit(" ", 2)[0]
    for started in (1, 2, 345):
        assert not is_alive(f"{host} {2**31 - 1} {started}", since=time.time(), patience=1000)


def test_the_name_is_stable_and_holds_the_process_number() -> None:
    assert this_process() == this_process()
    assert this_process().split()[-2] == str(os.getpid())


def test_a_fork_is_another_process() -> None:
    before = this_process()
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, this_process().encode())
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        named = pipe.read()
    os.waitpid(child, 0)
    assert named.split()[-2] == str(child)
    assert named != before
    assert not is_alive(named, since=time.time(), patience=1000), "it has ended"
    assert this_process() == before


def test_a_host_that_is_renamed_has_its_new_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = this_process()
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(nodename="renamed"))
    assert this_process().split()[0] == "renamed"
    assert this_process().split()[1:] == before.split()[1:]
    assert is_alive(this_process(), since=0, patience=0)


def test_of_another_host_only_time_tells() -> None:
    there = "elsewhere boot namespace 12 345"
    assert is_alive(there, since=time.time() - 5, patience=10)
    assert not is_alive(there, since=time.time() - 15, patience=10)


def test_a_name_that_makes_no_sense_is_judged_by_time() -> None:
    host = this_process().rsplit(" ", 2)[0]
    for nonsense in ("", "x", f"{host} twelve 345", f"{host} 12 soon", f"{host} {os.getpid()} 0"):
        assert is_alive(nonsense, since=time.time() - 5, patience=10)
        assert not is_alive(nonsense, since=time.time() - 15, patience=10)
