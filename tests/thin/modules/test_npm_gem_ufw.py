"""npm, gem and ufw, with scripts that print the output of Debian 12's programs, shortened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NPM = """#!/bin/sh
cd FOLDER
echo "$@" >> calls
case "$1" in
    list)
        [ -e broken ] && { echo "npm ERR! no luck" >&2; exit 1; }
        echo 'npm WARN something'; echo '{'; echo ' "dependencies": {'; sed '$!s/$/,/' have 2> /dev/null; echo '}}'
        [ -s have ] || exit 1;;
    install)
        case "$*" in
            *nosuch*) echo "npm ERR! code E404" >&2; exit 1;;
            *--dry-run*|*bare*) echo '{ "added": 1, "changed": 0, "removed": 0 }';;
            *=error)
                [ -e full ] && echo '{ "added": 0, "changed": 0, "removed": 0 }' || echo '{ "added": 1 }'
                touch full;;
            *) echo '"tiny": {"version": "1.0.0"}' >> have; echo '{ "added": 1 }';;
        esac;;
    uninstall) : > have;;
    cache) [ "$2" = ls ] && cat cached 2> /dev/null; [ "$2" = clean ] && : > cached;;
    config) echo /root/.npm;;
esac
exit 0
"""
GEM = """#!/bin/sh
cd FOLDER
case "$1" in
    --version) echo 3.3.15;;
    list) echo "*** LOCAL GEMS ***"; echo; cat have 2> /dev/null;;
    outdated) echo "tiny (1.0 < 1.2)";;
    install)
        echo "$@" >> calls
        case "$2" in nosuch) echo "ERROR:  Could not find a valid gem" >&2; exit 2;; esac
        echo "tiny (1.1, default: 1.0)" > have;;
    uninstall) : > have;;
    sources)
        case "$2" in
            --add) echo "$3" >> sources; echo added;;
            --remove) grep -vxF "$3" sources > new; mv new sources;;
            *) echo "*** CURRENT SOURCES ***"; echo; cat sources 2> /dev/null;;
        esac;;
esac
exit 0
"""
#: rules are lines of a file; a dry run prints the resulting table
UFW = """#!/bin/sh
cd FOLDER
dry=; [ "$1" = --dry-run ] && { dry=1; shift; }
[ "$1" = --force ] && shift
case "$1" in
    version) echo "ufw 0.36.2"; echo "Copyright";;
    status) [ -e on ] && echo "Status: active" || echo "Status: inactive";;
    enable) touch on; echo "Firewall is active and enabled on system startup";;
    disable) rm -f on; echo "Firewall stopped and disabled on system startup";;
    show) echo "Added user rules (see 'ufw status' for running firewall):"; sed 's/^/ufw /' rules 2> /dev/null;;
    default) [ "$2" = what ] && { echo "ERROR: Unsupported policy 'what'" >&2; exit 1; }
        echo "Default $3 policy changed to '$2'";;
    *)
        [ "$1" = prepend ] && { shift; }
        case "$*" in *nosuch*) echo "ERROR: Could not find a profile matching 'nosuch'" >&2; exit 1;; esac
        if grep -qxF -- "$*" rules 2> /dev/null; then echo "Skipping adding existing rule"; exit 0; fi
        [ -z "$dry" ] && echo "$*" >> rules
        printf '*filter\\n:ufw-user-input - [0:0]\\n### tuple ### x\\nCOMMIT\\n'
        [ -e on ] && echo "Rule added" || echo "Rules updated";;
