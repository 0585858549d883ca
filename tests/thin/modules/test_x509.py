"""Certificates and keys: openssl and ssh-keygen read those that the modules create, and the reverse."""

import base64
import shutil
import subprocess

import pytest

from thin import runtime
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.loader import Loaders
from thin.utils.pki import der, documents, general, given, keys, libcrypto, names, pem, signing

pytestmark = pytest.mark.skipif(
    not (shutil.which("openssl") and shutil.which("ssh-keygen")), reason="openssl or ssh-keygen is not installed"
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
def authority():
    """(functions of x509, key of an authority, its certificate)."""
    x509 = loaders().modules.x509
    key = x509.create_private_key(algo="ec")
    return x509, key, x509.create_certificate(signing_private_key=key, subject="CN=CA,O=a\\, b", **EXTENSIONS)


def loaders(test=False, cachedir="/nonexistent", **pillar):
    grains = {"kernel": "Linux", "os": "Debian", "os_family": "Debian"}
    return Loaders({"test": test, "cachedir": str(cachedir), "user": "root"}, runtime, grains=grains, pillar=pillar)


def openssl(*argv, stdin):
    stdin = stdin if isinstance(stdin, bytes) else stdin.encode()
    process = subprocess.run(["openssl", *argv], input=stdin, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout.decode()


@pytest.mark.parametrize("module, option", [("x509", "x509_signing_policies"), ("ssh_pki", "ssh_signing_policies")])
@pytest.mark.parametrize(
    "policies, arguments, error",
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
def test_a_signing_policy_is_limited_to_its_minions(module, option, policies, arguments, error):
    sign = getattr(loaders(**{option: policies}).modules, module).sign_remote_certificate
    answer = sign("www", {}, get_signing_policy_only=True, **arguments)
    if error is None:
        assert answer == {"data": {"ttl": 1}, "errors": []}
    else:
        assert answer["data"] is None and len(answer["errors"]) == 1 and error in answer["errors"][0]


@pytest.mark.parametrize(
    "number, data",
    [(0, "020100"), (127, "02017f"), (128, "02020080"), (256, "02020100"), (-1, "0201ff"), (-129, "0202ff7f")],
)
def test_integers_are_encoded_in_der(number, data):
    assert der.integer(number).hex() == data
    assert der.read(bytes.fromhex(data)).number() == number


@pytest.mark.parametrize("dotted", ["1.2.840.113549", "2.5.29.17", "2.999.3", "0.9.2342.19200300.100.1.25"])
def test_object_identifiers_are_encoded_in_der(dotted):
    assert der.read(der.oid(dotted)).oid() == dotted


@pytest.mark.parametrize("bits", [set(), {0}, {5, 6}, {7}, {8}, {0, 15}])
def test_bit_strings_are_encoded_in_der(bits):
    assert der.read(der.flags(bits)).flags() == bits


BAD = "", "02", "0201", "0280", "30820001", "1f8101", "0201000000", "0289000000000000000001"


@pytest.mark.parametrize("data", BAD)
def test_invalid_der_is_an_error(data):
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
def test_distinguished_names_are_built_and_read(given_name, rdns, text):
    name = names.build(given_name)
    assert [list(rdn) for rdn in name.rdns] == rdns
    assert name.text() == text
    assert names.read(der.read(name.raw)) == name


@pytest.mark.parametrize("bad", ["x", "CN=", "XY=1", "CN=a,", 'CN="a', {"C": "USA"}, {"CN": "x" * 65}, ["CN=a,O=b"], 7])
def test_invalid_distinguished_names_are_errors(bad):
    with pytest.raises((CommandExecutionError, SaltInvocationError)):
        names.build(bad)


@pytest.mark.parametrize(
    "kind, value, text",
    [
        ("DNS", "*.exämple.org", "DNS:*.xn--exmple-cua.org"),
        ("ip", "2001:db8::1", "IP:2001:0db8:0000:0000:0000:0000:0000:0001"),
        ("IP", "10.32.0.0/12", "IP:10.32.0.0/12"),
        ("email", ".example.org", "mail:.example.org"),
        ("URI", "https://u@exämple.org:80/ä".replace("/ä", "/a"), "URI:https://u@xn--exmple-cua.org:80/a"),
        ("dirName", "CN=a,O=b", "dirName:CN=a,O=b"),
    ],
)
def test_general_names_are_built_and_read(kind, value, text):
    assert general.shown(der.read(general.build([(kind, value)])[0])) == text


@pytest.mark.parametrize(
    "kind, value",
    [("dns", "a..b"), ("dns", "a_b"), ("ip", "x"), ("rid", "x.y"), ("othername", "x"), ("x", "x"), ("email", "a@*.b")],
)
def test_invalid_general_names_are_errors(kind, value):
    with pytest.raises((CommandExecutionError, SaltInvocationError)):
        general.build([(kind, value)])


@pytest.mark.parametrize("algo", ["rsa", "ec", "ed25519"])
@pytest.mark.parametrize("encoding", ["pem", "der", "pkcs12"])
def test_private_keys_are_read_in_each_encoding(algo, encoding):
    key = keys.generate(algo)
    data = keys.encode_private(key, encoding, "geheim ä")
    assert key.pkcs8 not in data
    for wrong in ("x", None):
        with pytest.raises(given.PasswordError):
            keys.load_private(data, wrong)
    loaded, loaded_encoding = keys.load_private_as(data, "geheim ä")
    assert (loaded.public, loaded_encoding, loaded.type) == (key.public, encoding, algo)
    loaded, loaded_encoding = keys.load_private_as(keys.encode_private(key, encoding))
    assert (loaded.public, loaded_encoding) == (key.public, encoding)


def test_keys_in_traditional_formats_are_read():
    for argv in (["genrsa", "2048"], ["ecparam", "-genkey", "-name", "secp384r1"]):
        text = openssl(*argv, stdin="")
        key = keys.load_private(text)
        traditional = openssl("pkey", "-traditional", "-aes128", "-passout", "pass:x", stdin=text)
        assert keys.load_private(traditional, "x").public == key.public
        assert key.public.pem().decode() == openssl("pkey", "-pubout", stdin=text)
    assert key.size == 384


def test_openssl_reads_the_fields_of_a_certificate(authority):
    x509, _, certificate = authority
    text = openssl("x509", "-noout", "-text", "-nameopt", "rfc2253", stdin=certificate)
    for part in (
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
        assert part in text
    fields = x509.read_certificate(certificate)
    assert fields["subject_str"] == "CN=CA,O=a\\, b"
    assert fields["extensions"]["basicConstraints"] == {"critical": True, "ca": True, "pathlen": 1}
    assert fields["serial_number"].replace(":", "") in openssl("x509", "-noout", "-serial", stdin=certificate)
    assert fields["fingerprints"]["sha256"] in openssl("x509", "-noout", "-fingerprint", "-sha256", stdin=certificate)
    assert x509.verify_signature(certificate)


def test_requests_signing_policies_and_revocation_lists_are_used(authority):
    _, key, ca = authority
    policy = {"www": [{"signing_private_key": key}, {"signing_cert": ca}, {"O": "fixed"}, {"minions": "web*"}]}
    x509 = loaders(x509_signing_policies=policy).modules.x509
    mine = x509.create_private_key(algo="ec")
    csr = x509.create_csr(mine, CN="web", O="wanted", subjectAltName="DNS:web", issuerAltName="DNS:x")
    openssl("req", "-noout", "-verify", stdin=csr)
    assert set(x509.read_csr(csr)["extensions"]) == {"subjectAltName"}
    certificate = x509.create_certificate(signing_policy="www", csr=csr, CN="web", O="wanted", days_valid=1)
    fields = x509.read_certificate(certificate)
    assert (fields["subject_str"], fields["issuer_str"]) == ("CN=web,O=fixed", "CN=CA,O=a\\, b")
    assert fields["extensions"]["subjectAltName"]["value"] == ["DNS:web"]
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
    assert revoked[fields["serial_number"].replace(":", "")]["extensions"]["CRLReason"]["value"] == "keyCompromise"
    assert x509.verify_crl(crl, ca)
    assert "Key Compromise" in openssl("crl", "-noout", "-text", stdin=crl)


def test_certificates_in_containers_and_bundles_are_read(authority):
    x509, key, ca = authority
    for encoding in ("pkcs7_pem", "pkcs7_der"):
        bundle = x509.encode_certificate(ca, encoding, append_certs=[ca])
        options = ["-inform", "DER"] if encoding.endswith("der") else []
        stdin = base64.b64decode(bundle) if options else bundle
        assert openssl("pkcs7", "-print_certs", *options, stdin=stdin).count("BEGIN CERTIFICATE") == 2
        assert x509.read_certificate(bundle)["subject_str"] == "CN=CA,O=a\\, b"
    container = x509.encode_certificate(ca, "pkcs12", private_key=key, pkcs12_passphrase="x", pkcs12_friendlyname="me")
    assert x509.get_public_key(container, passphrase="x") == x509.get_public_key(key)


@pytest.mark.parametrize("algo", ["ed25519", "ed448"])
def test_keys_are_used_with_an_openssl_without_options_for_them(tmp_path, monkeypatch, algo):
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
def test_a_pem_block_is_normalized(authority, mangle):
    assert pem.tidy("words\n" + mangle(authority[2])).decode() == authority[2]


def test_a_damaged_certificate_raises_value_error(authority):
    data = pem.blocks(authority[2].encode())[0][2]
    certificate, refused = documents.Certificate(data), 0
    for position in range(0, len(data), 7):
        try:
            documents.Certificate(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
        except ValueError:
            refused += 1
    assert certificate and refused > 10  # other bytes are part of names and numbers


def test_a_state_renews_and_a_dry_run_writes_nothing(authority, tmp_path):
    _, key, _ = authority
    path = tmp_path / "crt"
    low = {"state": "x509", "fun": "certificate_managed", "name": str(path), "__id__": "x"}
    args = {"signing_private_key": key, "CN": "a", "days_valid": 100}

    def run(test=False, **kwargs):
        functions = loaders(test, tmp_path / "cache")
        functions.states.module("x509.certificate_managed")["__low__"] = low
        return functions.states["x509.certificate_managed"](str(path), **{**args, **kwargs})

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


def test_certificates_of_openssh_are_created_and_read(tmp_path):
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
    output = subprocess.run(["ssh-keygen", "-L", "-f", tmp_path / "cert"], capture_output=True, check=True).stdout
    assert b"host certificate" in output and b"echo a=b" in output
    fields = pki.read_certificate(line)
    assert (fields["valid_principals"], fields["serial_number"], fields["key_id"]) == (["b"], "AB:CD", "box")
    assert fields["critical_options"] == {"force-command": "echo a=b"} and fields["extensions"] == {"permit-pty": True}
    assert pki.expires(line, "61m") and not pki.expires(line, "59m")
    assert pki.verify_signature(line, ca["public_key"]) and not pki.verify_signature(line, mine["public_key"])
    broken = line[:-8] + ("AAAA" if line[-8:-4] != "AAAA" else "BBBB") + line[-4:]
    assert not pki.verify_signature(broken, ca["public_key"])
