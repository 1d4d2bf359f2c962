"""What docs/deploy.md shows is taken by the program as it stands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from postil.settings.load import load
from postil.surfaces.http.serve import check_reach
from tests.needs import ROOT

TEXT = (ROOT / "docs" / "deploy.md").read_text("utf-8")


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert tomllib.loads(block)
    (tmp_path / "postil.toml").write_text(block)
    settings = load({"HOME": str(tmp_path)}, str(tmp_path), file=str(tmp_path / "postil.toml"))
    assert settings.http.trusted_proxies == ("127.0.0.1",)
    assert settings.warnings == ()


def test_the_container_of_the_page_would_listen(tmp_path: Path) -> None:
    environ = dict(re.findall(r"-e (\w+)=(\S+)", TEXT))
    assert {"GITLAB_URL", "POSTIL_TRUSTED_PROXIES", "POSTIL_ALLOWED_HOSTS"} <= set(environ)
    flags = {"http": {"auth": "pat", "behind_proxy": True}}
    check_reach("0.0.0.0", load({"HOME": str(tmp_path), **environ}, str(tmp_path), flags))
