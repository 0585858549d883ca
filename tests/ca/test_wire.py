"""Keys and certificates are parsed strictly: truncated, changed or extended ones are errors, or change the parsed
value.
"""

from __future__ import annotations

import base64
import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pushsalt.ca.wire import WireError, parse_certificate, parse_public
from tests.beds import sshd
from tests.beds.sshd import keygen

pytestmark = pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-")


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A public key and a certificate of every kind that is fast to make."""
    folder = tmp_path_factory.mktemp("keys")
    found = []
    for kind in ("ed25519", "ecdsa", "rsa"):
        path = folder / kind
        keygen(path, kind)
        words = ["-s", str(folder / "ed25519"), "-I", f"id of {kind}", "-n", "a,b", "-z", "7", "-V", "-1m:+1h"]
        words += ["-O", "force-command=/bin/true", "-O", "source-address=10.0.0.0/8"]
        subprocess.run(["ssh-keygen", "-q", *words, f"{path}.pub"], check=True)
        found.append((Path(f"{path}.pub").read_text(), Path(f"{path}-cert.pub").read_text()))
    return found


def test_what_ssh_keygen_wrote(lines):
    authority = parse_public(lines[0][0])
    for public, signed in lines:
        key, certificate = parse_public(public), parse_certificate(signed)
        assert certificate.key.line == key.line == " ".join(public.split()[:2]) and key.comment == "pushsalt"
        assert (certificate.serial, certificate.principals, certificate.host) == (7, ("a", "b"), False)
        assert certificate.authority.blob == authority.blob and certificate.key_id.startswith("id of ")
        assert certificate.critical == {"force-command": "/bin/true", "source-address": "10.0.0.0/8"}
        assert "permit-pty" in certificate.extensions
        assert certificate.valid_before - certificate.valid_after == 3660
        for text in (signed, public + public, "", "x", f'command="a" {public}', f"{public.split()[0]} AAAA"):
            with pytest.raises(WireError):
                parse_public(text)
        with pytest.raises(WireError):
            parse_certificate(public)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_was_damaged_raises_one_error(lines, data):
    text = data.draw(st.sampled_from([line for pair in lines for line in pair]))
    kind, encoded, *_ = text.split()
    blob = bytearray(base64.b64decode(encoded))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(blob) - 1))
        blob[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    for parse in (parse_public, parse_certificate):
        with contextlib.suppress(WireError):
            parse(f"{kind} {base64.b64encode(bytes(blob)).decode()}")


@given(st.text())
def test_any_text(text):
    for parse in (parse_public, parse_certificate):
        with contextlib.suppress(WireError):
            parse(text)
