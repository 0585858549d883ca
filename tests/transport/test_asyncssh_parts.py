"""The private parts of asyncssh that pushsalt/transport uses have the expected form.

A new asyncssh that changes one of them fails here, with its name, and not during a login. pyproject.toml excludes
version 3.
"""

import ast
import inspect
from pathlib import Path

import asyncssh
import pytest
from asyncssh.config import SSHClientConfig, SSHConfig
from asyncssh.public_key import CERT_TYPE_USER, decode_ssh_certificate

TRANSPORT = Path(__file__).resolve().parents[2] / "pushsalt" / "transport"
#: methods and class attributes of SSHClientConfig, with the arguments of methods
PARTS = {
    "_handlers": None,
    "_conditionals": None,
    "_set_string": ["self", "option", "args"],
    "_match": ["self", "option", "args"],
    "_error": ["self", "reason"],
}
#: attributes of an instance
FIELDS = {"_default_path", "_path", "_line_no", "_matching", "_options", "_orig_host", "_local_user"}


def private_names_of_configuration():
    """Names with a leading underscore that pushsalt's subclass of SSHClientConfig uses without defining them."""
    tree = ast.parse((TRANSPORT / "sshconfig.py").read_text())
    config = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "_Config")
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")}
    own = {node.name for node in config.body if isinstance(node, ast.FunctionDef)}
    own |= {"_target", "_depth", "_careful"}
    return {name for name in used - own if not name.startswith("__")}


def private_names_elsewhere():
    """Those that the other files of pushsalt/transport use without defining them."""
    used, own = set(), set()
    for path in TRANSPORT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and path.name != "sshconfig.py":
                (own if isinstance(node.ctx, ast.Store) else used).add(node.attr)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
    return {name for name in used - own if name.startswith("_") and not name.startswith("__")}


def config():
    return SSHClientConfig(None, False, False, False, "ann", "host.example", "host.example", 22)


def test_every_private_part_that_is_used_is_listed():
    assert private_names_of_configuration() <= {*PARTS, *FIELDS}
    assert private_names_elsewhere() == {"_make_global_request", "_valid_before"}


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_part_of_the_class_is_as_expected(name):
    found = getattr(SSHClientConfig, name)
    if PARTS[name] is not None:
        assert [*inspect.signature(found).parameters] == PARTS[name]


def test_handlers_are_pairs_of_an_option_and_a_function():
    assert {"host", "match", "include", "proxyjump", "identityfile"} <= set(SSHClientConfig._handlers)
    for option, handler in SSHClientConfig._handlers.values():
        assert isinstance(option, str)
        assert [*inspect.signature(handler).parameters] == ["self", "option", "args"]


def test_an_instance_has_the_fields():
    assert set(vars(config())) >= FIELDS
    assert "_conditionals" in vars(SSHConfig) | vars(SSHClientConfig)


def test_a_certificate_tells_its_end():
    key = asyncssh.generate_private_key("ssh-ed25519")
    made = key.generate_user_certificate(key, "id", valid_before="+1h")
    decoded = decode_ssh_certificate(made.public_data)
    assert CERT_TYPE_USER == 1
    assert decoded._valid_before > 1_700_000_000


def test_a_connection_can_send_a_request_that_needs_an_answer():
    found = inspect.signature(asyncssh.SSHClientConnection._make_global_request)
    assert [*found.parameters] == ["self", "request", "args"]
    assert inspect.iscoroutinefunction(asyncssh.SSHClientConnection._make_global_request)


def test_received_data_passes_a_method_that_can_be_overridden():
    found = inspect.signature(asyncssh.SSHClientConnection.data_received)
    assert [*found.parameters] == ["self", "data", "datatype"]
