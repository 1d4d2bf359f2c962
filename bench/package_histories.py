"""Truth for anchoring from real packages: their consecutive releases are a history, followed release by release.

    python -m bench.package_histories OUT.jsonl.xz [PACKAGE...] [--lessons]     pypi:click npm:express

Releases are downloaded (pip, npm) and become commits of a repository of their own. A line is followed from release to
release only where git's diff leaves no doubt: unchanged between lines that stand once in both versions, edited in its
place, or moved and unique. It is gone where it was deleted, with nothing in its place and nothing like it inserted. A
line in doubt at any step is not asked for. What is asked of anchoring is the whole way at once, and only of lines
around which something changed. The same files are also edited here (bench/hard_anchors.py), for truth that is known.

What is written is what scripts/train_anchor.py and the scorer of `make anchors` read. With --lessons it is for learning
what is gone: more releases, nothing edited here, and rows that were replaced by nothing like them are gone as well.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from hashlib import sha1
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rapidfuzz.distance import Indel

from bench.hard_anchors import make_case
from scripts.usage import show_usage

PACKAGES = ("pypi:click", "npm:express", "npm:@capacitor/android")
# What "gone" learns from: mostly Java for Android, which many packages of npm bring. Never one of PACKAGES.
TAUGHT = tuple(
    """
    npm:@capacitor/camera npm:@capacitor/filesystem npm:@capacitor/local-notifications
    npm:@capacitor/push-notifications npm:@react-native-mapbox-gl/maps npm:axios npm:cordova-android
    npm:cordova-plugin-camera npm:cordova-plugin-contacts npm:cordova-plugin-file-transfer npm:cordova-plugin-file
    npm:cordova-plugin-inappbrowser npm:cordova-plugin-ionic-webview npm:cordova-plugin-local-notification
    npm:jpush-react-native npm:onesignal-cordova-plugin npm:phonegap-plugin-push
    npm:react-native-background-geolocation npm:react-native-ble-plx npm:react-native-blob-util
    npm:react-native-calendar-events npm:react-native-camera npm:react-native-code-push npm:react-native-contacts
    npm:react-native-device-info npm:react-native-fbsdk npm:react-native-firebase npm:react-native-google-signin
    npm:react-native-iap npm:react-native-image-crop-picker npm:react-native-image-picker npm:react-native-keychain
    npm:react-native-maps npm:react-native-navigation npm:react-native-onesignal npm:react-native-push-notification
    npm:react-native-reanimated npm:react-native-sqlite-storage npm:react-native-svg npm:react-native-track-player
    npm:react-native-video npm:react-native-vision-camera npm:react-native-webrtc npm:react-native-webview
    npm:react-native npm:tipsi-stripe pypi:attrs pypi:celery pypi:marshmallow pypi:pluggy pypi:pydantic pypi:pytest
    pypi:scrapy pypi:setuptools pypi:werkzeug
    """.split()  # noqa: SIM905 - one name a line would fill the page
)
ASKED = 8  # lines of a pair
UNLIKE = 0.42  # of the characters: nothing that was inserted is more like a row that was replaced
EDITED = 8  # files of a package that are edited here
LONGEST = 3000  # lines of a file
SUFFIXES = {".py": "python", ".js": "javascript", ".ts": "typescript", ".java": "java", ".go": "go"}
EDITS = ("storm", "storm", "deleted", "copied above", "swapped")
SEED = 19
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
PLAIN_VERSION = re.compile(r"\d+(\.\d+)+")

Pair = tuple[dict[str, object], str, str]  # what is asked and true, and both texts
Hunk = tuple[int, int, int, int]  # the first old row and how many, the first new row and how many


class Plan(NamedTuple):
    """What is made of a package."""

    name: str
    releases: int
    """As many, spread over all it has."""
    steps: tuple[int, ...]
    """Releases that lie between the two versions of a pair."""
    pairs: int
    """As many for each step."""
    replaced: bool
    """Whether rows are asked for that were replaced by nothing like them."""


JUDGED = Plan("releases", 13, (1, 4, 12), 60, replaced=False)
LESSONS = Plan("lessons", 24, (1, 4, 10, 20), 36, replaced=True)


class Step(NamedTuple):
    """One file from one release to the next: its hunks and its name afterwards."""

    path: str
    hunks: list[Hunk]


class Release(NamedTuple):
    """A release: its commit, and its sources by path."""

    commit: str
    sources: dict[str, str]


def list_versions(package: str, most: int) -> list[str]:
    """Returns some releases of a package, the oldest first, as far apart as they have to be."""
    kind, name = package.split(":", 1)
    if kind == "npm":
        found = json.loads(run(["npm", "view", name, "versions", "--json"]))
    else:
        text = run([sys.executable, "-m", "pip", "index", "versions", "--only-binary", ":all:", name])
        found = text.split("Available versions:")[1].split("\n")[0].replace(" ", "").split(",")[::-1]
    plain = [each for each in found if PLAIN_VERSION.fullmatch(each)]
    plain.sort(key=lambda each: [int(part) for part in each.split(".")])
    if len(plain) <= most:
        return plain
    return [plain[at * (len(plain) - 1) // (most - 1)] for at in range(most)]


def fetch(package: str, versions: list[str], folder: Path) -> dict[str, Path]:
    """Returns the archives of releases; those that are not to be had are left out and told."""
    kind, name = package.split(":", 1)
    found: dict[str, Path] = {}
    if kind == "npm":
        packed = run(
            ["npm", "pack", "--json", "--pack-destination", str(folder), *[f"{name}@{each}" for each in versions]]
        )
        for each in json.loads(packed):
            file = each["filename"].removeprefix("@").replace("/", "-")
            found[each["version"]] = folder / file
        return found
    for version in versions:
        there = folder / version
        pip = ["-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(there)]
        try:
            run([sys.executable, *pip, f"{name}=={version}"])
            (found[version],) = there.iterdir()
        except (subprocess.CalledProcessError, OSError):
            print(f"{package} {version}: not to be had, left out", file=sys.stderr)
    return found


def read_archive(archive: Path) -> Iterator[tuple[str, str]]:
    """Yields the sources in an archive, without the folder that holds all of them."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            members = [(each.filename, wheel.read(each)) for each in wheel.infolist() if is_source(each.filename)]
    else:
        with tarfile.open(archive) as pack:
            files = [(each.name, pack.extractfile(each)) for each in pack.getmembers() if is_source(each.name)]
            members = [(name.partition("/")[2], file.read()) for name, file in files if file]
    for name, data in members:
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        if text.count("\n") <= LONGEST and max(map(len, text.split("\n"))) < 400:
            yield name, text


