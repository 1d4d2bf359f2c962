"""How many bytes are taken in, by where they enter: one table. Whoever reads asks it; nothing is read without a bound.

A limit is enforced before the bytes are held: by a length that was announced, or while they come. What a person typed
or sends stays far below; what goes beyond is refused in words that name the limit. `tests/core/test_limits.py` walks
every read of the tree.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# Sockets
FRAME: Final = 4 * MIB
"""A JSON-RPC message, on either transport."""
HEAD: Final = 64 * KIB
"""The request line and headers of an HTTP request; also what may come between two pieces of its body."""
HEADS: Final = 8 * MIB
"""Requests whose headers are still coming, together; a small one is taken all the same."""
UNSEEN: Final = 16 * MIB
"""Pieces of bodies that have come, and at which nobody has looked yet."""
PEEKED: Final = 4 * MIB
"""Bodies of requests that are refused, in which the id of the call is looked for."""
FORMS: Final = 4 * MIB
"""Forms with credentials that are on their way at once; a quarter more for who sends little."""
BODIES: Final = 48 * MIB
"""Bodies of known callers that are on their way at once; a quarter more for who sends little."""
BODIES_OF_ONE: Final = 16 * MIB
"""The same, of one caller."""
ANSWERS: Final = 24 * MIB
"""Large answers that clients have still to read."""
ANSWERS_OF_ONE: Final = 16 * MIB
"""The same, of one caller."""
AT_WORK: Final = 16 * MIB
"""Large files, outputs of git and comments that calls which read are made of at once; others wait for their turn."""
ON_DISK: Final = 256 * MIB
"""Outputs of git that calls keep on the disk while they wait for room; others have git say it again."""
LARGE: Final = 256 * KIB
"""What is large: smaller things are held without asking for room."""
WEBHOOK: Final = 2 * MIB
"""The body of a delivery."""
WEBHOOKS: Final = 16 * MIB
"""Bodies of deliveries that nobody has verified yet, at once; a quarter more for who sends little."""
WEBHOOKS_OF_ONE: Final = 4 * MIB
"""The same, from one address."""
GITLAB_ANSWER: Final = 32 * MIB
"""What GitLab answers."""
GITLAB_STREAM: Final = 1024 * MIB
"""What is read through, and not held, of a log at GitLab."""
VERDICT: Final = 1 * MIB
"""What a GitLab or an authorization server says about a credential."""
FORM: Final = 16 * KIB
"""A form with a credential."""
PAGE_FORM: Final = 1 * MIB
"""A form of the web page: a remark with a suggestion, as browsers encode it."""

DOCUMENT: Final = 16 * MIB
"""The text of a resource that is sent."""

# git
GIT_OUTPUT: Final = 64 * MIB
"""What one git command may print, where it is held whole."""
GIT_OBJECT: Final = 16 * MIB
"""An object by the size that git announces; larger ones are binary to git's diffs, and not read by us."""
GIT_MEMORY: Final = 256 * MIB
"""One piece of memory that git itself may take: an object that claims to be larger ends git at once."""
GIT_ALL_MEMORY: Final = 512 * MIB
"""All its memory: a few folders that name each other many times make more files than any machine can hold."""
GIT_INDEX_MEMORY: Final = 1024 * MIB
"""One piece, and all, for commands that hold the whole index of a very large repository."""
GIT_WALK_MEMORY: Final = 2048 * MIB
"""All, for those that walk a whole history for a few files: a million commits take so much."""
CONFIG: Final = 1 * MIB
"""A config file of a repository."""
REFS: Final = 1 * MIB
"""The file of packed refs, as it is read here: in a larger one git seeks."""
PACKED_REFS: Final = 512 * MIB
"""The same file, as it is looked through for logs before git is asked; a larger one is refused."""
LOGS: Final = 10_000
"""Logs of a tracker that a repository may name: git holds every ref that it lists."""
LOG_SEGMENT: Final = 8 * MIB
"""A segment of a tracker's log, as we write it."""
LOG_OBJECT: Final = 12 * MIB
"""An object of a log, as we read it: a segment may exceed its size by one event."""
LOG_NAMES: Final = 256 * KIB
"""What one event of a log says beside its texts: labels, people, links, writers. A larger one is not believed."""
LOG_EVENT: Final = 4 * MIB
"""One event of a log: a description or comment of a million characters. A larger one is not believed."""
LOG_TAIL: Final = 64 * MIB
"""The commits of a log that no segment holds yet, together."""
LOG_SEGMENTS: Final = 100_000
"""How many they are."""

# Backups, as they unpack
BACKUP_LINE: Final = 32 * MIB
"""One record of the state, as text."""
BACKUP: Final = 16 * 1024 * MIB
"""All of them; they are read one by one."""

# Files
FILE: Final = 16 * MIB
"""A source file, a sidecar, a file named by a caller."""
LINES: Final = 500_000
"""Lines of a source file: each costs more to hold than its bytes."""
HELD: Final = 40 * MIB
"""A source file as it is held: its characters, up to four bytes each, and its lines."""
HERE: Final = 128 * KIB
"""A source that the server compares itself; larger ones are left to a worker."""
COMMENTS_HERE: Final = 512 * KIB
"""The sidecar of such a source: some 400 comments. A worker takes longer to start than they take to be placed."""
LINES_HERE: Final = 10_000
"""Lines of such a source: comparing takes a kilobyte or two for each."""
TEXT: Final = 64 * KIB
"""Characters of a comment, or a reply, that are shown: ours have at most 10,000, another program may write more."""
COMMENT: Final = 1 * MIB
"""A comment with its replies and its marker, as it is shown; the comment file keeps what is beyond."""
CHANGED_COMMENT: Final = 2 * MIB
"""A comment with its replies, as it is written, or a marker: a file with a larger one is read, and not changed."""
CHANGED_COMMENTS: Final = 40_000
"""Comments of a file that is changed, and markers: ours fill it with some 20,000, another program may write more."""
MERGED: Final = 24 * MIB
"""The three versions of a comment file that are merged here, together; larger ones are left to git's merge of lines."""
TEXTCONV: Final = 2 * MIB
"""A comment file that git shows as text; of a larger one the beginning of the file itself is shown."""
THREAD: Final = 1408 * KIB
"""A comment with its replies that takes one more: indented as it is written, it is still one that can be changed."""
SETTINGS: Final = 256 * KIB
"""A settings file of the user's own."""
REPOSITORY_SETTINGS: Final = 16 * KIB
"""The one that a repository brings: every command reads it, and YAML takes 30 ms for each kilobyte."""
REPOSITORY_FILE: Final = 128 * KIB
"""A file of another program's settings that a repository brings, and that is edited there."""
SMALL_FILE: Final = 1 * MIB
"""A file of our own, or of another program's settings."""
IMPORT: Final = 512 * MIB
"""An export that a person named to be imported."""
IMPORTED_COMMENTS: Final = 64 * MIB
"""Exports of comments that are imported together: they are held as objects, at three times their bytes."""
IMPORTED_TEXTS: Final = 100_000
"""Comments and replies in them: each costs a kilobyte and 80 µs, however short it is."""
STANDARD_INPUT: Final = 64 * MIB
"""What a person pipes into a command."""
