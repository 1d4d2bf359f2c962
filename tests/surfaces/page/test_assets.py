"""The script and the stylesheet."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

from postil.surfaces.page.assets import NAMES, find_asset, read_assets

LARGEST = 60_000


def test_all_files_together_are_small() -> None:
    assert (
        sum(len(asset.packed) for asset in read_assets().values()) <= LARGEST // 2
    )  # the first page itself is the rest


def test_a_file_is_found_by_the_name_of_its_content() -> None:
    for name in NAMES:
        asset = read_assets()[name]
        assert find_asset(asset.address) is asset
        assert gzip.decompress(asset.packed) == asset.content
    assert find_asset("/assets/page.js") is None
    assert find_asset("/assets/../site.py") is None


def test_the_script_uses_nothing_that_the_policy_forbids() -> None:
    script = read_assets()["page.js"].content.decode()
    for word in (
        "eval(",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "new Function",
        "http://",
        "https://",
    ):
        assert word not in script
    assert b"url(" not in read_assets()["page.css"].content
    assert b"@import" not in read_assets()["page.css"].content


def test_a_server_on_stdio_imports_nothing_of_the_page(tmp_path: Path) -> None:
    words = [sys.executable, "-X", "importtime", "-m", "postil", "serve"]
    greeting = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n'
    done = subprocess.run(words, input=greeting, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert '"serverInfo"' in done.stdout
    assert "postil.wire" in done.stderr
    assert "surfaces.page" not in done.stderr