esac
"""


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_loaders: Any) -> Any:
    for name, text in (("npm", NPM), ("gem", GEM), ("ufw", UFW)):
        (tmp_path / name).write_text(text.replace("FOLDER", str(tmp_path)))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    loaders = make_loaders()

    def state(function: str, test: bool = False, **kwargs: Any) -> tuple[Any, Any, str]:
        loaders.opts["test"] = test
        ret = loaders.states[function](**kwargs)
        return ret["result"], ret["changes"], ret["comment"]

    state.call = loaders.modules  # type: ignore[attr-defined]
    state.folder = tmp_path  # type: ignore[attr-defined]
    return state


def test_packages_of_npm_are_installed_and_removed(bed: Any) -> None:
    new = {"old": [], "new": ["tiny@1.0.0"]}
    expected = "NPM package(s) 'tiny@1.0.0' are set to be installed"
    assert bed("npm.installed", True, name="tiny@1.0.0") == (None, new, expected)
    assert bed("npm.installed", name="tiny@1.0.0")[:2] == (True, new)
    for name in ("tiny", "tiny@1.0.0"):
        assert bed("npm.installed", name=name) == (True, {}, f"Package(s) '{name}' satisfied by tiny@1.0.0")
    assert bed("npm.installed", True, name="tiny@2.0.0")[1]["new"] == ["tiny@2.0.0"]
    assert bed("npm.installed", True, name="x", pkgs=["tiny", "@a/b@^1"])[1]["new"] == ["@a/b@^1"]
    result, changes, comment = bed("npm.installed", name="nosuch", registry="http://127.0.0.1:1")
    assert (result, changes) == (False, {})
    assert "npm install --json" in comment
    assert "code E404" in comment
    assert bed("npm.removed", True, name="tiny") == (None, {}, "Package 'tiny' is set to be removed")
    assert bed("npm.removed", name="tiny")[:2] == (True, {"tiny": "Removed"})
    assert bed("npm.removed", name="tiny") == (True, {}, "Package 'tiny' is not installed")
    (bed.folder / "broken").touch()
    assert bed("npm.installed", name="tiny")[0] is False
    assert "no luck" in bed("npm.removed", name="tiny")[2]


def test_npm_bootstraps_a_folder_and_cleans_its_cache(bed: Any) -> None:
    folder = str(bed.folder)
    assert bed("npm.bootstrap", True, name=folder)[:2] == (None, {folder: "Bootstrapped"})
    assert bed("npm.bootstrap", name=folder)[:2] == (True, {folder: "Bootstrapped"})
    assert bed("npm.bootstrap", name=folder) == (True, {}, "Directory is already bootstrapped")
    (bed.folder / "cached").write_text("pacote:tarball:tiny\n")
    assert bed("npm.cache_cleaned", True, name="")[0] is None
    assert bed("npm.cache_cleaned", name="other") == (True, {}, "Package other is not in the cache")
    assert bed("npm.cache_cleaned", name="", force=True)[1] == {"cache": "Removed"}
    assert bed("npm.cache_cleaned", name="")[1] == {}
    assert bed.call["npm.cache_path"]() == "/root/.npm"
    (bed.folder / "package.json").write_text('{"name": "own", "version": "3.0"}')
    assert bed.call["npm.describe"](folder) == {"name": "own", "version": "3.0"}
    assert bed.call["npm.describe"]("/nowhere") == {}


def test_gems_are_installed_and_removed(bed: Any) -> None:
    assert bed("gem.installed", True, name="tiny") == (None, {}, "The gem tiny would have been installed")
    assert bed("gem.installed", name="tiny", version="1.1")[:2] == (True, {"tiny": "Installed"})
    assert (bed.folder / "calls").read_text() == "install tiny --version 1.1 --no-document\n"
    for version, met in (("1.1", True), ("1.0", True), (">= 1.0", True), ("> 1.1", False), ("<2", True), ("9", False)):
        result, _, comment = bed("gem.installed", True, name="tiny", version=version)
        assert (result, "would" in comment) == ((True, False) if met else (None, True)), version
    assert bed.call["gem.list"]() == {"tiny": ["1.1", "default: 1.0"]}
    assert bed.call["gem.list_upgrades"]() == {"tiny": "1.2"}
    result, _, comment = bed("gem.installed", name="nosuch", ri=True)
    assert result is False
    assert "gem install nosuch --document=ri failed: ERROR:  Could not find a valid gem" in comment
    assert bed("gem.removed", True, name="tiny")[0] is None
    assert bed("gem.removed", name="tiny")[1] == {"tiny": "Removed"}
    assert bed("gem.removed", name="tiny") == (True, {}, "Gem is not installed.")
    url = "https://gems.example/"
    assert bed("gem.sources_add", True, name=url)[0] is None
    assert bed("gem.sources_add", name=url)[1] == {url: "Installed"}
    assert bed("gem.sources_add", name=url)[1] == {}
    assert bed("gem.sources_remove", True, name=url)[0] is None
    assert bed("gem.sources_remove", name=url)[1] == {url: "Removed"}
    assert bed("gem.sources_remove", name=url)[1] == {}


def test_rules_of_ufw_are_added_once(bed: Any) -> None:
    rule = {"name": "ssh", "protocol": "tcp", "to_port": '"22"', "comment": "'\"the door\"'"}
    text = "allow proto tcp from any to any port 22 comment 'the door'"
    assert bed("ufw.allowed", True, **rule) == (None, {}, "ssh would have been configured")
    assert bed("ufw.allowed", **rule) == (True, {"rule": text}, "ssh updated")
    assert bed("ufw.allow", **rule) == (True, {}, "ssh is already configured")
    assert bed("ufw.deny", name="d", from_addr="192.0.2.1")[1] == {"rule": "prepend deny from 192.0.2.1 to any"}
    assert bed("ufw.denied", name="d", from_addr="192.0.2.1")[1] == {}
    assert bed("ufw.limit", name="e", interface="eth0")[1] == {"rule": "limit in on eth0"}
    assert bed("ufw.reject", name="all", to_port="*")[1] == {"rule": "prepend reject from any to any"}
    result, _, comment = bed("ufw.allow", name="a", app="'nosuch'")
    assert result is False
    assert "Could not find a profile matching 'nosuch'" in comment
    assert bed.call["ufw.status"]()["rules"][0] == "allow proto tcp from any to any port 22 comment the door"


def test_ufw_is_enabled_and_disabled(bed: Any) -> None:
    assert bed("ufw.enabled", True, name="x") == (None, {}, "UFW would have been enabled")
    assert bed("ufw.enabled", name="x") == (True, {"enabled": True}, "UFW is enabled")
    assert bed("ufw.enabled", name="x") == (True, {}, "UFW is already enabled")
    assert bed("ufw.disabled", name="x")[1] == {"enabled": False}
    assert bed("ufw.disabled", name="x")[1] == {}
    result, _, comment = bed("ufw.default_incoming", name="x", default="what")
    assert (result, comment) == (False, "ufw default what incoming failed: ERROR: Unsupported policy 'what'")
    assert bed.call["ufw.version"]() == "0.36.2"
