"""A socket that nobody answers on is shut down at its deadline, and no other."""

import socket
import time

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


def wait(dog: Watchdog, ours: socket.socket, seconds: float) -> None:
    with dog.watching(ours.fileno(), seconds):
        if not ours.recv(1):
            raise ConnectionError("closed")


def test_one_that_was_answered_is_not_shut_down_later() -> None:
    dog = Watchdog()
    (one, its), (two, silent) = socket.socketpair(), socket.socketpair()
    with one, its, two, silent:
        with dog.watching(one.fileno(), 0.01):
            pass
        with pytest.raises(TimeoutError):
            wait(dog, two, 0.05)  # the deadline of the first is over by then
        its.send(b"x")
        assert one.recv(1) == b"x"


def test_each_of_many_has_its_own_deadline() -> None:
    """The one with the nearest comes last, while the dog sleeps until the first one's."""
    dog = Watchdog()
    (one, its), (two, silent) = socket.socketpair(), socket.socketpair()
    with one, its, two, silent, dog.watching(one.fileno(), 600):
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            wait(dog, two, 0.05)
        assert time.monotonic() - begun < 30
        its.send(b"x")
        assert one.recv(1) == b"x"
