"""Addresses of issues, milestones and saved queries; noticing changes by others; pictures of a milestone."""

from __future__ import annotations

import datetime
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from postil.core.registry import ResourceNotFound
from postil.tracker import events as ev
from postil.tracker.failures import InvalidParams
from postil.tracker.state.burndown import Day
from postil.tracker.state.charts import draw_chart, draw_chart_svg, draw_progress_svg
from tests.tracker.conftest import git
from tests.tracker.groups import Tracker
from tests.tracker.shell import said


def tracker(where: Path) -> Tracker:
    return Tracker(where)


def test_an_issue_has_an_address(repository: Path):
    mine = tracker(repository)
    id_ = mine.tools.create("Hello").id
    assert mine.resources.read_issue(id_).title == "Hello"
    with pytest.raises(ResourceNotFound):
        mine.resources.read_milestone(id_)
    with pytest.raises(ResourceNotFound):
        mine.resources.read_query("none-such")


def test_a_saved_query_is_a_resource(repository: Path):
    mine = tracker(repository)
    mine.tools.create("One", labels=("x",))
    mine.tools.create("Two")
    mine.queries.save("xs", "labels contains x", ("title",))
    assert [item.title for item in mine.resources.read_query("xs").items] == ["One"]
    assert len(tracker(repository).resources.read_query("open").items) == 2
    with pytest.raises(InvalidParams):
        mine.queries.save("bad", "nope == 1")
    with pytest.raises(InvalidParams):
        mine.queries.save("../bad", "")


def test_a_change_by_another_process_is_noticed_within_a_second(repository: Path):
    mine = tracker(repository)
    id_ = mine.tools.create("Watched").id
    other = mine.tools.create("Other").id
    noticed = threading.Event()
    stop = mine.resources.watch_logs(f"issue://{id_}", noticed.set)
    try:
        said(repository, "issue", "comment", other, "not this one", program="main")
        said(repository, "issue", "comment", id_, "hi", program="main")
        assert noticed.wait(1.0)
        assert len(mine.resources.read_issue(id_).comments) == 1
    finally:
        stop()


def test_the_first_write_and_a_fetch_are_noticed_too(repository: Path, tmp_path: Path):
    mine = tracker(repository)
    noticed = threading.Event()
    stop = mine.resources.watch_logs("issues://query/open", noticed.set)
    try:
        git(tmp_path, "init", "--quiet", "theirs")
        tracker(tmp_path / "theirs").tools.create("Fetched")
        git(repository, "fetch", "--quiet", str(tmp_path / "theirs"), "+refs/postil/log/*:refs/postil/remote/theirs/*")
        assert noticed.wait(2.0)
        assert [item.title for item in mine.resources.read_query("open").items] == ["Fetched"]
    finally:
        stop()


def test_a_watch_that_ended_says_nothing(repository: Path):
    mine = tracker(repository)
    noticed = threading.Event()
    mine.resources.watch_logs("issues://query/open", noticed.set)()
    mine.tools.create("x")
    assert not noticed.wait(0.2)


@pytest.fixture
def story(repository: Path) -> tuple[Path, str]:
    """Three issues of a milestone over six days; one left it, one was closed and opened again."""
    at = [datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)]
    mine = Tracker(repository, now=lambda: at[0])

    def day(number: int) -> None:
        at[0] = datetime.datetime(2026, 1, number, 12, tzinfo=datetime.UTC)

    mile = mine.tools.create("1.0 <&>", "milestone", due="2026-01-10").id
    one, two, three = (mine.tools.create(name, milestone=mile).id for name in ("one", "two", "three"))
    day(2)
    mine.tools.close(one)
    day(3)
    mine.tools.update(three, milestone="none")
    mine.tools.close(two)
    day(4)
    mine.tools.close(two, reopen=True)
    day(6)
    return repository, mile


def test_the_days_of_a_milestone_are_what_the_events_say(story: tuple[Path, str]):
    repository, mile = story
    now = datetime.datetime(2026, 1, 6, tzinfo=datetime.UTC)
    mine = Tracker(repository, now=lambda: now)
    chart = mine.charts.chart(mile)
    assert not isinstance(chart, str)
    assert [(d.day[-2:], d.open, d.closed) for d in chart.days] == [
        ("01", 3, 0),
        ("02", 2, 1),
        ("03", 0, 2),
        ("04", 1, 1),
        ("05", 1, 1),
        ("06", 1, 1),
    ]
    assert "50% (1 of 2 closed)" in chart.for_person()
    earlier = mine.charts.chart(mile, as_of="2026-01-02")
    assert not isinstance(earlier, str)
    assert earlier.days == chart.days[:2]
    with pytest.raises(InvalidParams):
        mine.charts.chart(mile, as_of="someday")


def test_the_svg_is_well_formed_and_escapes_titles(story: tuple[Path, str]):
    repository, mile = story
    mine = Tracker(repository)
    for picture in (mine.charts.chart(mile, svg=True), mine.charts.chart(mile, svg=True, bar=True)):
        assert isinstance(picture, str)
        root = ET.fromstring(picture)
        assert root.tag.endswith("svg")
        assert "1.0 <&>" in "".join(root.itertext())


def test_the_first_day_is_a_dot_and_a_long_title_leaves_room(repository: Path):
    picture = draw_chart_svg("word " * 40, "2026-02-01", [Day("2026-01-01", 3, 1)])
    root = ET.fromstring(picture)
    (dot,) = root.iter("{http://www.w3.org/2000/svg}circle")
    assert dot.get("cx") == "40.0"
    words = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert max(map(len, words)) <= 60
    assert "■ open  ■ all  ■ to the due date" in words


def test_pictures_of_nothing_and_of_very_much_are_still_pictures():
    assert "no issues yet" in draw_chart("Empty", None, [])
    ET.fromstring(draw_chart_svg("Empty", "2026-01-01", []))
    ET.fromstring(draw_progress_svg("Empty", 0, 0))
    many = [Day((datetime.date(2020, 1, 1) + datetime.timedelta(days=i)).isoformat(), i, 1000 - i) for i in range(1000)]
    assert max(len(line) for line in draw_chart("Long", None, many).splitlines()) <= 70


def test_an_event_without_a_time_does_not_break_the_picture(repository: Path):
    mine = tracker(repository)
    mile = mine.tools.create("M", "milestone").id
    with mine.issues.store.transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="x", milestone=mile, ts="")
    chart = mine.charts.chart(mile)
    assert not isinstance(chart, str)
    assert chart.days == []
