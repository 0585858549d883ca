"""Secrets are hidden by value, in every form that programs print; other text stays readable."""

import base64
import html
import json
import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, quote_plus, urlencode

import markupsafe
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pushsalt import redact
from pushsalt.options import OPTIONS
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
        "repr with both quotes": repr(f"mysql -p\"{secret}\" -e 'x'"),
        "repr of bytes": repr(f"-p{secret}".encode()),
        "json within json": json.dumps({"body": json.dumps({"p": secret})}),
        "html": html.escape(secret),
        "jinja": str(markupsafe.escape(secret)),
        "url twice": quote(quote(secret, safe=""), safe=""),
        "printf %q": re.sub(r"([^\w@%+=:,./-])", r"\\\1", secret),
        "double quotes of sh": re.sub(r"([$`\"\\])", r"\\\1", secret),
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
    [
        "",
        "a",
        "short",
        "true",
        "root",
        "admin",
        "password",
        "Password",
        "123456789",
        "5432",
        "10.0.0.1",
        "2024-01-01",
        "production",
        None,
        True,
        1234567890,
        "      ",
    ],
)
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
    shown = {"a": ["x", MASK, 1, None], "hunter2hunter2": ("b", b"=**********="), "n": {"m": 1.5}}
    assert hide.data(data) == shown
    assert data["a"][1] == "hunter2hunter2"
    clean = {"a": ["x"], "b": {"c": ["y", {"z": 1}]}}
    assert hide.data(clean) is clean


def test_keys_ids_and_names_stay():
    hide = Redactor()
    hide.add_pillar({"users": {"carol": {"password": "carolina"}}, "db_token": "x7Kq2m9ZpT4w"})
    assert hide.text("su carolina") == f"su {MASK}"
    state = {
        "__id__": "add carolina",
        "__sls__": "users.carolina",
        "name": "carolina",
        "comment": "for carolina",
        "changes": {"/home/carolina": "made", "passwd": "carolina"},
    }
    key = "group_|-add carolina_|-carolina_|-present"
    shown = {**state, "comment": f"for {MASK}", "changes": {"/home/carolina": "made", "passwd": MASK}}
    assert hide.data({key: state}) == {key: shown}
    assert hide.data({"x7Kq2m9ZpT4w": 1}) == {"x7Kq2m9ZpT4w": 1}


def test_a_command_that_is_a_name_has_its_secrets_hidden():
    hide = redactor("x7Kq2m9ZpT4w", "carolina")
    command = "mysql -u carolina -px7Kq2m9ZpT4w"
    ret = hide.data({f"cmd_|-it_|-{command}_|-run": {"__id__": "it", "name": command}})
    shown = f"mysql -u carolina -p{MASK}"
    assert ret == {f"cmd_|-it_|-{shown}_|-run": {"__id__": "it", "name": shown}}
    assert hide.data({"https://me:hunter2@x/y": 1}) == {f"https://me:{MASK}@x/y": 1}


@pytest.mark.parametrize("secret", ["sunshine2024", "correct-horse", "iloveyousomuch", "Summer.2024", "pass.w0rd"])
def test_a_command_that_is_a_name_has_passwords_of_words_hidden(secret):
    hide = Redactor()
    hide.add_pillar({"db": {"password": secret}})
    basic = base64.b64encode(f"app:{secret}".encode()).decode()
    for command in (f"mysql -uapp -p{secret}", f"https://db.example/?token={secret}", f"curl -H 'x: Basic {basic}' db"):
        state = {"__id__": command, "__sls__": f"db.{secret}", "name": command}
        ((key, shown),) = hide.data({f"cmd_|-{command}_|-{command}_|-run": state}).items()
        assert MASK in shown["name"] and shown["name"] == shown["__id__"] == hide.name(command)
        assert key == f"cmd_|-{shown['name']}_|-{shown['name']}_|-run"
        assert not any(word in key for word in (secret, basic))
        assert shown["__sls__"] == f"db.{secret}"
    plain = {"__id__": secret, "__sls__": "db", "name": f"/etc/{secret}"}
    data = {f"file_|-{secret}_|-/etc/{secret}_|-managed": plain}
    assert hide.data(data) is data


