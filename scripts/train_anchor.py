"""Learn the weights of anchoring: src/postil/anchor/trees.py, from pairs of file versions with known truth.

    python -m scripts.train_anchor DATA.jsonl.xz... [--check]

Needs numpy and lightgbm, which are not among our dependencies. With --check every project is judged by trees that never
saw it, and only that is printed. The data is what the scorer of `make anchors` reads:
rows {"blob", "text"} and {"pair": {old_blob, new_blob, old_path, new_path, repo, set, anchors: [{line, truth}]}}.

The measures of a row use the probabilities of the rows above it, so the trees are learnt twice: the second time with
the first ones in place.
"""

import json
import lzma
import sys
from collections import Counter, defaultdict
from pathlib import Path
from textwrap import wrap

import lightgbm
import numpy

from postil.anchor.evidence import MEASURES
from postil.anchor.judge import GONE, RELATIVE, SURE, compare
from postil.anchor.model import Source
from postil.anchor.page import Page
from postil.anchor.search import Search

TARGET = Path(__file__).resolve().parents[1] / "src" / "postil" / "anchor" / "trees.py"
TREES, BEGINNING, LEAVES = 200, 40, 14
FOLDS = 5
SETTINGS = {
    "objective": "binary",
    "num_leaves": LEAVES,
    "learning_rate": 0.08,
    "min_data_in_leaf": 40,
    "lambda_l2": 5.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "max_bin": 63,
    "num_threads": 1,
    "seed": 7,
    "verbose": -1,
}


def load(path):
    texts, pairs = {}, []
    with lzma.open(path, "rt", encoding="utf-8") as rows:
        for row in rows:
            item = json.loads(row)
            if "blob" in item:
                texts[item["blob"]] = item["text"]
            else:
                pairs.append(item["pair"])
    return texts, pairs


def views(pairs):
    """Each pair as it is, backwards (what was added is then what is gone), and half of them without a grammar."""
    for index, pair in enumerate(pairs):
        yield "", pair
        back = [{"line": each["truth"], "truth": each["line"]} for each in pair["anchors"] if each["truth"]]
        swapped = {"old_blob": pair["new_blob"], "new_blob": pair["old_blob"], "old_path": pair["new_path"]}
        yield "back", {**pair, **swapped, "new_path": pair["old_path"], "anchors": back}
        if index % 2 == 0:
            yield "bare", {**pair, "old_path": "", "new_path": ""}


def examples(texts, pairs):
    """For each anchor that has to be weighed: view, repository, set, truth, candidate rows, measures."""
    for view, pair in views(pairs):
        if pair["old_blob"] == pair["new_blob"]:
            continue
        old = Page(Source(texts[pair["old_blob"]], pair["old_path"]))
        search = Search(old, Page(Source(texts[pair["new_blob"]], pair["new_path"])))
        for anchor in pair["anchors"]:
            rows, measures = search.weighed(anchor["line"] - 1)
            if rows:
                yield view, pair["repo"], pair["set"], anchor["truth"], rows, compare(measures)


def learn(found):
    rows = numpy.array([row for *_, measures in found for row in measures])
    right = [at + 1 == truth for _, _, _, truth, rows, _ in found for at in rows]
    return lightgbm.train(SETTINGS, lightgbm.Dataset(rows, numpy.array(right, float)), TREES)


def check(found):
    """Print how the anchors that have to be weighed come out when their project was not among those learnt from."""
    counts = defaultdict(Counter)
    repos = sorted({repo for _, repo, *_ in found})
    for fold in range(FOLDS):
        held = set(repos[fold::FOLDS])
        model = learn([each for each in found if each[1] not in held])
        for view, repo, name, truth, rows, measures in found:
            if view or repo not in held:
                continue
            ranked = sorted(zip(model.predict(numpy.array(measures)), rows, strict=True), reverse=True)[:5]
            places = [at + 1 for _, at in ranked]
            if ranked[0][0] < GONE:
                verdict = "right" if truth is None else "wrongly orphaned"
            elif ranked[0][0] >= SURE:
                verdict = "right" if places[0] == truth else "wrong"
            else:
                verdict = "review" if truth is None or truth in places else "review, truth missing"
            counts[name][verdict] += 1
    for name, count in sorted(counts.items()):
        print(name, count.total(), {verdict: f"{100 * n / count.total():.2f}%" for verdict, n in count.most_common()})


def expression(node):
    """A tree as a conditional expression."""
    if "leaf_value" in node:
        return f"{node['leaf_value']:.3f}"
    left, right = expression(node["left_child"]), expression(node["right_child"])
    return f"({left} if f[{node['split_feature']}] <= {float(format(node['threshold'], '.4g'))} else {right})"


def write(model):
    trees = [expression(tree["tree_structure"]) for tree in model.dump_model()["tree_info"]]
    names = "\n".join(f'    "{line} "' for line in wrap(" ".join(MEASURES), 100))
    TARGET.write_text(
        HEAD.replace("%names", names)
        + function("beginning", "The first trees: enough to tell the hopeless candidates.", trees[:BEGINNING])
        + function("rest", "The other trees, for the finalists.", trees[BEGINNING:]).rstrip()
        + "\n",
        "utf-8",
    )


def function(name, sentence, trees):
    lines = "\n        + ".join(trees)
    return f'def {name}(f: Sequence[float]) -> float:\n    """{sentence}"""\n    return (\n        {lines}\n    )\n\n\n'


HEAD = '''"""The weights of judge.py, learnt: a sum of decision trees over measures. Made by scripts/train_anchor.py.

`f` holds the measures of one candidate in the order of NAMES, then those of judge.RELATIVE, then how many candidates
there are. Conditional expressions, because compiled they are several times faster than walking a table, and this runs
for every candidate of every comment.
"""

# ruff: noqa: E501, SIM905
# fmt: off

from collections.abc import Sequence

NAMES = (
%names
).split()


'''


def main():
    files = [each for each in sys.argv[1:] if not each.startswith("-")]
    if not files:
        sys.exit(__doc__)
    found = [each for file in files for each in examples(*load(file))]
    print(f"{len(found)} anchors, {len(MEASURES) + len(RELATIVE) + 1} measures", flush=True)
    if "--check" in sys.argv:
        check(found)
    else:
        write(learn(found))


if __name__ == "__main__":
    main()
