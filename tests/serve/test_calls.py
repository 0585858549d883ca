"""Entries of a lowstate: arguments as Salt reads them, and what is refused."""

from __future__ import annotations

import pytest

from pushsalt.job import Selection
from pushsalt.serve.answers import Refused
from pushsalt.serve.calls import call_of
from pushsalt.serve.settings import CLIENTS


def call(client="local", fun="test.arg", **kwargs):
    tgt = {} if client.startswith("runner") else {"tgt": "*"}
    return call_of({"client": client, "fun": fun, **tgt, **kwargs}, CLIENTS)


@pytest.mark.parametrize(
    "given, args, kwargs",
    [
        ({}, [], {}),
        ({"arg": []}, [], {}),
        ({"arg": None}, [], {}),
        ({"arg": "x"}, ["x"], {}),
        ({"arg": ["x", 1, None, {"a": 1}, [2]]}, ["x", 1, None, {"a": 1}, [2]], {}),
        ({"arg": ["1", "a=1", "b=[1, x]", "c==d", "e f=1"]}, ["1", "c==d", "e f=1"], {"a": 1, "b": [1, "x"]}),
        ({"arg": ["x", {"__kwarg__": True, "a": 1}]}, ["x"], {"a": 1}),
        ({"arg": ["a=1"], "kwarg": {"a": 2, "__kwarg__": True}}, [], {"a": 2}),
    ],
)
def test_arguments_for_targets(given, args, kwargs):
    found = call(**given)
    assert (found.args, found.kwargs) == (args, kwargs)


@pytest.mark.parametrize(
    "given, args, kwargs",
    [
        ({"arg": ["1", "true", "20261126160522558733"]}, [1, True, "20261126160522558733"], {}),
        ({"arg": ["jid=20261126160522558733"]}, [], {"jid": 20261126160522558733}),
        ({"jid": "2026", "kwarg": {"missing": True}}, [], {"jid": "2026", "missing": True}),
        ({"token": "x", "username": "a", "password": "b", "eauth": "c", "timeout": 3, "full_return": True}, [], {}),
    ],
)
def test_arguments_for_runners(given, args, kwargs):
    found = call("runner", "jobs.list_job", **given)
    assert (found.args, found.kwargs, found.selection) == (args, kwargs, None)


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({"tgt": "web*"}, Selection("web*")),
        ({"tgt": ["a", "b"]}, Selection("a,b", "list")),
        ({"tgt": "a,b", "tgt_type": "list"}, Selection("a,b", "list")),
        ({"tgt": "os:Debian", "expr_form": "grain"}, Selection("os:Debian", "grain")),
        ({"tgt": "os|Debian", "tgt_type": "grain", "delimiter": "|"}, Selection("os|Debian", "grain", "|")),
        ({"tgt": "*", "subset": 2}, Selection("*", subset=2)),
    ],
)
def test_targets(given, wanted):
    assert call(**given).selection == wanted


def test_options_of_jobs():
    assert call(batch=None).batch is None  # as pepper sends it
    assert call(batch="10%").batch == "10%"
    assert call("local_batch").batch == "10%"
    assert call("local_batch", batch=2).batch == "2"
    found = call("local_subset")
    assert found.selection is not None and found.selection.subset == 3
    assert call(ret="http, redis").returners == ("http", "redis")
    assert call(timeout="7").timeout == 7


@pytest.mark.parametrize(
    "entry, words",
    [
        ({"client": "wheel", "fun": "key.list_all"}, "no keys"),
        ({"client": "ssh"}, "Invalid client"),
        ({"client": None}, "Invalid client"),
        ({"client": ["local"]}, "Invalid client"),
        ({"fun": "ping"}, "MODULE.FUNCTION"),
        ({"fun": ["test.ping", "test.arg"]}, "MODULE.FUNCTION"),
        ({"fun": None}, "MODULE.FUNCTION"),
        ({"raw_shell": True}, "Raw shell"),
        ({"tgt": None}, "tgt"),
        ({"tgt": {}}, "tgt"),
        ({"tgt_type": "range"}, "tgt_type"),
        ({"tgt_type": ["glob"]}, "tgt_type"),
        ({"kwarg": ["x"]}, "kwarg"),
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"batch": "-5"}, "batch"),
        ({"batch": "many"}, "batch"),
        ({"subset": "x"}, "subset"),
        ({"delimiter": 1}, "delimiter"),
    ],
)
def test_entries_that_are_refused(entry, words):
    with pytest.raises(Refused, match=words) as found:
        call_of({"client": "local", "fun": "test.ping", "tgt": "*", **entry}, CLIENTS)
    assert found.value.status == 400


def test_clients_that_are_not_enabled():
    with pytest.raises(Refused, match="there are: local"):
        call_of({"client": "runner", "fun": "manage.up"}, ("local",))
