"""The secret of an installation and the keys made from it."""

import os
from pathlib import Path

import pytest

from postil import secret
from postil.core.failure import StorageFailed
from postil.settings.load import load
from postil.settings.model import BadSettings


def test_the_secret_is_made_once_and_is_private(tmp_path: Path) -> None:
    settings = load({"HOME": str(tmp_path)}, str(tmp_path))
    first = secret.load(settings)
    assert len(first) == 32
    assert secret.load(settings) == first
    path = Path(settings.folders.state) / "secret"
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["secret"]


def test_replicas_share_the_secret_of_the_environment(tmp_path: Path) -> None:
    given = load({"HOME": str(tmp_path), "POSTIL_SECRET": "0123456789abcdef"}, str(tmp_path))
    assert secret.load(given) == b"0123456789abcdef"
    with pytest.raises(BadSettings, match="shorter"):
        secret.load(load({"HOME": str(tmp_path), "POSTIL_SECRET": "short"}, str(tmp_path)))


def test_every_purpose_has_a_key_of_its_own() -> None:
    keys = {secret.subkey(b"s" * 32, purpose) for purpose in ("request-state", "sessions", "credentials")}
    assert len(keys) == 3
    assert len(secret.subkey(b"s", "long", 70)) == 70


def test_the_derivation_is_that_of_rfc_5869() -> None:
    # HKDF-SHA256 with salt "postil", checked against an independent computation.
    import hashlib
    import hmac

    prk = hmac.new(b"postil", b"secret", hashlib.sha256).digest()
    assert secret.subkey(b"secret", "a") == hmac.new(prk, b"a\x01", hashlib.sha256).digest()


@pytest.mark.parametrize("left", [b"", b"short"])
def test_keys_are_not_made_from_a_secret_that_was_cut_off(tmp_path: Path, left: bytes) -> None:
    settings = load({"HOME": str(tmp_path)}, str(tmp_path))
    whole = secret.load(settings)
    path = Path(settings.folders.state) / "secret"
    path.write_bytes(left)
    with pytest.raises(StorageFailed, match="damaged") as caught:
        secret.load(settings)
    assert "restore" in caught.value.advice
    assert path.read_bytes() == left
    secret.replace(settings, whole)
    assert secret.load(settings) == whole
