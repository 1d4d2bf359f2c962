"""The log of what was written: what its lines say."""

from __future__ import annotations

from pathlib import Path

from postil.comments.sidecar.noted import Noted
from postil.comments.storage.write_log import WriteLog


def test_the_files_of_the_log_are_those_of_its_rows(tmp_path: Path) -> None:
    log = WriteLog(str(tmp_path / "written.log"))
    names = ["a.py", "a.py", 'od"d,"id":.py', "ünï/c\\ode.py", "\x01.py"]
    for number, name in enumerate(names):
        log.note(name, "2026-11-18T12:00:00.000Z", [Noted(f"c_{number}", {"text": '","path":"no.py","id":'})])
    with (tmp_path / "written.log").open("ab") as file:
        file.write(b'not a line\n{"at":"","path":7,"id":""}\n')
    with log.open() as reader:
        assert reader.paths() == {row.path for row in reader.rows()} == {*names}
