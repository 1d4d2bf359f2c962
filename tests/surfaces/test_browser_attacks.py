"""A web page on another origin, in a real browser, against a server on this machine that asks for no token at all.

The worst case on purpose: what protects here is the check of Host and Origin alone.
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.needs import needs
from tests.surfaces.attacking_site import attacking_site
from tests.wire.http_client import Running, running

ATTACK = """<!doctype html><html><body><pre id="log">started\n</pre>
<img src="TARGET/mcp"><img src="TARGET/healthz">
<iframe name="sink" style="display:none"></iframe>
<form id="form" method="post" enctype="text/plain" target="sink" action="TARGET/mcp">
<input name='{"jsonrpc":"2.0","id":1,"method":"count","params":{},"x":"' value='"}'></form>
<script>
const call = JSON.stringify({jsonrpc: "2.0", id: 1, method: "count", params: {}});
const log = text => document.getElementById("log").textContent += text + "\\n";
const tried = (name, work) => work.then(r => log(name + " " + r), e => log(name + " refused"));
const post = (headers, mode) =>
  fetch("TARGET/mcp", {method: "POST", body: call, headers, mode}).then(r => r.status + " " + r.type);
tried("json", post({"Content-Type": "application/json"}, "cors"));
tried("plain", post({"Content-Type": "text/plain"}, "cors"));
tried("opaque", post({"Content-Type": "text/plain"}, "no-cors"));
tried("read", fetch("TARGET/healthz").then(r => r.text()));
document.getElementById("form").submit();
const events = new EventSource("TARGET/mcp");
events.onopen = () => log("events open"); events.onerror = () => log("events refused");
const socket = new WebSocket("TARGET/mcp".replace("http", "ws"));
socket.onopen = () => log("socket open"); socket.onerror = () => log("socket refused");
navigator.sendBeacon("TARGET/mcp", new Blob([call], {type: "text/plain"}));
setTimeout(() => log("finished"), 2500);
</script></body></html>"""


def browse(address: str, profile: Path, *words: str) -> str:
    """What a page shows after its scripts have run."""
    command = [
        needs("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=6000", *words, "--dump-dom", address,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_has_no_effect_and_reads_nothing(name: str, tmp_path: Path) -> None:
    with running() as server, ExitStack() as stack:
        text = ATTACK.replace("TARGET", f"http://{name}:{server.port}")
        attack = stack.enter_context(attacking_site(text, "localhost"))
        shown = browse(attack, tmp_path)
        assert "started" in shown
        for attempt in ("json", "plain", "read", "socket"):
            assert f"{attempt} refused" in shown, shown
        assert "open" not in shown.split("</pre>")[0]
        assert server.echo.count == 0
        refused(server)


@pytest.mark.slow
def test_a_name_rebound_to_this_machine_is_not_served(tmp_path: Path) -> None:
    with running() as server:
        rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
        shown = browse(f"http://evil.example:{server.port}/version", tmp_path, rules)
        assert "this Host or Origin is not served here" in shown
        assert "echo" not in shown


def refused(server: Running) -> None:
    """The attack did arrive: it was refused here and not lost on the way."""
    assert server.app.metrics.refused.get(403, 0) >= 3, server.app.metrics.refused
