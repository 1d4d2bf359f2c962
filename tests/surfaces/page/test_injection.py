"""Scripts in every field, in a real browser: nothing runs, and every word is shown as it was written."""

from __future__ import annotations

import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.emulator.app import Emulator
from tests.emulator.changes import changed as changed_file
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, serve_page, wait_until_live
from tests.surfaces.programs import run
from tests.workspace.repositories import git, new_repository

expect.set_options(timeout=PATIENCE)
RUN = "window.ran=1"
CORPUS = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><svg onload={RUN}>',
    f"' onmouseover='{RUN}' autofocus onfocus='{RUN}",
    f"javascript:{RUN}",
    f"</textarea><script>{RUN}</script>",
    f"</template></title></style><script>{RUN}</script>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"<a href='javascript:{RUN}'>x</a><math><mi xlink:href='data:x,<script>{RUN}</script>'>",
    f"&lt;script&gt;{RUN}&lt;/script&gt; &#x3c;script&#x3e;",
    f"<!--<img src=--><img src=x onerror={RUN}>//\u2028{RUN}",
    f"{{{{constructor.constructor('{RUN}')()}}}} ${{{RUN}}}",
)
VIEWS = (
    "/changes", "/changes?layout=split", "/changes?scope=HEAD", "/inbox", "/inbox?closed=1", "/inbox/1", "/help",
    "/issues", "/issues?q=%22%3E%3Csvg%20onload%3Dwindow.ran%3D1%3E", "/board", "/board?by=label",
    "/board?by=milestone", "/milestones", "/comments", "/comments/file?file=plain.txt", "/comments/doubts", "/gitlab",
)  # fmt: skip
"""The addresses of every view; a view that is added stands here too."""


def hostile_repository(folder: Path) -> Path:
    """Every name and text that git holds is a script."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "plain.txt").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", CORPUS[0])
    names = [text.replace("/", "∕")[:100] for text in CORPUS]
    for name in names:
        (folder / f"{name}.py").write_text("\n".join(CORPUS) + "\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", CORPUS[1], "--author", f"{CORPUS[2].replace('<', '(')} <a@example.org>")
    git(folder, "checkout", "-qb", "branch-'onerror='x")
    git(folder, "mv", f"{names[0]}.py", f"moved {names[0]}.py")
    for name in names[1:]:
        (folder / f"{name}.py").write_text("x = '''\n" + "\n".join(reversed(CORPUS)) + "\n'''\n")
    return folder


OUR_NAMES = ("changes", "content", "form-token", "remark-form", "says", "send", "theme")
"""Names of elements that the page's script looks for."""


def converse(served: ServedPage) -> None:
    """Every field of a conversation is a script."""
    state = {"XDG_STATE_HOME": str(served.folder.parent / "state")}

    def send(*words: str) -> subprocess.CompletedProcess[str]:
        done = run("postil", "inbox", *words, cwd=served.folder, **state)
        assert done.returncode == 0, done.stderr
        return done

    for text in CORPUS:
        send("send", "-f", "plain.txt", "-l", "1", "-c", text, "--suggest", text)
    file = next(path.name for path in served.folder.iterdir() if path.name.startswith("<img"))
    send("send", "-f", file, "-l", "2", "-c", CORPUS[1], "--draft")
    send("submit", "--summary", CORPUS[3])
    for _ in range(4):
        served.call("check_lazygit_messages")
    for number, text in enumerate(CORPUS, 1):
        served.call("inbox_reply", id=number, text=text)
    served.call("inbox_resolve", id=2, outcome="declined", reply=CORPUS[4])


def plan(served: ServedPage) -> list[str]:
    """Every field of issues, milestones and comments is a script. Returns the addresses of one of each."""
    mile = served.call("git_mile_create", entity="milestone", title=CORPUS[0], description=CORPUS[5])["id"]
    made: list[str] = []
    for text in CORPUS:
        label = text.replace(",", " ")[:100]
        one = served.call("git_mile_create", title=text, description=f"- [ ] {text}", labels=[label], milestone=mile)
        served.call("git_mile_comment", id=one["id"], body=text)
        served.call("git_mile_claim", id=one["id"], who=text[:60].replace("\u2028", " "))
        served.call("add_comment", filePath="plain.txt", line=1, text=text, author=text[:60].replace("\u2028", " "))
        made.append(one["id"])
    served.call("git_mile_link", id=made[0], type="blocks", target=made[1])
    return [f"/milestones/{mile}", *(f"/issues/{id_}" for id_ in made[:4]), f"/issues/{made[0]}/log"]


