"""Unknown arguments of functions with ``**kwargs``: which are misspelt, and which only have no effect."""

from __future__ import annotations

from typing import Any

import pytest

from pushsalt.compile.check import check_chunks
from pushsalt.compile.source import ArgSpec
from pushsalt.modules.signatures import StateFunctions
from pushsalt.nearest import misspelt

FUNCTIONS = StateFunctions()
REFERENCE = [{"pkg": "nginx"}]


def said(full: str, strict: str = "near", **given: Any) -> list[tuple[str, str, str]]:
    """Level, rule and hint of the findings about one chunk."""
    state, _, fun = full.partition(".")
    chunk = {"state": state, "fun": fun, "name": "/x", "__id__": "x", "__sls__": "s", "order": 1, **given}
    other = {"state": "pkg", "fun": "installed", "name": "nginx", "__id__": "nginx", "__sls__": "s", "order": 2}
    found = check_chunks([chunk, other], FUNCTIONS, strict=strict)
    return [(each.level, each.rule, each.hint.partition("?")[0]) for each in found]


@pytest.mark.parametrize(
    "full, given, near",
    [
        ("cmd.run", {"unles": "true"}, "unless"),
        ("cmd.run", {"onyif": "true"}, "onlyif"),
        ("cmd.run", {"Unless": "true"}, "unless"),
        ("cmd.run", {"ONLYIF": "true"}, "onlyif"),
        ("cmd.run", {"onChanges": REFERENCE}, "onchanges"),
        ("cmd.run", {"heck_cmd": "true"}, "check_cmd"),
        ("cmd.run", {"create": "/x"}, "creates"),
        ("cmd.run", {"check_cdm": "true"}, "check_cmd"),
        ("cmd.run", {"requre": REFERENCE}, "require"),
        ("file.managed", {"moed": "0644"}, "mode"),
        ("file.managed", {"mkdirs": True}, "makedirs"),
        ("file.directory", {"recrse": ["mode"]}, "recurse"),
        ("service.running", {"enabel": True}, "enable"),
        ("service.running", {"wacth": REFERENCE}, "watch"),
        ("pkg.installed", {"nmae": "nginx"}, "name"),
        ("pkg.installed", {"requires": REFERENCE}, "require"),
        ("pkg.latest", {"require-in": REFERENCE}, "require_in"),
        ("pkg.removed", {"failhrad": True}, "failhard"),
        ("archive.extracted", {"source": "salt://x", "owerwrite": True}, "overwrite"),
        ("pkg.installed", {"ignore_epohc": True}, "ignore_epoch"),
        # the state composes these names from the module that it calls
        ("mysql_user.present", {"conection_host": "db1"}, "connection_host"),
        ("mysql_user.present", {"connection_hots": "db1"}, "connection_host"),
        ("mysql_database.present", {"connection_defualt_file": "/x"}, "connection_default_file"),
        # arguments that may be keys of a file: similar to known ones
        ("pkgrepo.managed", {"fiel": "/etc/apt/sources.list.d/x.list"}, "file"),
        ("pkgrepo.managed", {"key_ulr": "https://example.org/key"}, "key_url"),
        ("pkgrepo.managed", {"gpgchek": 1}, "gpgcheck"),
        ("pkgrepo.absent", {"keydi": "1234"}, "keyid"),
        # arguments that are data: only what resembles a guard or a requisite is reported
        ("module.run", {"unles": "true"}, "unless"),
        ("test.nop", {"requre": REFERENCE}, "require"),
        ("test.nop", {"requre": ["nginx"]}, "require"),
        ("module.run", {"test.ping": [], "onchagnes": REFERENCE}, "onchanges"),
        ("file.managed", {"template": "jinja", "source": "salt://x", "watchin": REFERENCE}, "watch_in"),
        ("file.recurse", {"template": "jinja", "source": "salt://x", "onlif": "true"}, "onlyif"),
        ("file.managed", {"template": "jinja", "source": "salt://x", "nless": "true"}, "unless"),
        ("file.managed", {"template": "jinja", "source": "salt://x", "nuless": "true"}, "unless"),
        ("file.managed", {"template": "jinja", "source": "salt://x", "unles": True}, "unless"),
        ("file.managed", {"template": "jinja", "source": "salt://x", "equire": REFERENCE}, "require"),
        ("test.nop", {"nlyif": "true"}, "onlyif"),
        ("module.run", {"nchanges": REFERENCE}, "onchanges"),
    ],
)
def test_a_slip_is_an_error(full, given, near):
    requisite = near in ("require", "require_in", "watch", "watch_in", "onchanges")
    rule = "misspelt-requisite" if requisite else "misspelt-argument"
    hint = f"Did you mean '{near}'"
    assert [(level, each, words) for level, each, words in said(full, **given)] == [("error", rule, hint)]
    assert said(full, "error", **given) == [("error", rule, hint)]
    assert said(full, "warn", **given) == [("warning", rule, hint)]
    assert said(full, "off", **given) == []