def is_source(name: str) -> bool:
    path = PurePosixPath(name)
    built = {"dist", "build", "node_modules", "min", "lib-dist", "..", "test", "tests", "testing"}
    return path.suffix in SUFFIXES and not built & set(path.parts) and not name.endswith((".min.js", ".d.ts"))


def make_history(package: str, folder: Path, most: int = JUDGED.releases) -> list[Release]:
    """Makes a repository whose commits are the releases, the oldest first."""
    run(["git", "init", "-q", str(folder)])
    releases: list[Release] = []
    kept = folder / ".git" / "fetched"
    kept.mkdir()
    for version, archive in fetch(package, list_versions(package, most), kept).items():
        sources = dict(read_archive(archive))
        run(["git", "-C", str(folder), "rm", "-rq", "--ignore-unmatch", "."])
        for name, text in sources.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        run(["git", "-C", str(folder), "add", "-A"])
        who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        run(["git", "-C", str(folder), *who, "commit", "-q", "--allow-empty", "-m", version])
        releases.append(Release(run(["git", "-C", str(folder), "rev-parse", "HEAD"]).strip(), sources))
    return releases


def compare(folder: Path, before: str, after: str) -> dict[str, Step]:
    """Returns by old path what git's diff says of each file that changed; one that is gone has no name afterwards."""
    text = run(
        ["git", "-C", str(folder), "diff", "-U0", "--no-color", "--histogram", "-M", "--no-prefix", before, after]
    )
    found: dict[str, Step] = {}
    old = ""
    for line in text.split("\n"):
        if line.startswith("rename from "):
            old = line[12:]
        elif line.startswith("rename to "):
            found[old] = Step(line[10:], [])
        elif line.startswith("--- "):
            old = line[4:]
        elif line.startswith("+++ "):
            found.setdefault(old, Step("" if line == "+++ /dev/null" else line[4:], []))
        elif hunk := HUNK.match(line):
            a, n, b, m = (int(each) if each is not None else 1 for each in hunk.groups())
            found[old].hunks.append((a - 1 if n else a, n, b - 1 if m else b, m))
    return found


