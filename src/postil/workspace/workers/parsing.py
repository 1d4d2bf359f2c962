"""Whether a text is cheap to parse: tried in a worker, which the kernel ends when it takes too much time or memory.

Grammars are native code: nothing in this process could stop them. A text that is parsed within a few milliseconds, as
nearly every file is, never comes here.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time

from postil.workspace.worker_process import start_worker

LONGEST = 1.0
"""Seconds of CPU for the tree and all that is read from it."""
LARGEST = 112 << 20
"""Bytes of memory of a worker; about 40 MiB of them are Python's own and the grammar's."""
PATIENCE = 10.0
"""Seconds to wait for a worker on a busy machine."""
_MOST_KEPT = 256
_verdicts: dict[bytes, bool] = {}


def is_cheap(text: str, language: str) -> bool:
    """Returns whether this process may parse a text. Blocks; what was asked before is remembered."""
    content = f"{language}\n".encode() + text.encode("utf-8", "surrogatepass")
    key = hashlib.sha256(content).digest()
    if key not in _verdicts:
        if len(_verdicts) >= _MOST_KEPT:
            _verdicts.clear()
        _verdicts[key] = _try(content)
    return _verdicts[key]


def _try(content: bytes) -> bool:
    from subprocess import TimeoutExpired

    try:
        worker = start_worker("postil.workspace.workers.parsing")
    except OSError:
        return False
    with worker:
        try:
            said, _ = worker.communicate(content, PATIENCE)
        except TimeoutExpired:
            worker.kill()
            return False
    return worker.returncode == 0 and said == b"cheap\n"


def _limit() -> None:
    import resource

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)  # a grammar that gets no memory complains and aborts
    seconds = round(LONGEST) + 1
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_DATA, LARGEST), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))


def main() -> None:
    """Read a language and a text, do all that is done with its tree, and say whether it was cheap."""
    from postil.anchor.syntax.complexity import complexities
    from postil.anchor.syntax.languages import MOST_BYTES, ask_about_slow_texts, grammar, parse
    from postil.anchor.syntax.symbols import symbols, syntax_problems

    language, _, data = sys.stdin.buffer.read(MOST_BYTES + 100).partition(b"\n")
    text, named = data.decode("utf-8", "surrogatepass"), language.decode()
    grammar(named)
    ask_about_slow_texts(lambda text, language: True)
    _limit()
    begun = time.process_time()
    found = parse(text, named) is not None
    symbols(text, named)
    complexities(text, named)
    syntax_problems(text, named)
    if found and time.process_time() - begun <= LONGEST:
        sys.stdout.write("cheap\n")


if __name__ == "__main__":
    main()
