"""Secrets are hidden by value, in every form that programs print; what is no secret stays readable."""

import base64
import json
import shlex
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.redact import MASK, SECRET_KEYS, Redactor

KEY = """-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACBc3yBBZ3VzdGluZSBpcyBub3QgYSByZWFsIGtleSwganVzdCBhIHRlc3Qu
AAAAQFRo
-----END OPENSSH PRIVATE KEY-----
"""


def redactor(*values):
    result = Redactor()
    result.add_secrets(*values)
    return result


SECRETS = ["correct-horse 'battery\"", "päss/wörd+&=%", "a\\b$c`d!e#f", "t0ken.with.dots-and_more"]


@pytest.mark.parametrize("secret", SECRETS)
def test_every_form_is_hidden(secret):
    hide = redactor(secret)
    forms = {
        "raw": secret,
        "json": json.dumps(secret),
        "json utf-8": json.dumps(secret, ensure_ascii=False),
        "repr": repr(secret),
        "url": quote(secret, safe=""),
        "form": urlencode({"x": secret}),
        "plus": quote_plus(secret),
        "shell": shlex.quote(secret),
        "basic auth": base64.b64encode(f"deploy:{secret}@x".encode()).decode(),
        "base64": base64.b64encode(secret.encode()).decode(),
        "url base64": base64.urlsafe_b64encode(secret.encode()).decode(),
        "diff": f"-password = old\n+password = {secret}\n",
        "middle": f"x{secret}y",
    }
    for name, text in forms.items():
        shown = hide.text(f"before {text} after")
        assert MASK in shown, name
        assert shown.startswith("before ") and shown.endswith(" after"), name
        assert secret not in shown, name


@pytest.mark.parametrize("shift", range(3))
def test_base64_wherever_the_value_begins(shift):
    secret = "a-rather-long-secret"
    text = base64.b64encode(b"x" * shift + secret.encode() + b"!").decode()
    assert MASK in redactor(secret).text(text)


@pytest.mark.parametrize(
    "value",
    ["", "a", "short", "true", "root", "admin", "password", "Password", "123456789", "5432", "10.0.0.1", "2024-01-01",
     "production", None, True, 1234567890, "      "],
)  # fmt: skip
def test_short_and_common_values_are_left_alone(value):
    hide = redactor(value)
    assert not hide
    text = f"user admin true root password {value} short 123456789 10.0.0.1 production"
    assert hide.text(text) is text


def test_short_secrets_are_hidden_as_whole_words_only():
    hide = redactor("web4pp")
    assert hide.text("user:web4pp@db web4pp") == f"user:{MASK}@db {MASK}"
    assert hide.text("/srv/myweb4pp and web4pps") == "/srv/myweb4pp and web4pps"


def test_lines_of_a_key_are_hidden_one_by_one():
    hide = redactor(KEY)
    for line in KEY.strip().splitlines():
        shown = hide.text(f"+    {line}")
        if line.startswith("-----") or len(line) < 10:
            assert shown == f"+    {line}"
        else:
            assert shown == f"+    {MASK}"
    assert hide.text(KEY) == f"{MASK}\n"
    assert "b3BlbnNzaC1" not in hide.text(json.dumps({"key": KEY}))


def test_the_longest_secret_wins_and_neighbours_are_found():
    hide = redactor("secret-one", "secret-one-two", "other-value")
    assert hide.text("secret-one-twosecret-oneother-value") == MASK * 3


def test_structures_keep_their_shape():
    hide = redactor("hunter2hunter2")
    data = {"a": ["x", "hunter2hunter2", 1, None], "hunter2hunter2": ("b", b"=hunter2hunter2="), "n": {"m": 1.5}}
    assert hide.data(data) == {"a": ["x", MASK, 1, None], MASK: ("b", b"=**********="), "n": {"m": 1.5}}
    assert data["a"][1] == "hunter2hunter2"
    clean = {"a": ["x"], "b": {"c": ["y", {"z": 1}]}}
    assert hide.data(clean) is clean
    assert len(hide.data({"hunter2hunter2": 1, MASK: 2})) == 2


def test_pillar_by_key():
    hide = Redactor()
    hide.add_pillar(
        {
            "mysql": {"root_password": "canary-one", "port": 3306, "user": "canary-user"},
            "users": [{"name": "canary-name", "Passwd": "canary-two"}],
            "api-key": {"nested": ["canary-three"], "file": "/etc/ssl/private/canary.key"},
            "ssl": {"private_key": KEY, "private_key_path": "/etc/canary/path.key", "cert": "canary-cert"},
            "secretary": "canary-four",
            "tokens": {"a": "canary-five", "b": 12345678},
        }
    )
    for word in ("one", "two", "three", "four", "five"):
        assert hide.text(f"canary-{word}") == MASK
    for text in ("canary-user", "canary-name", "canary-cert", "/etc/canary/path.key", "/etc/ssl/private/canary.key"):
        assert hide.text(text) == text


def test_secret_keys_are_the_configurations():
    hide = Redactor(secret_keys=["*geheim*"])
    hide.add_pillar({"password": "shown-value", "Mein_Geheimnis": "hidden-value"})
    assert hide.text("shown-value hidden-value") == f"shown-value {MASK}"


@pytest.mark.parametrize("key", ["password", "db_passwd", "Client-Secret", "auth_token", "ssh_private_key", "API_KEY"])
def test_default_keys(key):
    assert Redactor().is_secret_key(key)
    assert not Redactor([]).is_secret_key(key)


def test_a_uri_says_where_a_secret_is():
    hide = Redactor()
    hide.add_pillar({"password": "sdb://vault/secret/db?password", "token": "really-secret"})
    assert hide.text("sdb://vault/secret/db?password really-secret") == f"sdb://vault/secret/db?password {MASK}"


def test_values_may_come_later():
    hide = Redactor()
    assert hide.data(["late-secret"]) == ["late-secret"]
    hide.add("late-secret")
    assert hide.data(["late-secret"]) == [MASK]
    hide.add("later-secret")
    assert hide.data(["later-secret", "late-secret"]) == [MASK, MASK]


@given(
    st.text(min_size=9, max_size=40).filter(lambda text: len(text.strip()) > 8),  # shorter ones are whole words only
    st.text(max_size=60),
    st.text(max_size=60),
)
def test_a_secret_within_any_text_does_not_survive(secret, before, after):
    hide = redactor(secret)
    if hide:
        assert secret.strip() not in hide.text(before + secret + after).replace(MASK, "\0")


def test_patterns_are_globs():
    assert all("*" in pattern or pattern.isidentifier() for pattern in SECRET_KEYS)


def test_values_from_several_threads_are_all_hidden():
    hide = Redactor()
    secrets = [f"secret-{number:05}-{letter}" for number in range(50) for letter in "abcd"]
    with ThreadPoolExecutor(8) as pool:
        assert all(shown == [MASK] for shown in pool.map(lambda item: [hide.add(item), hide.data([item])][1], secrets))
    assert hide.data(secrets) == [MASK] * len(secrets)
