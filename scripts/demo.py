"""docs/demo.svg: a real session, run anew by `make docs` and by a test, drawn as a terminal.

Nothing in the picture is written by hand but the commands: what they answer is what they answered.
"""

import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "demo.svg"
BIN = Path(sys.executable).parent

SOURCE = """\
def total(cart):
    prices = [item.price for item in cart]
    return sum(prices) / len(prices)
"""
SESSION = [
    ("you, reviewing in lazygit", "postil inbox send -f cart.py -l 3 -c 'And an empty cart?'"),
    ("your assistant, at its next turn", "postil call check_lazygit_messages"),
    ("", "postil comments add cart.py 3 'An empty cart divides by zero' --tag FIXME"),
    ("", "postil inbox resolve 1 --reply 'An empty cart costs nothing now'"),
    ("you", "postil status"),
]
LINE, WIDTH, LEFT = 20, 860, 20


def recorded() -> list[tuple[str, str, list[str]]]:
    """Who, which command, and the lines it printed."""
    with tempfile.TemporaryDirectory(prefix="postil-demo-") as home:
        shop = Path(home) / "shop"
        shop.mkdir()
        (shop / "cart.py").write_text(SOURCE)
        identity = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
        committer = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
        environ = {"HOME": home, "PATH": f"{BIN}:{os.environ['PATH']}", "LANG": "C.UTF-8", **identity, **committer}
        ready = "git init -q -b main && git add . && git commit -qm first"
        subprocess.run(["bash", "-c", ready], cwd=shop, env=environ, check=True)
        return [(who, command, answered(command, shop, environ)) for who, command in SESSION]


def answered(command: str, folder: Path, environ: dict[str, str]) -> list[str]:
    """What a command printed, without what differs from run to run."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command} exited {done.returncode}: {done.stderr}")
    shown = done.stdout.rstrip().replace(str(folder.resolve()), "~/shop")
    shown = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-11-15T09:30:00Z", shown)
    shown = re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", "5f1c0d2e-…", shown)
    shown = re.sub(r"\b(c|gm)_\d+", r"\1_17947", shown)
    return [line for line in shown.splitlines() if line.strip()]


def svg() -> str:
    """The picture."""
    rows: list[str] = []

    def draw(text: str, kind: str) -> None:
        rows.append(f'<text x="{LEFT}" y="{56 + len(rows) * LINE}" class="{kind}">{escape(text[:100])}</text>')

    for who, command, lines in recorded():
        if who:
            if rows:
                draw("", "out")
            draw(f"# {who}", "who")
        draw(f"$ {command}", "cmd")
        for line in lines:
            draw(line, "out")
    height = 76 + len(rows) * LINE
    style = (
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}"
        ".who{fill:#7d8590}.cmd{fill:#7ee787}.out{fill:#e6edf3}"
    )
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" '
                'role="img" aria-label="A remark made in review reaches the assistant, which answers it">'
            ),
            f"<style>{style}</style>",
            f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#0d1117"/>',
            *(f'<circle cx="{24 + i * 20}" cy="22" r="6" fill="#30363d"/>' for i in range(3)),
            *rows,
            "</svg>",
            "",
        ]
    )
