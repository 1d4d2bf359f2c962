"""A GitLab whose certificate comes from an authority of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from postil.settings.model import GitLabSettings
from postil.surfaces.gateway.gitlab_tokens import GitLabTokens
from postil.surfaces.gateway.refused import Unavailable
from tests.over_tls import over_tls


@pytest.fixture
def gitlab(tmp_path: Path) -> Generator[tuple[str, str]]:
    with over_tls(tmp_path) as served:
        yield served


def postil(gitlab: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("postil")
    given = {**os.environ, "GITLAB_URL": gitlab, "GITLAB_TOKEN": "glpat-x", **environ}
    words = [str(program), "gitlab", "project", "12", "--json"]
    return subprocess.run(words, cwd=folder, env=given, capture_output=True, text=True, timeout=60)


def test_a_gitlab_with_an_authority_of_its_own_is_trusted_where_it_is_named(
    gitlab: tuple[str, str], tmp_path: Path
) -> None:
    address, cert = gitlab
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert json.loads(postil(address, tmp_path, GITLAB_CA_FILE=cert).stdout)["id"] == 12
    distrusted = postil(address, tmp_path)
    assert distrusted.returncode == 4
    assert "certificate" in distrusted.stderr.lower()
    for file, reason in (("/nowhere.pem", "No such file"), (__file__, "it holds no certificate")):
        refused = postil(address, tmp_path, GITLAB_CA_FILE=file)
        assert refused.returncode == 2
        assert reason in refused.stderr
        assert "GITLAB_CA_FILE" in refused.stderr


def test_callers_tokens_are_verified_under_the_same_certificates(gitlab: tuple[str, str]) -> None:
    address, cert = gitlab

    async def verified(settings: GitLabSettings) -> str:
        ways = GitLabTokens(settings.url, trust=settings.trust)
        found = await ways.identify("glpat-token-of-somebody", {}, _allowed)
        assert found is not None
        return found.caller.principal

    assert asyncio.run(verified(GitLabSettings(url=address, ca_file=cert))).endswith(":12")
    with pytest.raises(Unavailable):
        asyncio.run(verified(GitLabSettings(url=address)))


async def _allowed() -> None:
    return
