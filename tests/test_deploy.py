"""docs/deploy.md, followed literally: the unit, the settings, the container, and both proxies with the real programs.

Only what belongs to one machine is put in place of what the page says: folders, ports and certificates.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from postil.settings.load import load
from postil.surfaces.http.serve import check_reach
from tests.needs import ROOT, needs

TEXT = (ROOT / "docs" / "deploy.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    for number, block in enumerate(blocks("toml")):
        assert tomllib.loads(block)
        (tmp_path / "postil.toml").write_text(block)
        settings = load({"HOME": str(tmp_path)}, str(tmp_path), file=str(tmp_path / "postil.toml"))
        assert settings.warnings == ()
        assert number or settings.http.trusted_proxies == ("127.0.0.1",)  # the first is the whole file of one machine


# -- the unit ------------------------------------------------------------------------------------------------


def test_the_unit_is_hardened_as_the_page_says(tmp_path: Path) -> None:
    (unit,) = blocks("ini")
    (tmp_path / "postil.service").write_text(unit)
    words = [needs("systemd-analyze"), "security", "--no-pager", "--offline=true", str(tmp_path / "postil.service")]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60)
    rated = re.search(r"Overall exposure level for postil\.service: ([\d.]+)", said.stdout)
    assert rated is not None, said.stdout + said.stderr
    assert float(rated[1]) <= 3.0
    (stated,) = re.findall(r"systemd-analyze security postil` rates it ([\d.]+)", TEXT)
    assert abs(float(rated[1]) - float(stated)) < 0.5  # versions weigh a little differently


def test_every_folder_that_the_unit_needs_is_made_by_the_page_or_by_systemd() -> None:
    (unit,) = blocks("ini")
    settings = dict(line.split("=", 1) for line in unit.splitlines() if re.match(r"[A-Za-z]+=", line))
    first = blocks("sh")[0]
    for folder in (settings["WorkingDirectory"], settings["ReadWritePaths"]):
        assert re.search(rf"install -d[^\n]* {re.escape(folder)}\b", first)
    assert f"useradd --system --home-dir /var/lib/{settings['StateDirectory']}" in first
    assert f" {settings['User']}\n" in first
    program = shlex.split(settings["ExecStart"])[0]
    assert program.startswith("/opt/postil/bin/")
    assert "python3 -m venv /opt/postil" in first
    home = re.search(r"XDG_STATE_HOME=(\S+)", unit)
    assert home is not None
    assert f"{home[1]}/postil" == f"/var/lib/{settings['StateDirectory']}"


# -- the container ------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    (file,) = blocks("dockerfile")
    joined = re.sub(r"\\\n\s*", " ", file)
    lines = [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def test_the_container_file_keeps_the_usual_rules() -> None:
    made = instructions()
    words = [word for word, _ in made]
    assert words[0] == "FROM"
    assert re.fullmatch(r"[a-z]+:\d[\w.-]*", made[0][1]), "an image with its version, never latest"
    assert set(words) <= {"FROM", "RUN", "COPY", "USER", "WORKDIR", "EXPOSE", "CMD", "ENV"}, "no ADD, no secrets as ARG"
    for word, rest in made:
        if word == "RUN" and "apt-get install" in rest:
            assert rest.startswith("apt-get update && ")
            assert "--no-install-recommends" in rest
            assert "-y" in rest.split()
            assert rest.endswith("rm -rf /var/lib/apt/lists/*")
        if word == "RUN" and "pip install" in rest:
            assert rest.count("--no-cache-dir") == rest.count("pip install")
            assert "--require-hashes -r /src/requirements.lock" in rest
        if word in ("RUN", "CMD"):
            assert "sudo" not in rest
        if word == "CMD":
            assert re.fullmatch(r'\[("[^"]+"(, )?)+\]', rest), "no shell in between: signals reach the server"
        if word == "WORKDIR":
            assert rest.startswith("/")
    last_user = max(place for place, word in enumerate(words) if word == "USER")
    assert made[last_user][1] != "root"
    assert last_user < words.index("CMD")


def test_what_is_copied_into_the_container_leaves_the_machines_own_folders_out() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".git", ".venv", ".tools", "**/node_modules"} <= set(ignored)
    needed = ("src", "pyproject.toml", "requirements.lock", "README.md", "LICENSE")
    assert not {name for name in needed if name in ignored}


def test_the_container_of_the_page_would_listen(tmp_path: Path) -> None:
    environ = dict(re.findall(r"-e (\w+)=(\S+)", TEXT))
    assert {"GITLAB_URL", "POSTIL_TRUSTED_PROXIES", "POSTIL_ALLOWED_HOSTS"} <= set(environ)
    flags = {"http": {"auth": "pat", "behind_proxy": True}}
    check_reach("0.0.0.0", load({"HOME": str(tmp_path), **environ}, str(tmp_path), flags))


@pytest.mark.timeout(300)
def test_the_commands_of_the_container_install_a_server_that_runs(tmp_path: Path) -> None:
    """What COPY brings is installed in a clean folder by the page's own commands; the packages come from the lock."""
    image = install_image(tmp_path)
    (command,) = [rest for word, rest in instructions() if word == "CMD"]
    program, *words = re.findall(r'"([^"]+)"', command)
    words[words.index("0.0.0.0:3000")] = "0.0.0.0:0"
    environ = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        **dict(re.findall(r"-e (\w+)=(\S+)", TEXT)),
        "GITLAB_URL": "http://127.0.0.1:1",
    }
    started = [str(image / "bin" / program), *words]
    with subprocess.Popen(started, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            found = re.search(r"serving http://0\.0\.0\.0:(\d+)/mcp", line)
            assert found is not None, line + process.stderr.read()
            health = fetch(f"http://127.0.0.1:{found[1]}/healthz")
            assert health == '{"status":"ok"}'
        finally:
            process.terminate()
            process.communicate(timeout=20)
        assert process.returncode == 128 + 15  # SIGTERM is heard


def install_image(tmp_path: Path) -> Path:
    """A folder like the container's: what COPY would bring, installed by the page's own pip commands."""
    source = tmp_path / "src"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in listed.decode().split("\0"):
        if name.startswith(("src/", "pyproject.toml", "requirements.lock", "README.md", "LICENSE")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    (run,) = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    locked, package, compiled = [piece.strip() for piece in run.split("&&")]
    assert locked.split()[:2] == package.split()[:2] == ["pip", "install"]
    assert compiled.startswith("python -m compileall")
    image = tmp_path / "image"
    # The lock is what the virtual environment of the tests was installed from, by the same words (Makefile): its
    # packages are seen here, and no network is needed. The package itself is installed anew.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(image)], check=True)
    (site,) = (image / "lib").glob("python3*/site-packages")
    packages = next((ROOT / ".venv" / "lib").glob("python3*/site-packages"))
    (site / "lock.pth").write_text(f"{packages}\n")
    words = package.replace("/src", str(source)).split()[1:]
    subprocess.run(
        [str(image / "bin" / "python"), "-m", "pip", *words, "--ignore-installed", "--quiet"],
        check=True,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1"},
    )
    assert "--require-hashes -r requirements.lock" in (ROOT / "Makefile").read_text("utf-8")
    said = subprocess.run(
        [str(image / "bin" / "python"), "-c", "import postil; print(postil.__file__)"],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"HOME": str(tmp_path)},
    )  # fmt: skip
    assert said.stdout.startswith(str(image))
    return image


def fetch(url: str) -> str:
    from urllib.request import ProxyHandler, build_opener

    with build_opener(ProxyHandler({})).open(url, timeout=20) as answer:
        return answer.read().decode()
