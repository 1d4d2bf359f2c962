"""A change made elsewhere is noticed soon, by either way of noticing."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.workspace import watch as module
from postil.workspace.watch import Watch, call_on_change


@pytest.fixture(params=["inotify", "polling"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "polling":
        monkeypatch.setattr(module.sys, "platform", "elsewhere")
    yield request.param
    monkeypatch.undo()


@pytest.mark.usefixtures("way")
def test_a_change_is_noticed_within_a_second(tmp_path: Path) -> None:
    with Watch([str(tmp_path)]) as watch:
        assert watch.wait(0) == frozenset()
        started = time.monotonic()
        threading.Timer(0.05, lambda: (tmp_path / "a").write_text("x")).start()
        assert str(tmp_path / "a") in watch.wait(10)
        assert time.monotonic() - started < 1


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["rename", "delete", "append"])
def test_every_kind_of_change_is_noticed(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").write_text("x")
    with Watch([str(tmp_path)]) as watch:
        if kind == "rename":
            (tmp_path / "a").rename(tmp_path / "b")
        elif kind == "delete":
            (tmp_path / "a").unlink()
        else:
            with (tmp_path / "a").open("a") as file:
                file.write("y")
        assert watch.wait(10)


@pytest.mark.usefixtures("way")
def test_a_folder_added_later_is_watched_too(tmp_path: Path) -> None:
    (tmp_path / "later").mkdir()
    with Watch([str(tmp_path / "nothing")]) as watch:
        watch.add(str(tmp_path / "later"))
        (tmp_path / "later" / "a").write_text("x")
        assert str(tmp_path / "later" / "a") in watch.wait(10)


@pytest.mark.usefixtures("way")
def test_a_folder_made_later_is_watched_from_then_on(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with Watch([str(tmp_path), str(tmp_path / "a"), str(folder)]) as watch:
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
        seen: set[str] = set()
        deadline = time.monotonic() + 10
        while not seen & {str(folder), str(folder / "file")} and time.monotonic() < deadline:
            seen |= watch.wait(1)
        assert seen & {str(folder), str(folder / "file")}
        watch.wait(0.1)
        (folder / "file").write_text("y")
        assert str(folder / "file") in watch.wait(10)


@pytest.mark.usefixtures("way")
def test_a_callback_is_called_until_it_is_stopped(tmp_path: Path) -> None:
    called = threading.Event()
    stop = call_on_change([str(tmp_path)], lambda _: called.set())
    (tmp_path / "a").write_text("x")
    assert called.wait(10)
    stop()
    stop()
    called.clear()
    (tmp_path / "b").write_text("x")
    assert not called.wait(0.6)
