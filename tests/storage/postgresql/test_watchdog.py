"""A socket that nobody answers on is shut down at its deadline, and no other."""

import socket

import pytest

from postil.storage.postgresql.watchdog import Watchdog


def test_a_silent_connection_ends_with_a_timeout() -> None:
    ours, theirs = socket.socketpair()

    def wait() -> None:
        with Watchdog().watching(ours.fileno(), 0.05):
            if not ours.recv(1):
                raise ConnectionError("closed")

    with ours, theirs, pytest.raises(TimeoutError, match=r"no answer within 0\.05 seconds"):
        wait()


def test_one_that_is_answered_is_left_alone_and_its_own_errors_are_kept() -> None:
    dog = Watchdog()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with dog.watching(ours.fileno(), 60):
            theirs.send(b"x")
            assert ours.recv(1) == b"x"
        with pytest.raises(LookupError), dog.watching(ours.fileno(), 60):
            raise LookupError
        theirs.send(b"y")
        assert ours.recv(1) == b"y"
