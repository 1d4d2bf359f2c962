"""`make conformance`: one line a protocol version, then what failed. `--warnings` also shows what could be better."""

import sys

from tests.conformance.suite import EXTENSIONS, VERSIONS, judge, judge_extension
from tests.serving import http_server

failed = False
with http_server() as url:
    judged = [(judge, version) for version in VERSIONS] + [(judge_extension, scenario) for scenario in EXTENSIONS]
    for run, name in judged:
        outcome = run(url, name)
        print(outcome.line(), flush=True)
        for line in [*outcome.failures, *(outcome.warnings if "--warnings" in sys.argv else ())]:
            print(f"  {line}")
        failed |= bool(outcome.failures)
sys.exit(1 if failed else 0)