def test_a_short_secret_with_a_digit_is_hidden_in_a_command():
    assert redactor("web4pp", "carolin").name("useradd carolin --key web4pp") == f"useradd carolin --key {MASK}"


def test_equal_names_are_searched_once_until_there_is_another_secret(monkeypatch):
    """The targets of a fleet have the same states."""
    searched = []
    by_value = Redactor._by_value
    count = lambda self, text, forms: searched.append(text) or by_value(self, text, forms)  # noqa: E731
    monkeypatch.setattr(Redactor, "_by_value", count)
    redactor = Redactor()
    redactor.add("first-secret-1")
    tag = "cmd_|-mysql -pfirst-secret-1 -psecond-secret-2_|-id_|-run"
    fleet = {f"web{number}": {tag: {"__id__": "mysql -pfirst", "result": True}} for number in range(50)}
    assert list(redactor.data(fleet)["web7"]) == ["cmd_|-mysql -p********** -psecond-secret-2_|-id_|-run"]
    assert len(searched) < 10
    redactor.add("second-secret-2")
    assert list(redactor.data(fleet)["web7"]) == ["cmd_|-mysql -p********** -p**********_|-id_|-run"]


def test_a_value_that_is_also_a_user_name_is_not_a_secret():
    hide = Redactor()
    hide.add_pillar({"grafana": {"user": "grafadmin", "password": "grafadmin"}, "svcbackup": {"password": "svcbackup"}})
    hide.add_pillar({"password": "another", "user": {"name": "grafadmin2"}})
    assert hide.text("grafadmin svcbackup another") == f"grafadmin svcbackup {MASK}"
    hide.add_pillar({"user": "x7Kq2m9ZpT4w", "token": "x7Kq2m9ZpT4w"})  # no target has this name
    assert hide.text("grafadmin x7Kq2m9ZpT4w") == f"grafadmin {MASK}"


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


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "db_passwd",
        "Client-Secret",
        "auth_token",
        "ssh_private_key",
        "API_KEY",
        "pwd",
        "DB_PWD",
        "mysql.pass",
        "https_pass",
        "key-passphrase",
        "aws_secret_access_key",
        "access-key",
        "s3.key",
        "wpa_psk",
        "tailscale_authkey",
    ],
)
def test_default_keys(key):
    assert Redactor().is_secret_key(key)
    assert Redactor(OPTIONS["secret_keys"].default).is_secret_key(key)  # one list, not two
    assert not Redactor([]).is_secret_key(key)


def test_a_uri_says_where_a_secret_is():
    hide = Redactor()
    hide.add_pillar({"password": "sdb://vault/secret/db?password", "token": "really-secret"})
    assert hide.text("sdb://vault/secret/db?password really-secret") == f"sdb://vault/secret/db?password {MASK}"


def test_keys_that_are_not_secret():
    assert not any(map(Redactor().is_secret_key, ["proxy_pass", "fastcgi_pass", "compass", "key", "keys", "bypass"]))
    assert Redactor(["proxy_pass"]).is_secret_key("proxy-pass")


def test_what_everybody_may_see_is_no_secret():
    public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGVhc3RlcmVnZw me@example"
    hide = Redactor()
    hide.add_pillar({"deploy_auth_keys": [public], "tls.key": f"-----BEGIN CERTIFICATE-----\nabcdefghijkl\n{KEY}"})
    assert hide.text(public) == public
    assert "b3BlbnNzaC1" not in hide.text(KEY)


def test_passwords_of_urls_are_hidden_by_their_place():
    hide = Redactor()
    for text in (
        "https://me:hunter2@example.org/x.git",
        "fatal: 'amqp://guest:guest@mq/%2f' is down",
        "a://:x@b c://:y@d",
    ):
        shown = hide.text(text)
        assert shown.count(MASK) == text.count("@") and shown.replace(MASK, "") != text
        assert not any(word in shown for word in ("hunter2", ":guest", ":x", ":y"))
    for text in (
        "http://localhost:8080/a@b",
        "git@github.com:a/b",
        "https://me@example.org",
        "http://x:80\nmail a@b",
        r"^https?://([^:]*):(.*)@(.*)$",
        "https://{user}:{password}@host",
    ):
        assert hide.text(text) is text
    assert hide.data({"url": ["ssh://u:hunter2@h"]}) == {"url": [f"ssh://u:{MASK}@h"]}


