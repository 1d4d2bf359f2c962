"""Charts as text and as SVG."""

from __future__ import annotations

import datetime
import xml.etree.ElementTree as ET
from pathlib import Path

from postil.tracker.state.burndown import Day
from postil.tracker.state.charts import draw_chart, draw_chart_svg, draw_progress_svg
from tests.tracker.groups import Tracker


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
