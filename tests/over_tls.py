"""A server that speaks HTTPS with a certificate of its own, and knows one project."""

from __future__ import annotations

import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tests.needs import needs


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b'{"id": 12}')

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def over_tls(folder: Path) -> Generator[tuple[str, str]]:
    """The address of something that answers over TLS, and the file of the certificate it shows."""
    cert, key = folder / "cert.pem", folder / "key.pem"
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
