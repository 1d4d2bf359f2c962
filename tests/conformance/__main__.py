"""`make conformance`: one line a protocol version, then what failed. `--warnings` also shows what could be better."""

import sys

from tests.conformance.suite import VERSIONS, judge
from tests.serving import http_server

failed = False
with http_server() as url:
    for version in VERSIONS:
        outcome = judge(url, version)
        print(outcome.line(), flush=True)
        for line in [*outcome.failures, *(outcome.warnings if "--warnings" in sys.argv else ())]:
            print(f"  {line}")
        failed |= bool(outcome.failures)
sys.exit(1 if failed else 0)
