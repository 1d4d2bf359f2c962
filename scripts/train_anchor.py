"""Learn the weights of anchoring: src/postil/anchor/weights/trees.py, from pairs of file versions with known truth.

    python -m scripts.train_anchor DATA.jsonl.xz... [--check]

Needs numpy and lightgbm, which are not among our dependencies. The same data gives the same trees. With --check nothing
is written, and what is printed is how the whole engine answers when each project is judged by trees that never
saw it. The data is what the scorer of `make anchors` reads: rows {"blob", "text"} and {"pair": {old_blob, new_blob,
old_path, new_path, repo, set, anchors: [{line, truth}]}}.

No measure of a row knows what the trees say of another, so the candidates are measured once. A project is always judged
by trees that were learnt from the others: they are then as good, or bad, as for a project nobody has seen.

The trees that judge again (`again`, `gone`) are learnt last, from how the others answer for projects new to them.

What bench/package_histories.py writes is data as well; it is made, so there is enough of it as it is. Its lessons
(--lessons there) are for `gone` alone: nobody is judged on them, and the trees that weigh never see them.
"""

# pyright: reportMissingImports=false

import json
import lzma
import os
import sys
from collections import Counter, defaultdict
from multiprocessing import Pool
from pathlib import Path
from textwrap import wrap

from bench.anchor_truth import read, show_reliability
from postil.anchor import judge
from postil.anchor.evidence import MEASURES
from postil.anchor.model import MOST_CANDIDATES, Relocation, Source, Span
from postil.anchor.page import Page
from postil.anchor.relocate import relocate_all
from postil.anchor.search import Search
from postil.anchor.syntax.languages import parse_everything_here
from postil.anchor.weights.forest import Forest
from scripts.forest import plant, write_trees
from scripts.usage import show_usage, wants_usage

try:
    import lightgbm
    import numpy
except ImportError as missing:
    print((__doc__ or "").strip())
    sys.exit(None if wants_usage() else f"{missing.name} is not installed")

TARGET = Path(__file__).resolve().parents[1] / "src" / "postil" / "anchor" / "weights" / "trees.py"
TREES, BEGINNING, TRUST = 480, 120, 80
SCARCE = 4.0  # what a line that is gone weighs for `trust`: there are few, and an anchor on other code is the worst
FOLDS = 5
PAIRS = 40  # in one piece of work
WORKERS = int(os.environ.get("WORKERS", os.cpu_count() or 1))
SETTINGS = {
    "objective": "binary",
    "num_leaves": 14,
    "learning_rate": 0.035,
    "min_data_in_leaf": 80,
    "lambda_l2": 5.0,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "max_bin": 63,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "seed": 7,
    "verbose": -1,
}
SETTINGS_OF_TRUST = {
    **SETTINGS,
    "num_leaves": 4,
    "learning_rate": 0.05,
    "min_data_in_leaf": 40,
    "lambda_l2": 10.0,
    "feature_fraction": 0.4,
    "boost_from_average": False,
}

SETTINGS_OF_GONE = {**SETTINGS_OF_TRUST, "num_leaves": 6}
LESSON = 0.2  # what a line of a lesson weighs for `gone`: what people validated is harder, and counts more
AGAIN, LAST = 200, 150  # trees that judge again: whether the first is right, whether the code is gone

texts = {}  # by blob; workers inherit it


def load(path):
    parse_everything_here()  # there are no workers that would parse large texts
    pairs = []
    with lzma.open(path, "rt", encoding="utf-8") as rows:
        for row in rows:
            item = json.loads(row)
            if "blob" in item:
                texts[item["blob"]] = item["text"]
            else:
                pairs.append(item["pair"])
    return pairs


def views(pairs):
    """Each pair as it is, backwards (what was added is then what is gone), and half of them without a grammar."""
    for index, pair in enumerate(pairs):
        yield "", pair
        if pair["set"].startswith(("releases", "edited", "lessons")):
            continue
        back = [{"line": each["truth"], "truth": each["line"]} for each in pair["anchors"] if each["truth"]]
        swapped = {"old_blob": pair["new_blob"], "new_blob": pair["old_blob"], "old_path": pair["new_path"]}
        yield "back", {**pair, **swapped, "new_path": pair["old_path"], "anchors": back}
        if index % 2 == 0:
            yield "bare", {**pair, "old_path": "", "new_path": ""}


