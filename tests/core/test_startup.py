"""Importing less: what is left out is not there, and whoever needs it gets it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.over_tls import over_tls

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
    ours = {"postil.core.ports", "postil.core.arguments", "postil.gitlab.part", "postil.wire.runtime.work"}
    assert loaded & (unwanted | ours) == set()


def test_a_server_that_has_started_looks_for_garbage_as_often_as_before() -> None:
    """Only the start does without: a process that lives for weeks must not keep what nobody needs."""
    code = (
        "import gc; from postil.core.startup import prepare, end_start; prepare();"
        "assert gc.get_threshold()[0] == 50_000; end_start();"
        "assert gc.get_freeze_count() > 1000; assert gc.get_threshold()[0] == 10_000"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def gitlab(tmp_path: Path) -> Generator[tuple[str, str]]:
    with over_tls(tmp_path) as served:
        yield served


LATER = """
import sys
from postil.core.startup import give_asyncio_tls, import_without
import_without("asyncio", "ssl")
import asyncio
assert "ssl" not in sys.modules and asyncio.base_events.ssl is None
from urllib.parse import urlsplit
from postil.gitlab.instance.client import Instance
from postil.settings.model import GitLabSettings
address, cert = sys.argv[1:]

async def ask():
    global ssl
    instance = Instance(address, trust=GitLabSettings(ca_file=cert).trust)
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