def follow(old: list[str], new: list[str], hunks: list[Hunk], *, replaced: bool = False) -> dict[int, int | None]:
    """Returns where rows are after one step, and None for those that are gone; rows in doubt are left out.

    Of rows that were replaced those are gone that nothing inserted is like, when they are asked for.
    """
    mine, theirs = ["".join(row.split()) for row in old], ["".join(row.split()) for row in new]
    often, now = Counter(mine), Counter(theirs)
    found: dict[int, int | None] = {}
    a = b = 0
    for start, count, at, size in [*hunks, (len(old), 0, len(new), 0)]:
        # A run that is unchanged: of rows that stand there more than once only those between two that do not.
        single = [row for row in range(a, start) if len(mine[row]) > 5 and often[mine[row]] == now[mine[row]] == 1]
        first, last = (single[0], single[-1]) if single else (start, a)
        first, last = (a if a == 0 else first), (start if start == len(old) else last)
        found.update((row, b + row - a) for row in range(a, start) if first <= row <= last)
        a, b = start + count, at + size
        edited = count == size and all(is_edit(mine[start + each], theirs[at + each]) for each in range(count))
        if edited:
            found.update((start + each, at + each) for each in range(count))
    added = [row for _, _, at, size in hunks for row in range(at, at + size)]
    places = {theirs[row]: row for row in added if now[theirs[row]] == 1 and len(theirs[row]) > 11}
    for start, count, _, size in hunks:
        for row in range(start, start + count):
            key = mine[row]
            if row in found or len(key) < 2:
                continue
            if key in places and often[key] == 1:
                found[row] = places[key]
            elif (not size or replaced) and key not in now and len(key) > (9 if size else 7):
                best = max((Indel.normalized_similarity(key, theirs[each]) for each in added), default=0.0)
                if best < (UNLIKE if size else 0.55):
                    found[row] = None
    return found


def is_edit(before: str, after: str) -> bool:
    return before[:3] == after[:3] and Indel.normalized_similarity(before, after) >= 0.6


def make_pairs(package: str, folder: Path, releases: list[Release], plan: Plan = JUDGED) -> Iterator[Pair]:
    """Yields pairs with both texts, some of every distance."""
    chance = random.Random(SEED)
    commits = [each.commit for each in releases]
    steps = [compare(folder, before, after) for before, after in pairwise(commits)]
    for distance in plan.steps:
        made: list[Pair] = []
        for start in range(len(releases) - distance):
            names = sorted(set().union(*steps[start : start + distance]))
            for path in names:
                pair = follow_all(releases, steps, start, distance, path, chance, replaced=plan.replaced)
                if pair:
                    about = {"set": f"{plan.name}, +{distance}", "repo": package.split(":", 1)[1], **pair[0]}
                    made.append((about, pair[1], pair[2]))
        yield from chance.sample(made, min(plan.pairs, len(made)))


def edit_files(package: str, release: Release) -> Iterator[Pair]:
    """Yields files of a release with functions of them copied, deleted, swapped, and all of it."""
    chance = random.Random(SEED)
    names = [name for name, text in sorted(release.sources.items()) if 60 < text.count("\n") < 1200]
    for name in chance.sample(names, min(EDITED, len(names))):
        for kind in EDITS:
            case = make_case(kind, name, release.sources[name], chance)
            if case is None:
                continue
            lines = sorted(chance.sample(sorted(case.truth), min(ASKED, len(case.truth))))
            anchors = [{"line": line, "truth": case.truth[line], "kind": "made"} for line in lines]
            names_of = {"language": SUFFIXES[PurePosixPath(name).suffix], "old_path": name, "new_path": name}
            about = {"set": f"edited: {kind}", "repo": package.split(":", 1)[1], **names_of, "anchors": anchors}
            yield about, case.old, case.new