def work(pairs):
    """The views in pieces, each of one project, in an order that is always the same."""
    pieces = defaultdict(list)
    for view, pair in views(pairs):
        pieces[pair["repo"]].append((view, pair))
    return [(repo, each[at : at + PAIRS]) for repo, each in sorted(pieces.items()) for at in range(0, len(each), PAIRS)]


def fold_of(repo, repos):
    return repos.index(repo) % FOLDS


def use(source):
    """Let the engine judge by these trees."""
    found = {}
    exec(source, found)
    candidates, *others = (Forest(found[name]) for name in ("CANDIDATES", "TRUST", "AGAIN", "GONE_AGAIN"))
    judge.weights = judge.Weights(candidates, candidates.begin(*found["BEGINNING"]), *others)


def examples(job):
    """For each anchor of a piece that has to be weighed: repository, truth, candidate rows, measures compared."""
    repo, items = job
    found = []
    for _, pair in items:
        if pair["old_blob"] == pair["new_blob"]:
            continue
        old = Page(Source(texts[pair["old_blob"]], pair["old_path"]))
        search = Search(old, Page(Source(texts[pair["new_blob"]], pair["new_path"])))
        for anchor in pair["anchors"]:
            rows, measures = search.weigh(anchor["line"] - 1) if anchor["line"] <= len(old) else ([], [])
            if rows:
                compared = numpy.array(judge.compare(measures), numpy.float32).transpose()
                found.append((repo, anchor["truth"], rows, compared))
    return found


def measure(jobs):
    with Pool(WORKERS) as pool:
        return [each for found in pool.imap(examples, jobs) for each in found]


def learn(found):
    """Trees that tell the right candidates."""
    right = [at + 1 == truth for _, truth, rows, _ in found for at in rows]
    data = lightgbm.Dataset(numpy.vstack([compared for *_, compared in found]), numpy.array(right, float))
    return lightgbm.train(SETTINGS, data, TREES)


def shapes(found, model):
    """What the trees of `trust` are told about each anchor, as the engine tells it, and whether the best is right."""
    everything = numpy.vstack([compared for *_, compared in found])
    early = model.predict(everything, raw_score=True, num_iteration=BEGINNING)
    late = model.predict(everything, raw_score=True)
    told, right, weights, start = [], [], [], 0
    for _, truth, rows, compared in found:
        here = slice(start, start := start + len(rows))
        finalists = numpy.argsort(-early[here], kind="stable")[: judge.FINALISTS].tolist()
        best = sorted(((late[here][place], place) for place in finalists), key=lambda each: -each[0])
        told.append(judge.describe_best(compared.transpose().tolist(), best[:MOST_CANDIDATES]))
        right.append(rows[best[0][1]] + 1 == truth)
        weights.append(SCARCE if truth is None else 1.0)
    return told, right, weights


def learn_trust(lessons):
    """Trees that correct the score of the first candidate, by which they begin."""
    told, right, weights = (numpy.array(each, numpy.float32) for each in zip(*lessons, strict=True))
    data = lightgbm.Dataset(told, right, weight=weights, init_score=told[:, 0])
    return lightgbm.train(SETTINGS_OF_TRUST, data, TRUST)


def one_fold(job):
    """Trees that know nothing of some projects, and what `trust` would be told about those."""
    found, held = job
    model = learn([each for each in found if each[0] not in held])
    mine = [each for each in found if each[0] in held]
    return model, [(each[0], lesson) for each, lesson in zip(mine, zip(*shapes(mine, model), strict=True), strict=True)]