@pytest.mark.parametrize(
    "full, given, near",
    [
        ("file.managed", {"frobnicate": 1}, ""),
        ("pkg.installed", {"frobnicate": 1}, ""),
        ("cmd.run", {"frobnicate": 1}, ""),
        ("service.running", {"frobnicate": 1}, ""),
        ("file.directory", {"make_dirs": True}, "makedirs"),  # formulas for Salt have these
        ("cmd.run", {"run_as": "nobody"}, "runas"),
        ("file.managed", {"content": "x"}, "contents"),  # of file.blockreplace
    ],
)
def test_what_does_nothing_is_a_warning(full, given, near):
    hint = f"Did you mean '{near}'" if near else "remove it, or correct its name"
    rule = "misspelt-argument" if near else "unused-argument"
    assert said(full, **given) == [("warning", rule, hint)]
    (strictly,) = said(full, "error", **given)
    assert strictly[:2] == ("error", rule)
    assert said(full, "off", **given) == []


@pytest.mark.parametrize(
    "full, given",
    [
        ("file.managed", {"owner": "root", "file_mode": "0644"}),  # read under another name, and reported by the state
        ("file.directory", {"mode": "0755"}),
        ("file.serialize", {"formatter": "json"}),
        ("archive.extracted", {"source": "salt://x", "keep": True}),
        ("service.running", {"reload": True, "full_restart": True, "no_block": True}),
        ("pkg.installed", {"enablerepo": "x", "disablerepo": "y", "only_upgrade": True, "force_conf_new": True}),
        ("mysql_user.present", {"connection_host": "h", "connection_charset": "utf8"}),
        ("pkgrepo.managed", {"humanname": "x", "gpgkey": "y", "sslverify": 1, "enabled_metadata": 1, "type": "rpm-md"}),
        ("pkgrepo.managed", {"own_key": "x", "cost": 1, "exclude": "a", "include": "b", "proxy_auth_method": "none"}),
        ("pkgrepo.managed", {"types": ["deb"], "uris": ["http://x"], "suites": ["one"], "root": "/x", "url": "y"}),
        ("mysql_grants.present", {"connection_use_unicode": True, "connection_conv": {}, "connection_pass": "x"}),
        ("file.absent", {"contents": "x", "mode": "0644"}),  # a remainder of file.managed
        ("module.run", {"test.arg": [{"match": ["a"]}], "batch": ["nginx"], "created": "now"}),
        ("test.nop", {"listen_on": ["0.0.0.0:80"], "use_it": [1]}),
        ("iptables.append", {"dport": 80, "sport": 81, "jump": "ACCEPT", "match": ["state"]}),
        ("file.managed", {"template": "jinja", "source": "salt://x", "moed": 1, "nmae": 2, "listen_ip": ["::"]}),
        ("file.managed", {"template": "jinja", "contents": "x", "creates": "/x", "created": "/y", "match": [{"a": 1}]}),
        ("cmd.run", {"provider": "x", "env": [], "__reqs__": {}, "name_order": 1, "aggregate": True}),
    ],
)
def test_what_means_something_passes(full, given):
    assert said(full, **given) == said(full, "error", **given) == []


def test_unknown_functions_are_not_checked():
    """Users' own states, and Salt's, which take any argument."""

    class Functions(StateFunctions):
        def spec(self, name: str) -> ArgSpec | None:
            return ArgSpec(("name",), ("name",), kwargs=True)

    chunk = {"state": "own", "fun": "thing", "name": "x", "__id__": "x", "requre": REFERENCE, "unles": "true"}
    assert check_chunks([chunk], Functions(), strict="error") == []


def test_functions_that_refuse_hint_at_guards_too():
    (problem,) = check_chunks(
        [{"state": "file", "fun": "touch", "name": "/x", "__id__": "x", "unles": "true"}], FUNCTIONS, strict="off"
    )
    assert problem.text == "'unles' is an invalid keyword argument for 'file.touch'"
    assert problem.hint == "Did you mean 'unless'?"


@pytest.mark.parametrize(
    "word, known, near",
    [
        ("unles", ["unless", "use"], "unless"),
        ("nmae", ["name"], "name"),
        ("use", ["user"], ""),
        ("uid", ["gid"], ""),
        ("modes", ["mode", "model"], "mode"),
        ("mkdirs", ["makedirs"], "makedirs"),
        ("pattern", ["template"], ""),
        ("", ["mode"], ""),
        ("mode", [], ""),
    ],
)
def test_slips(word, known, near):
    assert misspelt(word, known) == near