def follow_all(
    releases: list[Release],
    steps: list[dict[str, Step]],
    start: int,
    distance: int,
    path: str,
    chance: random.Random,
    *,
    replaced: bool = False,
) -> Pair | None:
    """Returns a file and where some of its hard rows are some releases later; None where nothing is to be asked."""
    first = text = releases[start].sources.get(path)
    if first is None or text is None:
        return None
    name = path
    places: dict[int, int | None] = {row: row for row in range(first.count("\n"))}
    for at in range(start, start + distance):
        step = steps[at].get(name)
        if step is None:
            continue
        after = releases[at + 1].sources.get(step.path)
        if after is None:
            return None
        now = follow(text.split("\n"), after.split("\n"), step.hunks, replaced=replaced)
        places = {row: None if to is None else now[to] for row, to in places.items() if to is None or to in now}
        name, text = step.path, after
    if text == first:
        return None
    old, new = first.split("\n"), text.split("\n")
    keys = {"".join(row.split()) for row in new}
    hard = [row for row, to in sorted(places.items()) if is_hard(old, new, row, to, keys)]
    if not hard:
        return None
    asked = sorted(chance.sample(hard, min(ASKED, len(hard))))
    anchors = [
        {"line": row + 1, "truth": None if (to := places[row]) is None else to + 1, "kind": kind_of(old[row])}
        for row in asked
    ]
    language = SUFFIXES[PurePosixPath(path).suffix]
    return {"language": language, "old_path": path, "new_path": name, "anchors": anchors}, first, text


def is_hard(old: list[str], new: list[str], row: int, to: int | None, keys: set[str]) -> bool:
    """Returns whether something changed next to a row, above and below, or it was edited or moved by itself."""
    if len("".join(old[row].split())) < 2:
        return False
    if to is None:
        return "".join(old[row].split()) not in keys
    near = [each for each in range(-3, 4) if each and 0 <= row + each < len(old)]
    same = [0 <= to + each < len(new) and old[row + each].split() == new[to + each].split() for each in near]
    return old[row].split() != new[to].split() or sum(same) < len(near) - 1


def kind_of(row: str) -> str:
    text = row.strip()
    if text.startswith(("//", "/*", "*", "#", '"""')):
        return "comment"
    return (
        "control"
        if re.match(r"[}\])]|(if|else|elif|for|while|try|return|break|raise|throw|except|catch)\b", text)
        else "other"
    )


def blob_id(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8", errors="replace")
    return done.stdout


def write(target: Path, packages: list[str], plan: Plan = JUDGED) -> int:
    """Writes the pairs of some packages, and returns how many."""
    seen: set[str] = set()
    count = 0
    with lzma.open(target, "wt", encoding="utf-8", preset=1) as out, tempfile.TemporaryDirectory() as there:
        for number, package in enumerate(packages):
            folder = Path(there) / str(number)
            folder.mkdir()
            releases = make_history(package, folder, plan.releases)
            edited = edit_files(package, releases[-1]) if plan == JUDGED else ()
            for about, *texts in chain(make_pairs(package, folder, releases, plan), edited):
                blobs = [blob_id(text) for text in texts]
                for blob, text in zip(blobs, texts, strict=True):
                    if blob not in seen:
                        seen.add(blob)
                        out.write(json.dumps({"blob": blob, "text": text}) + "\n")
                out.write(json.dumps({"pair": {**about, "old_blob": blobs[0], "new_blob": blobs[1]}}) + "\n")
                count += 1
    return count


def main() -> None:
    show_usage(__doc__)
    named = [each for each in sys.argv[1:] if each != "--lessons"]
    plan = LESSONS if "--lessons" in sys.argv else JUDGED
    if not named:
        sys.exit(__doc__)
    packages = named[1:] or list(TAUGHT if plan == LESSONS else PACKAGES)
    print(write(Path(named[0]), packages, plan), "pairs")


if __name__ == "__main__":
    main()
