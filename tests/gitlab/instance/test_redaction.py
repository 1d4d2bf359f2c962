"""What is struck out of every text that leaves."""

from __future__ import annotations

import pytest

from postil.gitlab.instance.redaction import HIDDEN, redact

KINDS = (
    "glpat",
    "gloas",
    "gldt",
    "glrt",
    "glrtr",
    "glcbt",
    "glptt",
    "glft",
    "glimt",
    "glagent",
    "glsoat",
    "glffct",
    "glwt",
)


def test_secrets_are_struck_out_of_what_gitlab_says() -> None:
    said = redact("token glpat-abcdef123456 at https://me:pw@host/x whsec_c2VjcmV0 and mine", "mine")
    assert said == "token [hidden] at https://[hidden]@host/x [hidden] and [hidden]"


@pytest.mark.parametrize("token", [*(f"{kind}-abcd.1_=-" for kind in KINDS), "GR1348941abcd", "whsec_ab+/=-"])
def test_every_kind_of_token_is_known(token: str) -> None:
    assert redact(f"({token})") == f"({HIDDEN})"


@pytest.mark.parametrize("plain", ["a glpat-abc", "xglpat-abcdef", "glpat", "me@example.com", "https://host/a@b", ""])
def test_what_is_no_secret_stays(plain: str) -> None:
    assert redact(plain) == plain


def test_an_empty_secret_strikes_out_nothing() -> None:
    assert redact("as it is", "", "is") == f"as it {HIDDEN}"
