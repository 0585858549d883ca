"""Certificates and keys: openssl and ssh-keygen read those that are built here, and the reverse."""

import base64
import shutil
import subprocess

import pytest

from thin import runtime
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.loader import Loaders
from thin.utils.pki import der, documents, general, given, keys, libcrypto, names, pem, signing

pytestmark = pytest.mark.skipif(
    not (shutil.which("openssl") and shutil.which("ssh-keygen")), reason="openssl or ssh-keygen is not there"
)

EXTENSIONS = {
    "basicConstraints": "critical, CA:TRUE, pathlen:1",
    "keyUsage": "critical, cRLSign, keyCertSign",
    "extendedKeyUsage": "OCSPSigning, 1.3.6.1.5.5.7.3.17",
    "subjectKeyIdentifier": "hash",
    "authorityKeyIdentifier": "keyid:always",
    "subjectAltName": "DNS:*.example.org,email:sub@example.org,IP:192.0.2.1,URI:https://example.org/a,RID:1.2.3",
    "crlDistributionPoints": [{"fullname": "URI:http://example.org/a.crl", "reasons": ["keyCompromise"]}],
    "certificatePolicies": {"critical": True, "1.2.4.5": ["https://example.org/p"]},
    "policyConstraints": "inhibitPolicyMapping:4",
    "inhibitAnyPolicy": 5,
    "nameConstraints": "permitted;DNS:.example.org,excluded;IP:198.51.100.0/255.255.255.0",
    "noCheck": True,
    "tlsfeature": "status_request",
}


@pytest.fixture(scope="module")
def made():
    """Functions, and the key and certificate of an authority."""
    x509 = loaders().modules.x509
    key = x509.create_private_key(algo="ec")
    return x509, key, x509.create_certificate(signing_private_key=key, subject="CN=CA,O=a\\, b", **EXTENSIONS)


def loaders(test=False, cachedir="/nonexistent", **pillar):
    grains = {"kernel": "Linux", "os": "Debian", "os_family": "Debian"}
    return Loaders({"test": test, "cachedir": str(cachedir), "user": "root"}, runtime, grains=grains, pillar=pillar)


