"""The script and the stylesheet."""

from __future__ import annotations

import gzip

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
