"""A search finds what matches, newest first, and counts before the limit."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.validation import DateRange, Filters
from postil.comments.search import text_file
from postil.core.failure import InvalidArguments
from tests.comments.workspaces import Comments, root_of, sidecar, workspace, write

CODE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"a.py": CODE, "lib/b.py": CODE, "lib/deep/c.ts": "const a = 1;\n" * 20})


def test_search_filters_by_file_author_date_and_counts_before_the_limit(comments: Comments) -> None:
    for number in range(5):
        comments.add("a.py", number + 1, f"Rate limit {number}", "TODO", "ann")
    comments.add("lib/b.py", 1, "rate of change", "NOTE", "bob")
    found = comments.search("rate", limit=2)
    assert (found.totalResults, len(found.comments)) == (6, 2)
    assert comments.search("rate", file="lib").totalResults == 1
    assert comments.search("rate", author="ann").totalResults == 5
    assert comments.search("rate", until="2020-01-01").totalResults == 0
    assert comments.search("rate", since="7d").totalResults == 6
    assert comments.search("rate", until="1h").totalResults == 0
    with pytest.raises(InvalidArguments, match="no time") as caught:
        comments.search("rate", until="last week")
    assert caught.value.details()["path"] == "until"
    with pytest.raises(InvalidArguments):  # the contract's own filters take what it says
        comments.search("rate", Filters(dateRange=DateRange(start="7d")))
    assert comments.search("rate", since="2020-01-01T00:00:00+02:00").totalResults == 6
    assert comments.search("^rate.*[34]$").totalResults == 2
    assert comments.search("(?-i)Rate").totalResults == 5
    assert comments.search("limit [0-9", plain=True).totalResults == 0
    assert comments.search("LIMIT 3", plain=True).totalResults == 1


def test_a_changed_comment_is_found_by_its_new_text_only(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "before", "NOTE").commentId
    assert comments.search("before").totalResults == 1
    comments.edit("a.py", identity, "after")
    assert comments.search("before").totalResults == 0
    assert comments.search("after").totalResults == 1
    comments.delete("a.py", identity)
    assert comments.search("after").totalResults == 0


def test_comments_are_found_newest_first_whether_few_or_most_match(tmp_path: Path) -> None:
    comments: Comments = workspace(tmp_path, **{"a.py": "".join(f"value_{n} = {n}\n" for n in range(40))})
    made = [comments.add("a.py", n + 1, f"text {n}", "NOTE").commentId for n in range(40)]
    found = comments.search("text", limit=5)
    assert (found.totalResults, [each.id for each in found.comments]) == (40, sorted(made, reverse=True)[:5])
    assert comments.search("text 7").totalResults == 1
    assert comments.search("text 1").totalResults == 11


def test_a_comment_is_found_by_its_replies_and_the_answer_says_so(comments: Comments) -> None:
    asked = comments.add("a.py", 1, "Why so slow?", "QUESTION", "ann").commentId
    plain = comments.add("a.py", 2, "the cache of redis", "NOTE", "ann").commentId
    reply = comments.reply(asked, "Because the redis cache\nis cold", author="bob").replyId
    comments.reply(plain, "redis it is", author="bob")
    comments.reply(asked, "I see", author="ann")
    found = comments.search("redis")
    assert (found.totalResults, {each.id for each in found.comments}) == (2, {asked, plain})
    assert found.inReplies == {asked: (reply,)}
    assert '↳ in a reply of bob: "Because the redis cache\n     is cold"' in str(found.for_model())
    assert "redis it is" not in str(found.for_model()), "the comment says it itself"
    assert "inReplies" not in msgspec.to_builtins(comments.search("slow"))
    assert comments.search("cold$", author="ann").totalResults == 1
    assert comments.search("cache\nI see").totalResults == 0, "no match reaches from one reply into the next"
    assert comments.search("redis", replies=False).totalResults == 1
    assert comments.search("redis", limit=1).totalResults == 2


def test_replies_that_change_and_go_are_not_found_any_more(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("a.py", 3, "Why?", "QUESTION").commentId
    comments.reply(identity, "first answer")
    assert comments.search("answer").totalResults == 1
    write(root, "a.py", "import os\n" + CODE)  # it moves, and keeps its replies
    assert comments.search("first answer").totalResults == 1
    write(root, "a.py.comments", sidecar(root, "a.py").replace(b"first answer", b"other words"))
    assert comments.search("answer").totalResults == 0
    assert comments.search("other words").totalResults == 1
    comments.delete("a.py", identity)
    assert comments.search("other words").totalResults == 0


def test_a_reply_more_leaves_those_before_it_as_they_are_kept(comments: Comments) -> None:
    identity = comments.add("a.py", 3, "Why?", "QUESTION").commentId
    kept: list[list[object]] = []
    for words in ("first answer", "second answer", "third answer"):
        comments.reply(identity, words)
        assert comments.search(words).totalResults == 1
        kept.append(comments.overview.index.select("SELECT number, text FROM reply ORDER BY number"))
    assert [len(each) for each in kept] == [1, 2, 3]
    assert kept[2][:2] == kept[1]
    assert kept[1][:1] == kept[0]


def test_many_replies_are_searched_by_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "MOST_LOOSE", 3)
    comments = workspace(tmp_path, **{"a.py": CODE})
    made = [comments.add("a.py", n + 1, f"text {n}", "NOTE").commentId for n in range(8)]
    for number, each in enumerate(made):
        comments.reply(each, f"answer {number}")
        comments.reply(each, f"again {number}")
    assert comments.search("answer").totalResults == 8
    assert list(Path(comments.tree.folder).glob("comments-*-replies.*.texts"))
    other = Comments(str(tmp_path))
    assert other.search("answer 3|text 5|again [67]").totalResults == 4
    for each in made[:6]:
        comments.delete("a.py", each)
    for some in (comments, other, Comments(str(tmp_path))):
        assert (some.search("again").totalResults, some.search("text").totalResults) == (2, 2)


def test_the_contracts_own_server_searches_the_texts_alone(comments: Comments) -> None:
    identity = comments.add("a.py", 1, "Why?", "QUESTION").commentId
    comments.reply(identity, "because")
    operation = comments.face().operation("search_comments")
    assert operation.run(**operation.decode({"query": "because"})).totalResults == 0
    with pytest.raises(InvalidArguments, match="unknown field `replies`"):
        operation.decode({"query": "because", "replies": True})
    united = comments.registry().operation("search_comments")
    assert united.run(**united.decode({"query": "because"})).totalResults == 1
