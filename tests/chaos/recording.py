"""What a program did to the files below a folder, in order: recorded with strace, down to the bytes.

Acknowledgements are what it wrote to standard output: so it is known which writes had been acknowledged when the power
fails after any step.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.needs import needs

CALLS = (
    "openat,write,pwrite64,lseek,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,link,linkat,ftruncate,mkdir,"
    "mkdirat,rmdir,close,truncate"
)
_LINE = re.compile(r"^(?:(\d+) +)?(\w+)\((.*)\) += (-?\d+)(?:<(.*?)>)?")


class Step(NamedTuple):
    """One thing done: `kind` is open, write, truncate, sync, link, unlink, mkdir or ack."""

    kind: str
    path: str
    offset: int = 0
    data: bytes = b""
    other: str = ""


def record(command: list[str], folder: Path, log: Path) -> list[Step]:
    """Run a program to its end. Returns what it did below the folder."""
    strace = [needs("strace"), "-f", "-y", "-xx", "-s", "4000000", "-e", f"trace={CALLS}", "-o", str(log)]
    done = subprocess.run([*strace, *command], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return read(log.read_text("ascii"), str(folder))


def read(trace: str, folder: str) -> list[Step]:
    """Returns the steps of a trace."""
    steps: list[Step] = []
    offsets: dict[tuple[str, str], int] = {}
    for line in _whole_lines(trace):
        found = _LINE.match(line)
        if found is None or int(found[4]) < 0:
            continue
        process, call, words, result, opened = found[1] or "", found[2], found[3], int(found[4]), found[5]
        paths = [_decode(path) for path in re.findall(r"<((?:\\x[0-9a-f]{2})*|[^<>]*)>", words)]
        texts = [_bytes(text) for text in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', words)]
        number = re.match(r"\d+", words)
        place = (process, number[0] if number else "")
        if call == "openat" and opened:
            path = _decode(opened)
            offsets[process, str(result)] = 0
            if _inside(path, folder) and "O_CREAT" in words:
                steps.append(Step("open", path))
                if "O_TRUNC" in words:
                    steps.append(Step("truncate", path, 0))
        elif call == "write" and place[1] == "1" and texts and not (paths and _inside(paths[0], folder)):
            steps.append(Step("ack", "", data=texts[0]))
        elif call in ("write", "pwrite64") and paths and _inside(paths[0], folder):
            at = offsets.get(place, 0) if call == "write" else int(words.rpartition(",")[2])
            steps.append(Step("write", paths[0], at, texts[0][:result]))
            if call == "write":
                offsets[place] = at + result
        elif call == "lseek":
            offsets[place] = result
        elif call in ("fsync", "fdatasync") and paths and _inside(paths[0], folder):
            steps.append(Step("sync", paths[0]))
        elif call == "ftruncate" and paths and _inside(paths[0], folder):
            steps.append(Step("truncate", paths[0], int(words.rpartition(",")[2])))
        elif call in (
            "rename",
            "renameat",
            "renameat2",
            "link",
            "linkat",
            "unlink",
            "unlinkat",
            "mkdir",
            "mkdirat",
            "rmdir",
        ):
            steps += _names(call, words, paths, texts, folder)
    return steps


def _names(call: str, words: str, paths: list[str], texts: list[bytes], folder: str) -> list[Step]:
    folders = iter(paths if "at" in call else [])
    named = [_join(next(folders, ""), text.decode()) for text in texts]
    named = [path for path in named if _inside(path, folder)]
    if not named:
        return []
    if call.startswith("rename") and len(named) == 2:
        return [Step("rename", named[0], other=named[1])]
    if call.startswith("link") and len(named) == 2:
        return [Step("link", named[0], other=named[1])]
    if call.startswith("mkdir"):
        return [Step("mkdir", named[0])]
    return [Step("unlink", named[0])]


def _whole_lines(trace: str) -> list[str]:
    """Lines of calls that were interrupted by another thread's are put together."""
    unfinished: dict[str, str] = {}
    lines: list[str] = []
    for line in trace.splitlines():
        process = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>"):
            unfinished[process] = line.removesuffix(" <unfinished ...>")
        elif "resumed>" in line and process in unfinished:
            lines.append(unfinished.pop(process) + line.partition("resumed>")[2])
        else:
            lines.append(line)
    return lines


def _decode(text: str) -> str:
    return _bytes(text).decode("utf-8", "surrogateescape") if "\\x" in text else text


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _join(folder: str, name: str) -> str:
    return name if name.startswith("/") else f"{folder}/{name}"


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")