def learn_folds(found, repos):
    """The source of trees for every fold, and for nobody in particular.

    `trust` must learn from candidates weighed by trees that had not seen them: in sample nearly all look good.
    """
    jobs = [(found, {repo for repo in repos if fold_of(repo, repos) == fold}) for fold in range(FOLDS)]
    with Pool(WORKERS) as pool:
        models = pool.map(one_fold, jobs, chunksize=1)
        final = pool.apply_async(learn, (found,))
        lessons = [each for _, some in models for each in some]
        sources = []
        for fold, (model, _) in enumerate(models):
            seen = [lesson for repo, lesson in lessons if fold_of(repo, repos) != fold]
            sources.append(write(model, learn_trust(seen)))
        return sources, write(final.get(), learn_trust([lesson for _, lesson in lessons]))


def doubts(job):
    """For each anchor of a piece that has to be weighed: repository, what search.describe says of it, what is true."""
    source, (repo, items) = job
    use(source)
    found = []
    for view, pair in items:
        if view == "bare" or pair["old_blob"] == pair["new_blob"]:
            continue
        old = Page(Source(texts[pair["old_blob"]], pair["old_path"]))
        search = Search(old, Page(Source(texts[pair["new_blob"]], pair["new_path"])))
        for anchor in pair["anchors"]:
            row, truth = anchor["line"] - 1, anchor["truth"]
            told = search.describe(row) if row < len(old) else []
            if told:
                found.append((repo, (told, search.rank(row)[0][1] + 1 == truth, truth is None, view == "back")))
    return found


def learn_doubts(job):
    """The source of the trees that judge again: whether the first is right if the code is there, whether it is gone."""
    lessons, more = job
    told, right, gone, back = (numpy.array(each, numpy.float32) for each in zip(*lessons, strict=True))
    there, asked = gone == 0, back == 0  # backwards nothing is gone
    again = lightgbm.train(
        SETTINGS_OF_TRUST, lightgbm.Dataset(told[there], right[there], init_score=told[there, 0]), AGAIN
    )
    told, gone = told[asked], gone[asked]
    weights = numpy.repeat([1.0, LESSON], [len(told), len(more)])
    if more:
        told = numpy.vstack([told, numpy.array([lesson[0] for lesson in more], numpy.float32)])
        gone = numpy.append(gone, [lesson[2] for lesson in more])
    last = lightgbm.train(SETTINGS_OF_GONE, lightgbm.Dataset(told, gone, weight=weights, init_score=-told[:, 0]), LAST)
    return write_doubts(again, last)


def add_doubts(sources, final, pieces, repos, made):
    """The sources with what judges again, each learnt from other projects than those it is for, and from what is made.

    What is made of packages is measured by the trees for nobody in particular, which have not seen it.
    """
    jobs = [(sources[fold_of(repo, repos)], (repo, items)) for repo, items in pieces]
    with Pool(WORKERS) as pool:
        lessons = [each for found in pool.imap(doubts, jobs) for each in found]
        more = [lesson for found in pool.imap(doubts, [(final, each) for each in made]) for _, lesson in found]
        seen = [[lesson for repo, lesson in lessons if fold_of(repo, repos) != fold] for fold in range(FOLDS)]
        every = [lesson for _, lesson in lessons]
        parts = pool.map(learn_doubts, [(some, more) for some in [*seen, every]], chunksize=1)
    together = [source.partition(DOUBTS)[0] + part for source, part in zip([*sources, final], parts, strict=True)]
    return together[:-1], together[-1]


def answers(job):
    """Where the engine says the anchors of a piece are, with what is true."""
    source, (_, items) = job
    use(source)
    found = []
    for view, pair in items:
        if not view:
            old, new = (Source(texts[pair[f"{age}_blob"]], pair[f"{age}_path"]) for age in ("old", "new"))
            places = relocate_all(old, new, [Span(each["line"]) for each in pair["anchors"]])
            truths = [each["truth"] for each in pair["anchors"]]
            found += [
                (pair["set"], outcome(truth, each), read(pair["set"], truth, each))
                for truth, each in zip(truths, places, strict=True)
            ]
    return found


def outcome(truth, found: Relocation):
    if found.state == "review":
        among = truth in [each.span.start for each in found.candidates]
        return "review" if truth is None or among else "review, truth missing"
    if truth is None:
        return "right" if found.span is None else "silently wrong"
    if found.span is None:
        return "wrongly orphaned"
    return "right" if found.span.start == truth else "silently wrong"


