"""Real nginx and real Caddy before a server, each with the text of a page; ports, folders and certificates are ours."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.needs import needs

NAME = "postil.example.org"
TRIES = 5


class Proxy:
    """A running proxy that speaks HTTPS for `postil.example.org`."""

    def __init__(self, port: int, cert: Path) -> None:
        self.port = port
        self.tls = ssl.create_default_context(cafile=str(cert))

    def connect(self, timeout: float = 60) -> http.client.HTTPSConnection:
        """A connection to it, under its name."""
        connection = http.client.HTTPSConnection(NAME, self.port, timeout=timeout, context=self.tls)
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        connection.sock = self.tls.wrap_socket(raw, server_hostname=NAME)
        return connection

    def post(self, body: object, token: str, **headers: str) -> tuple[int, Any, http.client.HTTPResponse]:
        """Status, body as JSON where it is, and the answer itself."""
        connection = self.connect()
        try:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(
                "POST",
                "/mcp",
                raw,
                {"Host": NAME, "Content-Type": "application/json", "Authorization": f"Bearer {token}", **named},
            )
            answer = connection.getresponse()
            said = answer.read()
            try:
                return answer.status, json.loads(said), answer
            except ValueError:
                return answer.status, said, answer
        finally:
            connection.close()


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for the name of the page, and its key."""
    cert, key = folder / "postil.pem", folder / "postil.key"
    words = [needs("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"]
    words += ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(words, check=True, capture_output=True)
    return cert, key


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def nginx(text: str, folder: Path, backends: dict[str, int]) -> Generator[Proxy]:
    """nginx with what the page writes between `http { }`."""
    folder.mkdir(parents=True, exist_ok=True)
    cert, key = make_certificate(folder)
    text = _replace(text, backends).replace("/etc/ssl/postil.pem", str(cert)).replace("/etc/ssl/postil.key", str(key))
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    for _ in range(TRIES):
        port = free_port()
        listening = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        assert listening != text
        (folder / "nginx.conf").write_text(
            f"user root;\ndaemon off;\nworker_processes 1;\npid {folder}/nginx.pid;\nerror_log stderr notice;\n"
            f"events {{ }}\nhttp {{\naccess_log off;\n{temporary}{listening}\n}}\n"
        )
        command = [needs("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
        with _started(command, "start worker process ", "Address already in use", folder) as began:
            if began:
                yield Proxy(port, cert)
                return
    raise AssertionError("nginx found no free port")


@contextmanager
def caddy(text: str, folder: Path, backends: dict[str, int]) -> Generator[Proxy]:
    """Caddy with the page's site; its certificate is a file, since nobody gives it one here."""
    folder.mkdir(parents=True, exist_ok=True)
    cert, key = make_certificate(folder)
    text = _replace(text, backends)
    for _ in range(TRIES):
        port = free_port()
        site = text.replace(f"{NAME} {{", f"{NAME}:{port} {{\n  bind 127.0.0.1\n  tls {cert} {key}", 1)
        assert site != text
        (folder / "Caddyfile").write_text(f"{{\n  admin off\n  auto_https disable_redirects\n}}\n{site}")
        command = [needs("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
        with _started(command, "serving initial configuration", "address already in use", folder) as began:
            if began:
                yield Proxy(port, cert)
                return
    raise AssertionError("Caddy found no free port")


def _replace(text: str, backends: dict[str, int]) -> str:
    for address, port in backends.items():
        assert address in text, address
        text = text.replace(address, f"127.0.0.1:{port}")
    return text


@contextmanager
def _started(command: Sequence[str], ready: str, taken: str, folder: Path) -> Generator[bool]:
    """Whether the program serves; False where its port was taken meanwhile. What it says goes on into a file."""
    environ = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "PATH": "/usr/bin:/bin",
    }
    with (folder / "said.log").open("w+") as said:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ)
        assert process.stderr is not None
        try:
            began = False
            for line in process.stderr:
                said.write(line)
                if ready in line:
                    began = True
                    break
                if taken.lower() in line.lower():
                    break
            else:
                said.seek(0)
                raise AssertionError(f"{Path(command[0]).name} did not start: {said.read()}")
            pump = threading.Thread(target=said.writelines, args=(process.stderr,), daemon=True)
            pump.start()
            try:
                yield began
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                pump.join(10)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stderr.close()
