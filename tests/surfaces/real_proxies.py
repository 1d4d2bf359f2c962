"""nginx and Caddy in front of replicas, with the settings of docs/deploy.md for many replicas."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.needs import ROOT, needs

_PAGE = (ROOT / "docs" / "deploy.md").read_text("utf-8")


def _read_block(language: str, holds: str) -> str:
    """The block of the page in this language that holds this text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", _PAGE, re.DOTALL)
    (found,) = [block for block in blocks if holds in block]
    return found


class RealProxy:
    """A proxy that is a program of its own, on a free port of this machine."""

    def __init__(self, command: list[str], folder: tempfile.TemporaryDirectory[str], port: int) -> None:
        self.port = port
        self._folder = folder
        home = Path(folder.name)
        environ = {**os.environ, "HOME": folder.name, "XDG_DATA_HOME": folder.name, "XDG_CONFIG_HOME": folder.name}
        with open(home / "log", "wb") as log:
            self._process = subprocess.Popen(command, cwd=home, env=environ, stdout=log, stderr=log)
        end = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                return
            except OSError:
                said = (home / "log").read_text()
                assert self._process.poll() is None, said
                assert time.monotonic() < end, said
                time.sleep(0.02)

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(60)
        self._folder.cleanup()


def _find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Nginx(RealProxy):
    """nginx, with the upstream and the location of the page."""

    def __init__(self, replicas: Sequence[int]) -> None:
        folder, port = tempfile.TemporaryDirectory(prefix="postil-nginx-"), _find_port()
        block = _read_block("nginx", "upstream postil")
        addresses = iter(replicas)
        upstream = re.sub(r"10\.0\.0\.\d+:3000", lambda _: f"127.0.0.1:{next(addresses)}", block.partition("# and")[0])
        settings = "\n".join(re.findall(r"^#   (proxy_\w+ [^;]*;)", block, re.MULTILINE))
        whole = _read_block("nginx", "ssl_certificate ")
        shared = "\n".join(re.findall(r"^    (proxy_(?!pass)[^;]*;)", whole, re.MULTILINE))
        user = "user root;" if os.geteuid() == 0 else ""
        temporary = "\n".join(
            f"{name}_temp_path {folder.name}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        Path(folder.name, "nginx.conf").write_text(f"""
            {user} daemon off; pid {folder.name}/pid; error_log stderr; events {{ worker_connections 512; }}
            http {{ access_log off; {temporary} {upstream}
            server {{ listen 127.0.0.1:{port}; client_max_body_size 4m; location / {{ {settings} {shared} }} }} }}
        """)
        super().__init__([needs("nginx"), "-p", folder.name, "-c", f"{folder.name}/nginx.conf"], folder, port)


class Caddy(RealProxy):
    """Caddy, with the reverse proxy of the page."""

    def __init__(self, replicas: Sequence[int]) -> None:
        folder, port = tempfile.TemporaryDirectory(prefix="postil-caddy-"), _find_port()
        addresses = iter(replicas)
        block = _read_block("caddyfile", "10.0.0.11:3000")
        block = re.sub(r"10\.0\.0\.\d+:3000", lambda _: f"127.0.0.1:{next(addresses)}", block)
        file = Path(folder.name, "Caddyfile")
        file.write_text(f"{{\nadmin off\nauto_https off\n}}\nhttp://127.0.0.1:{port} {{\n{block}\n}}\n")
        super().__init__([needs("caddy"), "run", "--config", str(file), "--adapter", "caddyfile"], folder, port)