def test_long_texts_take_no_time():
    hide, began = Redactor(), time.perf_counter()
    for text in ("a" * 2_000_000, "://" * 500_000, "://a:" * 300_000, "://" + "a:" * 500_000):
        hide.text(f"{text} ://@")
    assert time.perf_counter() - began < 5


def test_a_url_in_pillar_has_a_secret():
    hide = Redactor()
    hide.add_pillar({"db": {"uri": "postgresql://app:c4nary%2Fone@db/app"}, "list": ["https://x:guest@y"]})
    assert hide.text("password=c4nary/one c4nary%2Fone guest") == f"password={MASK} {MASK} guest"


def test_a_whole_url_that_is_secret_is_hidden_whole():
    url = "https://me:hunter2@hooks.example/T0P"
    assert redactor(url).text(f"at {url}") == f"at {MASK}"


def test_a_short_secret_ends_at_a_sign():
    hide = redactor("pa-ss;", "(x-y-z)")
    assert hide.text("Xpa-ss;1 pa-ss;") == f"Xpa-ss;1 {MASK}"
    assert hide.text("1(x-y-z)2") == f"1{MASK}2"


@pytest.mark.parametrize("secret", ["web4pp", "hunter2x", "c4nary-9f2e71ab-long-one", "a b/c+d=e&f", KEY])
def test_base64_and_url_quoted_wherever_it_stands(secret):
    hide = redactor(secret)
    for around in ("", "x", "xy", "xyz"):
        plain = f"{around}:{secret}:{around}".encode()
        for text in (base64.b64encode(plain).decode(), base64.encodebytes(plain).decode()):
            signed = "\n".join(f"+{line}" for line in text.splitlines())
            for each in (text, json.dumps(text), signed, text.replace("\n", "\n    ")):
                assert MASK in hide.text(each), each
                assert not any(line in hide.text(each) for line in text.splitlines()[1:-1])
    for quoted in (quote(f"={secret}&", safe=""), quote(f"={secret}&")):
        lower = re.sub("%..", lambda found: found[0].lower(), quoted)
        assert MASK in hide.text(quoted) and MASK in hide.text(lower), quoted


@pytest.mark.parametrize("before", ["\\n", "\\t", "%3D", "%20", "\\u00e9", "\\xe9", "\x1b[31m", "\x1b[0m"])
def test_an_escape_sequence_is_no_letter_next_to_a_short_secret(before):
    assert redactor("web4pp").text(f"{before}web4pp") == before + MASK
    assert redactor("\nweb4pp").text(f"x{before}web4pp!") == f"x{before}{MASK}!"


def test_values_may_come_later():
    hide = Redactor()
    assert hide.data(["late-secret"]) == ["late-secret"]
    hide.add("late-secret")
    assert hide.data(["late-secret"]) == [MASK]
    hide.add("later-secret")
    assert hide.data(["later-secret", "late-secret"]) == [MASK, MASK]


@given(st.text(min_size=9, max_size=40), st.text(max_size=60), st.text(max_size=60))
@example("\r0000000;", "", "0")  # eight characters without its white space
@example("\rcorrect0", "x", "y")
def test_a_secret_within_any_text_does_not_survive(secret, before, after):
    hide = redactor(secret)
    if hide:
        assert secret.strip() not in hide.text(before + secret + after).replace(MASK, "\0")


def test_patterns_are_globs():
    assert all("*" in pattern or pattern.isidentifier() for pattern in SECRET_KEYS)
    assert list(SECRET_KEYS) == OPTIONS["secret_keys"].default
    said = (Path(__file__).parents[1] / "docs/cli.md").read_text("utf-8")
    assert all(f"`{pattern}`" in said for pattern in SECRET_KEYS)


def test_values_from_several_threads_are_all_hidden():
    hide = Redactor()
    secrets = [f"secret-{number:05}-{letter}" for number in range(50) for letter in "abcd"]
    with ThreadPoolExecutor(8) as pool:
        assert all(shown == [MASK] for shown in pool.map(lambda item: [hide.add(item), hide.data([item])][1], secrets))
    assert hide.data(secrets) == [MASK] * len(secrets)


