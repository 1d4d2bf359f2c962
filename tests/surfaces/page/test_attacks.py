"""A page of another origin, in the browser that is let in: it changes nothing, reads nothing and shows nothing of us.

Another port of this machine is the same site, so the cookie is sent along: what protects is the rest.
"""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.surfaces.attacking_site import attacking_site
from tests.surfaces.page.pages import PATIENCE, ServedPage, browse

expect.set_options(timeout=PATIENCE)
ATTACK = """<!doctype html><title>attack</title><pre id="log"></pre>
<iframe id="frame" src="TARGET/inbox"></iframe><iframe name="sink"></iframe>
<form id="form" method="post" target="sink" action="TARGET/changes/remark">
<input name="file" value="greet.py"><input name="line" value="1"><input name="comment" value="planted"></form>
<form id="plain" method="post" enctype="text/plain" target="sink" action="TARGET/changes/send"></form>
<script>
const log = (text) => document.getElementById("log").textContent += text + "\\n";
const tried = (name, work) => work.then((r) => log(name + " " + r), () => log(name + " refused"));
const fields = new URLSearchParams({file: "greet.py", line: "1", comment: "planted"});
const all = [
  tried("read", fetch("TARGET/inbox", {credentials: "include"}).then((r) => r.text())),
  tried("opaque", fetch("TARGET/inbox", {credentials: "include", mode: "no-cors"}).then((r) => "is " + r.type)),
  tried("write", fetch("TARGET/changes/remark",
    {method: "POST", body: fields, credentials: "include"}).then((r) => r.status)),
  tried("blind", fetch("TARGET/changes/remark",
    {method: "POST", body: fields, credentials: "include", mode: "no-cors"}).then((r) => "is " + r.type)),
  tried("token", fetch("TARGET/open", {method: "POST", credentials: "include"}).then((r) => r.text())),
  new Promise((done) => { const events = new EventSource("TARGET/live?of=inbox", {withCredentials: true});
    events.onopen = () => { log("events open"); done(); };
    events.onerror = () => { log("events refused"); events.close(); done(); }; }),
  new Promise((done) => { const script = document.createElement("script"); script.src = "TARGET/inbox";
    script.onload = () => { log("script open"); done(); }; script.onerror = () => { log("script refused"); done(); };
    document.head.append(script); }),
];
document.getElementById("form").submit();
document.getElementById("plain").submit();
const opened = window.open("TARGET/inbox", "victim");
Promise.all(all).then(() => log("finished"));
</script>"""


def test_another_origin_changes_reads_and_frames_nothing(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served) as page, attacking_site(ATTACK.replace("TARGET", served.base), "127.0.0.1") as attack:
        before = served.call("inbox_list")
        other = page.context.new_page()
        other.goto(attack)
        log = other.locator("#log")
        expect(log).to_contain_text("finished")
        for attempt in ("read", "write", "token", "events", "script"):
            expect(log).to_contain_text(f"{attempt} refused")
        assert "Inbox" not in log.inner_text()
        framed = [frame.content() for frame in other.frames if frame.parent_frame is not None]
        assert framed
        assert not [content for content in framed if "Nothing is open" in content or "Inbox" in content]
        page.goto(served.base + "/inbox")
        expect(page.locator("h1")).to_have_text("Inbox")
        assert "planted" not in page.content()
        assert served.call("inbox_list") == before


def test_going_back_after_leaving_shows_nothing(browser: Browser, served: ServedPage) -> None:
    with browse(browser, served) as page:
        expect(page.locator("h1")).to_contain_text("Changes")
        page.evaluate(
            "() => { const form = document.createElement('form'); form.method = 'post'; form.action = '/leave';"
            "form.dataset.plain = ''; form.append(document.querySelector('#form-token').content.cloneNode(true));"
            "document.body.append(form); form.submit(); }"
        )
        expect(page.locator(".door")).to_be_visible()
        page.go_back()
        expect(page.locator(".door")).to_be_visible()
        assert "greet.py" not in page.content()
