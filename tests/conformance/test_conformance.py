"""The official conformance suite finds nothing wrong, in any protocol version it covers."""

from collections.abc import Iterator

import pytest

from tests.conformance.suite import EXTENSIONS, VERSIONS, judge, judge_extension
from tests.serving import http_server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server() as address:
        yield address


@pytest.mark.judge
@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_official_suite_finds_no_failure(url: str, version: str) -> None:
    outcome = judge(url, version)
    assert outcome.failures == []
    assert outcome.passed > 0
    print(outcome.line())


@pytest.mark.judge
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", EXTENSIONS)
def test_the_official_suite_finds_no_failure_in_an_extension(url: str, scenario: str) -> None:
    outcome = judge_extension(url, scenario)
    assert outcome.failures == []
    assert outcome.passed > 0
    print(outcome.line())