@given(st.lists(st.text(min_size=9, max_size=20), min_size=1, max_size=5), st.lists(st.text(max_size=20), max_size=6))
def test_a_long_text_is_redacted_as_a_short_one(secrets, others):
    redactor = Redactor()
    redactor.add(secrets)
    text = "-".join(part for pair in zip(others, secrets * 6, strict=False) for part in pair) + secrets[-1]
    hidden = redactor.text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact, "LONG", 0)
        assert redactor.text(text) == hidden


RSA = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + "\n".join(KEY.split("\n")[1:-2]) + "\n"
RSA += "-----END RSA PRIVATE KEY-----\n"


@pytest.mark.parametrize("key", [KEY, RSA, KEY.replace("OPENSSH ", ""), KEY.replace("\n", "\r\n")])
def test_private_keys_are_hidden_below_any_key(key):
    """A return may have one that no pillar contains: from a file, or a program's output."""
    diff = "--- \n+++ \n@@ -1 +1 @@\n context\n" + "".join(f"+{line}\n" for line in key.splitlines())
    ret = {"a": {"changes": {"diff": diff, "pem": key, "within": f"before {key} after"}, "json": json.dumps([key])}}
    shown = Redactor().data(ret)
    for line in key.splitlines()[1:-1]:
        assert not line.strip() or line.strip() not in json.dumps(shown), line
    label = key.partition("\n")[0].strip()
    assert shown["a"]["changes"]["diff"].splitlines()[3:] == [
        " context",
        f"+{label}",
        f"+{MASK}",
        f"+{label.replace('BEGIN', 'END')}",
    ]
    assert (
        shown["a"]["changes"]["within"].startswith("before -----BEGIN") and " after" in shown["a"]["changes"]["within"]
    )
    assert json.loads(shown["a"]["json"])
    assert KEY.splitlines()[1] not in Redactor().text(f"cannot load {key}")
    encoded = base64.b64encode(key.encode()).decode()
    assert redactor("another-secret").data({"k": encoded}) == {"k": MASK}


def test_a_key_that_is_cut_off_is_hidden():
    cut = KEY[: KEY.index("QyNT") + 20]
    assert Redactor().text(f"x {cut}") == f"x -----BEGIN OPENSSH PRIVATE KEY-----\n{MASK}"


def test_a_key_is_shown_that_was_asked_for():
    assert Redactor().answer(KEY) == KEY
    assert Redactor().answer({"a": KEY}) == {"a": f"{KEY[:35]}\n{MASK}\n{KEY[-34:]}"}
    made = Redactor()
    made.add_pillar({"tls": {"material": KEY}})
    assert KEY.splitlines()[1] not in made.answer(KEY)
    assert KEY.splitlines()[2] not in made.text(f"x{KEY.splitlines()[2]}")


def test_texts_about_private_keys_are_not_hidden():
    for text in (
        "a line -----BEGIN PRIVATE KEY----- begins a key",
        "-----BEGIN PRIVATE KEY-----\nand so on\n",
        KEY.replace("PRIVATE", "PUBLIC"),
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKC\n-----END CERTIFICATE-----\n",
    ):
        assert Redactor().text(text) == text


def test_ordinary_lines_of_a_secret_hide_no_results():
    secret = (
        "[main section]\nuser = root\nenabled = true\nport = 127.0.0.1:3306\npassword = qwertz-9\n---------------\n"
    )
    made = redactor(secret)
    for line in ("enabled = true", "user = root", "---------------"):
        assert made.text(f"{line}\nx") == f"{line}\nx"
    assert made.text("password = qwertz-9") == MASK
    assert "enabled" not in made.text(f"x{secret}")


def test_each_line_of_a_long_secret_is_hidden_in_base64_too():
    lines = [base64.b64encode(f"line {number} of it".encode() * 3).decode() for number in range(2 * redact.MANY_LINES)]
    made = redactor("\n".join(lines))
    assert made.text(f"a {lines[150]} b") == f"a {MASK} b"
    assert made.text(base64.b64encode(f"a {lines[150]} b".encode()).decode()) == MASK