def check(jobs):
    """Print how the engine answers, each project judged by the trees that it is given with."""
    counts = defaultdict(Counter)
    said = []
    with Pool(WORKERS) as pool:
        for found in pool.imap_unordered(answers, jobs):
            for name, verdict, answer in found:
                counts[name][verdict] += 1
                said.append((answer.confidence, answer.right))
    print("| truth | lines | found | silently wrong | in review | truth missing | wrongly orphaned |")
    print("|---|---|---|---|---|---|---|")
    for name, count in sorted(counts.items()):
        share = {verdict: 100 * number / count.total() for verdict, number in count.items()}
        wrong, missing, lost = (share.get(each, 0.0) for each in OTHERS)
        review = share.get("review", 0.0) + missing
        found = share.get("right", 0.0) + share.get("review", 0.0)
        shares = " | ".join(f"{each:.2f}" for each in (found, wrong, review, missing, lost))
        print(f"| {name} | {count.total()} | {shares} |")
    print("", *show_reliability(said), sep="\n")


OTHERS = ("silently wrong", "review, truth missing", "wrongly orphaned")


def read_trees(model):
    """The trees of a model as scripts/forest.py takes them, rounded."""
    return [read_node(tree["tree_structure"]) for tree in model.dump_model()["tree_info"]]


def read_node(node):
    if "leaf_value" in node:
        return round(node["leaf_value"], 3)
    left, right = read_node(node["left_child"]), read_node(node["right_child"])
    return node["split_feature"], float(format(node["threshold"], ".4g")), left, right


def write(*models):
    """The text of trees.py."""
    candidates, last = map(read_trees, models)
    names = "\n".join(f'    "{line} "' for line in wrap(" ".join(MEASURES), 100))
    return HEAD.replace("%names", names) + write_candidates(candidates, last) + NO_DOUBTS


def write_candidates(candidates, last):
    leaves, _, least, *_ = plant(candidates[:BEGINNING])
    return (
        write_trees("CANDIDATES", "What a candidate is worth.", candidates)
        + "# Of the first of these trees, which tell the hopeless candidates: their leaves, and the least they say.\n"
        + f"BEGINNING = ({leaves}, {least})\n"
        + write_trees("TRUST", "What the score of the first of the finalists is wrong by.", last)
    )


def write_doubts(*models):
    """The end of trees.py: what judges again."""
    again, gone = map(read_trees, models)
    return (
        DOUBTS
        + write_trees("AGAIN", "What the score of the first is wrong by, if the code is there.", again)
        + write_trees("GONE_AGAIN", "What the score of its being there is wrong by.", gone)
    )


HEAD = '''"""The weights of judge.py, learnt: sums of decision trees over measures. Made by scripts/train_anchor.py.

What weighs candidates knows the measures of one in the order of NAMES, those of judge.RELATIVE, then how many
candidates there are; what corrects the first knows judge.describe_best, what judges again search.describe.
"""

# ruff: noqa: E501, SIM905
# fmt: off

from postil.anchor.weights.forest import Trees

NAMES = (
%names
).split()


'''


DOUBTS = "# What a place is judged by that was looked at again.\n\n\n"
NO_DOUBTS = DOUBTS + write_trees("AGAIN", "", [0.0]) + write_trees("GONE_AGAIN", "", [0.0])


def main():
    show_usage(__doc__)
    files = [each for each in sys.argv[1:] if not each.startswith("-")]
    if not files:
        sys.exit(__doc__)
    pairs = [pair for file in files for pair in load(file)]
    made = work([pair for pair in pairs if pair["set"].startswith("lessons")])
    pieces = work([pair for pair in pairs if not pair["set"].startswith("lessons")])
    repos = sorted({repo for repo, _ in pieces})
    found = measure(pieces)
    print(f"{len(found)} anchors to be weighed, {len(MEASURES)} measures", flush=True)
    sources, final = learn_folds(found, repos)
    sources, final = add_doubts(sources, final, pieces, repos, made)
    check([(sources[fold_of(repo, repos)], (repo, items)) for repo, items in pieces])
    if "--check" not in sys.argv:
        TARGET.write_text(final, "utf-8")


if __name__ == "__main__":
    main()
