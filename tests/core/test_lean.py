"""Importing less: what is left out is not there, and whoever needs it gets it."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.needs import needs

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"test","version":"1"}}}\n'
)


def test_a_server_on_stdio_starts_without_tls_and_other_heavy_things(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    program = Path(sys.executable).with_name("postil")
    command = [sys.executable, "-X", "importtime", str(program), "serve"]
    done = subprocess.run(command, cwd=tmp_path, input=INITIALIZE, capture_output=True, timeout=60, check=True)
    assert b'"serverInfo"' in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "asyncio" in loaded
    unwanted = {"_ssl", "argparse", "http.client", "httpx2", "sqlite3", "email", "shutil"}
    assert loaded & (unwanted | {"postil.core.ports", "postil.gitlab.service"}) == set()


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b'{"id": 12}')

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def gitlab(tmp_path: Path) -> Generator[tuple[str, str]]:
    """The address of something that answers over TLS, and the certificate it shows."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = [needs("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}", str(cert)
        server.shutdown()
        thread.join(10)


LATER = """
import sys
from postil.core.lean import give_asyncio_tls, import_without
import_without("asyncio", "ssl")
import asyncio
assert "ssl" not in sys.modules and asyncio.base_events.ssl is None
from urllib.parse import urlsplit
from postil.gitlab.instance import Instance
address, cert = sys.argv[1:]

async def ask():
    global ssl
    instance = Instance(address, ca_file=cert)
    print((await instance.get("projects/12", token="glpat-x")).body.decode())
    await instance.close()
    import ssl
    parts, trusting = urlsplit(address), ssl.create_default_context(cafile=cert)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=trusting)
    writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print((await reader.read()).splitlines()[-1].decode())
    writer.close()

asyncio.run(ask())
for name, module in sys.modules.items():
    assert not name.startswith("asyncio") or vars(module).get("ssl", ssl) is not None, name
"""


def test_tls_is_spoken_later_by_a_process_that_started_without(gitlab: tuple[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", LATER, *gitlab], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ['{"id": 12}', '{"id": 12}']