def openssl(*argv, stdin):
    stdin = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run(["openssl", *argv], input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize("module, word", [("x509", "x509_signing_policies"), ("ssh_pki", "ssh_signing_policies")])
@pytest.mark.parametrize(
    "policies, asking, said",
    [
        ({}, {"__pub_id": "web1"}, "must be specified and defined"),
        ({"www": {"minions": "web*"}}, {}, "could not be identified"),
        ({"www": {"minions": "web*"}}, {"__pub_id": "db1"}, "not permitted"),
        ({"www": {"minions": "L@web1,web2"}}, {"__pub_id": "db1"}, "not permitted"),
        ({"www": {"minions": None}}, {"__pub_id": "web1"}, "See CA server log"),
        ({"www": {"minions": "web*", "ttl": 1}}, {"__pub_id": "web1"}, None),
        ({"www": {"minions": "L@web1,web2", "ttl": 1}}, {"__pub_id": "web1"}, None),
    ],
)
def test_who_may_use_a_signing_policy(module, word, policies, asking, said):
    sign = getattr(loaders(**{word: policies}).modules, module).sign_remote_certificate
    answer = sign("www", {}, get_signing_policy_only=True, **asking)
    if said is None:
        assert answer == {"data": {"ttl": 1}, "errors": []}
    else:
        assert answer["data"] is None and len(answer["errors"]) == 1 and said in answer["errors"][0]


@pytest.mark.parametrize(
    "number, data",
    [(0, "020100"), (127, "02017f"), (128, "02020080"), (256, "02020100"), (-1, "0201ff"), (-129, "0202ff7f")],
)
def test_numbers(number, data):
    assert der.integer(number).hex() == data
    assert der.read(bytes.fromhex(data)).number() == number


@pytest.mark.parametrize("dotted", ["1.2.840.113549", "2.5.29.17", "2.999.3", "0.9.2342.19200300.100.1.25"])
def test_object_identifiers(dotted):
    assert der.read(der.oid(dotted)).oid() == dotted


@pytest.mark.parametrize("bits", [set(), {0}, {5, 6}, {7}, {8}, {0, 15}])
def test_flags(bits):
    assert der.read(der.flags(bits)).flags() == bits


BAD = "", "02", "0201", "0280", "30820001", "1f8101", "0201000000", "0289000000000000000001"


@pytest.mark.parametrize("data", BAD)
def test_bad_der(data):
    with pytest.raises(ValueError, match="bad DER"):
        der.read(bytes.fromhex(data))


@pytest.mark.parametrize(
    "given_name, rdns, text",
    [
        ("CN=a,O=b", [[("2.5.4.10", "b")], [("2.5.4.3", "a")]], "CN=a,O=b"),
        (["C=US", "O=b+CN=c"], [[("2.5.4.6", "US")], [("2.5.4.10", "b"), ("2.5.4.3", "c")]], "O=b+CN=c,C=US"),
        ({"CN": "x", "C": "DE"}, [[("2.5.4.6", "DE")], [("2.5.4.3", "x")]], "CN=x,C=DE"),
        ("CN=a\\, b\\3D,1.2.3=#0c0178", [[("1.2.3", "x")], [("2.5.4.3", "a, b=")]], "CN=a\\, b=,1.2.3=x"),
        ({"MAIL": "a@b.c"}, [[("1.2.840.113549.1.9.1", "a@b.c")]], "1.2.840.113549.1.9.1=a@b.c"),
        ({"CN": "#x "}, [[("2.5.4.3", "#x ")]], "CN=\\#x\\ "),
    ],
)
def test_distinguished_names(given_name, rdns, text):
    name = names.build(given_name)
    assert [list(rdn) for rdn in name.rdns] == rdns
    assert name.text() == text
    assert names.read(der.read(name.raw)) == name


@pytest.mark.parametrize("bad", ["x", "CN=", "XY=1", "CN=a,", 'CN="a', {"C": "USA"}, {"CN": "x" * 65}, ["CN=a,O=b"], 7])
def test_bad_names(bad):
    with pytest.raises((CommandExecutionError, SaltInvocationError)):
        names.build(bad)


@pytest.mark.parametrize(
    "kind, value, shown",
    [
        ("DNS", "*.exämple.org", "DNS:*.xn--exmple-cua.org"),
        ("ip", "2001:db8::1", "IP:2001:0db8:0000:0000:0000:0000:0000:0001"),
        ("IP", "10.32.0.0/12", "IP:10.32.0.0/12"),
        ("email", ".example.org", "mail:.example.org"),
        ("URI", "https://u@exämple.org:80/ä".replace("/ä", "/a"), "URI:https://u@xn--exmple-cua.org:80/a"),
        ("dirName", "CN=a,O=b", "dirName:CN=a,O=b"),
    ],
)
def test_general_names(kind, value, shown):
    assert general.shown(der.read(general.build([(kind, value)])[0])) == shown


@pytest.mark.parametrize(
    "kind, value",
    [("dns", "a..b"), ("dns", "a_b"), ("ip", "x"), ("rid", "x.y"), ("othername", "x"), ("x", "x"), ("email", "a@*.b")],
)
def test_bad_general_names(kind, value):
    with pytest.raises((CommandExecutionError, SaltInvocationError)):
        general.build([(kind, value)])


@pytest.mark.parametrize("algo", ["rsa", "ec", "ed25519"])
@pytest.mark.parametrize("encoding", ["pem", "der", "pkcs12"])
def test_private_keys_in_each_encoding(algo, encoding):
    key = keys.generate(algo)
    data = keys.encode_private(key, encoding, "geheim ä")
    assert key.pkcs8 not in data
    for wrong in ("x", None):
        with pytest.raises(given.PasswordError):
            keys.load_private(data, wrong)
    found, how = keys.load_private_as(data, "geheim ä")
    assert (found.public, how, found.type) == (key.public, encoding, algo)
    found, how = keys.load_private_as(keys.encode_private(key, encoding))
    assert (found.public, how) == (key.public, encoding)


def test_keys_of_old_forms():
    for argv in (["genrsa", "2048"], ["ecparam", "-genkey", "-name", "secp384r1"]):
        shown = openssl(*argv, stdin="")
        key = keys.load_private(shown)
        traditional = openssl("pkey", "-traditional", "-aes128", "-passout", "pass:x", stdin=shown)
        assert keys.load_private(traditional, "x").public == key.public
        assert key.public.pem().decode() == openssl("pkey", "-pubout", stdin=shown)
    assert key.size == 384


def test_a_certificate_as_openssl_reads_it(made):
    x509, _, certificate = made
    text = openssl("x509", "-noout", "-text", "-nameopt", "rfc2253", stdin=certificate)
    for words in (
        "CA:TRUE, pathlen:1",
        "Certificate Sign, CRL Sign",
        "OCSP Signing, ipsec Internet Key Exchange",
        "DNS:*.example.org, email:sub@example.org, IP Address:192.0.2.1, URI:https://example.org/a",
        "Registered ID:1.2.3",
        "Key Compromise",
        "CPS: https://example.org/p",
        "Inhibit Policy Mapping:4",
        "DNS:.example.org",
        "IP:198.51.100.0/255.255.255.0",
        "status_request",
        "Subject: CN=CA,O=a\\, b",
        "Version: 3",
    ):
        assert words in text
    said = x509.read_certificate(certificate)
    assert said["subject_str"] == "CN=CA,O=a\\, b"
    assert said["extensions"]["basicConstraints"] == {"critical": True, "ca": True, "pathlen": 1}
    assert said["serial_number"].replace(":", "") in openssl("x509", "-noout", "-serial", stdin=certificate)
    assert said["fingerprints"]["sha256"] in openssl("x509", "-noout", "-fingerprint", "-sha256", stdin=certificate)
    assert x509.verify_signature(certificate)


def test_requests_lists_and_policies(made):
    _, key, ca = made
    policy = {"www": [{"signing_private_key": key}, {"signing_cert": ca}, {"O": "fixed"}, {"minions": "web*"}]}
    x509 = loaders(x509_signing_policies=policy).modules.x509
    mine = x509.create_private_key(algo="ec")
    csr = x509.create_csr(mine, CN="web", O="wanted", subjectAltName="DNS:web", issuerAltName="DNS:x")
    openssl("req", "-noout", "-verify", stdin=csr)
    assert set(x509.read_csr(csr)["extensions"]) == {"subjectAltName"}
    certificate = x509.create_certificate(signing_policy="www", csr=csr, CN="web", O="wanted", days_valid=1)
    said = x509.read_certificate(certificate)
    assert (said["subject_str"], said["issuer_str"]) == ("CN=web,O=fixed", "CN=CA,O=a\\, b")
    assert said["extensions"]["subjectAltName"]["value"] == ["DNS:web"]
    assert x509.verify_signature(certificate, ca) and not x509.verify_signature(certificate)
    assert x509.verify_private_key(mine, certificate)
    assert x509.will_expire(certificate, 2) == {"check_days": 2, "cn": "web", "will_expire": True}
    assert x509.sign_remote_certificate("www", {"csr": csr}, __pub_id="db1")["errors"]
    crl = x509.create_crl(
        key,
        [{"certificate": certificate, "extensions": {"CRLReason": "keyCompromise"}}],
        ca,
        extensions={"cRLNumber": 7},
    )
    revoked = x509.read_crl(crl)["revoked_certificates"]
    assert revoked[said["serial_number"].replace(":", "")]["extensions"]["CRLReason"]["value"] == "keyCompromise"
    assert x509.verify_crl(crl, ca)
    assert "Key Compromise" in openssl("crl", "-noout", "-text", stdin=crl)


def test_containers_and_bundles(made):
    x509, key, ca = made
    for encoding in ("pkcs7_pem", "pkcs7_der"):
        bundle = x509.encode_certificate(ca, encoding, append_certs=[ca])
        how = ["-inform", "DER"] if encoding.endswith("der") else []
        stdin = base64.b64decode(bundle) if how else bundle
        assert openssl("pkcs7", "-print_certs", *how, stdin=stdin).count("BEGIN CERTIFICATE") == 2
        assert x509.read_certificate(bundle)["subject_str"] == "CN=CA,O=a\\, b"
    container = x509.encode_certificate(ca, "pkcs12", private_key=key, pkcs12_passphrase="x", pkcs12_friendlyname="me")
    assert x509.get_public_key(container, passphrase="x") == x509.get_public_key(key)


@pytest.mark.parametrize("algo", ["ed25519", "ed448"])
def test_an_openssl_without_words_for_these_keys(tmp_path, monkeypatch, algo):
    key, data = keys.generate(algo), b"data"
    public = key.public  # openssl computes it
    named = der.read(signing.algorithm(key, "sha256"))
    signature = signing.sign(key, data, "sha256")
    old = tmp_path / "openssl"
    old.write_text('#!/bin/sh\ncase "$*" in *-rawin*) echo "pkeyutl: Option unknown option -rawin" >&2; exit 1; esac\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(libcrypto, "_NAMES", ("libcrypto.so.3", "libcrypto.so.1.1"))
    assert signing.sign(key, data, "sha256") == signature
    assert signing.verify(public, named, signature, data)
    assert not signing.verify(public, named, signature, b"other")
    monkeypatch.setattr(libcrypto, "_NAMES", ())
    with pytest.raises(CommandExecutionError, match=r"OpenSSL 3\.0"):
        signing.sign(key, data, "sha256")


@pytest.mark.parametrize("mangle", [lambda text: text.replace("\n", ""), lambda text: text.replace("\n", "\\n"), str])
def test_a_block_is_made_tidy(made, mangle):
    assert pem.tidy("words\n" + mangle(made[2])).decode() == made[2]


def test_any_byte_that_is_wrong_is_a_value_error(made):
    data = pem.blocks(made[2].encode())[0][2]
    sound, refused = documents.Certificate(data), 0
    for at in range(0, len(data), 7):
        try:
            documents.Certificate(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        except ValueError:
            refused += 1
    assert sound and refused > 10  # other bytes belong to names and numbers


def test_a_state_renews_and_a_dry_run_writes_nothing(made, tmp_path):
    _, key, _ = made
    path = tmp_path / "crt"
    low = {"state": "x509", "fun": "certificate_managed", "name": str(path), "__id__": "x"}
    args = {"signing_private_key": key, "CN": "a", "days_valid": 100}

    def run(test=False, **kwargs):
        found = loaders(test, tmp_path / "cache")
        found.states.module("x509.certificate_managed")["__low__"] = low
        return found.states["x509.certificate_managed"](str(path), **{**args, **kwargs})

    assert run(test=True)["result"] is None and not path.exists()
    assert run()["changes"] == {"created": str(path)}
    assert run()["changes"] == {} and run(test=True)["result"] is True
    assert run(CN="b", test=True)["changes"] == {"subject_name": "CN=b", "issuer_name": "CN=b"}
    assert run(CN="b", days_remaining=101)["changes"] == {
        "expiration": True,
        "subject_name": "CN=b",
        "issuer_name": "CN=b",
    }
    assert run(CN="b", encoding="der")["changes"] == {"encoding": "der"}
    assert der.read(path.read_bytes())


def test_certificates_of_openssh(tmp_path):
    pki = loaders(ssh_signing_policies={"h": {"cert_type": "host", "valid_principals": ["a", "b"], "max_ttl": "1h"}})
    pki = pki.modules.ssh_pki
    ca = pki.create_private_key(algo="ed25519", passphrase="geheim")
    mine = pki.create_private_key(algo="ec")
    with pytest.raises(given.PasswordError):
        pki.get_private_key_size(ca["private_key"], passphrase="other")
    line = pki.create_certificate(
        signing_policy="h",
        signing_private_key=ca["private_key"],
        signing_private_key_passphrase="geheim",
        public_key=mine["public_key"],
        valid_principals=["b", "c"],
        ttl="2d",
        key_id="box",
        serial_number="ab:cd",
        extensions={"permit-pty": True},
        critical_options={"force-command": "echo a=b"},
    )
    (tmp_path / "cert").write_text(line)
    shown = subprocess.run(["ssh-keygen", "-L", "-f", tmp_path / "cert"], capture_output=True, check=True).stdout
    assert b"host certificate" in shown and b"echo a=b" in shown
    said = pki.read_certificate(line)
    assert (said["valid_principals"], said["serial_number"], said["key_id"]) == (["b"], "AB:CD", "box")
    assert said["critical_options"] == {"force-command": "echo a=b"} and said["extensions"] == {"permit-pty": True}
    assert pki.expires(line, "61m") and not pki.expires(line, "59m")
    assert pki.verify_signature(line, ca["public_key"]) and not pki.verify_signature(line, mine["public_key"])
    broken = line[:-8] + ("AAAA" if line[-8:-4] != "AAAA" else "BBBB") + line[-4:]
    assert not pki.verify_signature(broken, ca["public_key"])