def test_no_field_of_any_record_runs(browser: Browser, tmp_path: Path) -> None:
    with serve_page(hostile_repository(tmp_path / "repo")) as served:
        converse(served)
        with browse(browser, served) as page:
            said: list[str] = []
            page.on("dialog", lambda dialog: said.append(dialog.message))
            page.on("console", lambda message: said.append(message.text) if "Security" in message.text else None)
            for path in (*VIEWS, *plan(served)):
                page.goto(served.base + path)
                expect(page.locator("h1, .history").first).to_be_visible()
                scroll_through(page)
                assert page.evaluate("window.ran") is None, path
                assert page.locator("main script, main iframe, main svg, main math, main object").count() == 0
                assert (
                    page.locator("main img[src='x'], [onerror], [onload], [onfocus], a[href^='javascript']").count()
                    == 0
                )
            page.goto(served.base + "/inbox?closed=1")
            for number, text in enumerate(CORPUS, 1):
                expect(page.locator(f"#m{number} > p.said").last).to_have_text(text, use_inner_text=False)
            # Addresses and forms are fields too.
            for text in CORPUS:
                page.goto(served.base + "/changes?scope=" + page.evaluate("encodeURIComponent", text))
                assert page.evaluate("window.ran") is None
                expect(page.locator("h1").first).to_be_visible()
            assert said == []


def test_no_value_of_gitlab_runs(browser: Browser, tmp_path: Path) -> None:
    """Titles, branches, files, notes, labels, people and addresses that a project at GitLab holds."""
    emulator = Emulator()
    world, project = emulator.world, emulator.world.projects[0]
    request = project.merge_requests[0]
    request |= {"title": CORPUS[1], "description": CORPUS[2], "source_branch": CORPUS[3], "labels": [*CORPUS[4:7]]}
    for row in (*project.merge_requests, *project.issues, *project.pipelines):
        row |= {name: f"javascript:{RUN}//" for name in ("web_url", "avatar_url") if name in row}
        row |= {name: CORPUS[2] for name in ("ref", "title") if name in row}
    for user in world.users.values():
        user |= {"name": CORPUS[1], "avatar_url": f"javascript:{RUN}", "web_url": f"javascript:{RUN}"}
    files = [changed_file(name, name, "one\n", "\n".join(CORPUS) + "\n") for name in (CORPUS[0], CORPUS[2])]
    world.push(project, request, files)
    request["discussions"] = [
        {"id": f"{n:040x}", "individual_note": False, "notes": [world.note(456, text)]} for n, text in enumerate(CORPUS)
    ]
    folder = hostile_repository(tmp_path / "repo")
    with running(emulator) as address:
        git(folder, "remote", "add", "origin", f"{address}/{project.full_path}.git")
        with (
            serve_page(folder, GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER) as served,
            browse(browser, served) as page,
        ):
            said: list[str] = []
            page.on("dialog", lambda dialog: said.append(dialog.message))
            page.on("console", lambda message: said.append(message.text) if "Security" in message.text else None)
            for path in ("/gitlab", "/changes?scope=!1", "/changes?scope=!1&layout=split"):
                page.goto(served.base + path)
                expect(page.locator("h1").first).to_be_visible()
                scroll_through(page)
                assert page.evaluate("window.ran") is None, path
                assert RUN in page.locator("main").inner_text(), "the words themselves are shown"
                strange = "main script, main iframe, main math, main object, [onerror], [onload], [onfocus]"
                assert page.locator(f"{strange}, [href^='javascript'], [src^='javascript']").count() == 0, path
            assert said == []


def test_no_file_takes_the_name_of_an_element_of_ours(browser: Browser, tmp_path: Path) -> None:
    folder = new_repository(tmp_path / "repo", plain__txt="one\n")
    for name in OUR_NAMES:
        (folder / name).write_text("<b>one</b>\n")
    with serve_page(folder) as served, browse(browser, served, "/changes") as page:
        wait_until_live(page)
        scroll_through(page)
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
        assert [name for name in {*ids} if ids.count(name) > 1] == []
        page.locator("section.file[data-file='says'] td.num").last.click()
        page.locator(".form-row textarea[name=comment]").fill("A remark")
        page.locator(".form-row button[value=draft]").click()
        expect(page.locator("#send")).to_contain_text("1 draft")
        page.goto(served.base + "/changes#says:")
        expect(page.locator("section.file[data-file='says']")).to_be_in_viewport()


def scroll_through(page: Page) -> None:
    """Let every part come that comes when it is scrolled to."""
    while left := page.locator("[data-lazy]").count():
        # In one step: a part may come, and its place go, while it is scrolled to.
        page.evaluate("() => document.querySelector('[data-lazy]')?.scrollIntoView()")
        expect(page.locator("[data-lazy]")).not_to_have_count(left)
