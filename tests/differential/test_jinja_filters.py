"""Every filter, test and global that Salt registers, with generated inputs: the same output, or an error of the same
class.

Real Salt renders in a separate process (``jinja_driver``); both sides make the inputs from one seed (`jinja_inputs`:
None, Unicode, empty and nested values, numbers, bytes, dates). Functions that depend on the machine or on chance are
not compared.
"""

from __future__ import annotations

import copy
import datetime
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pushsalt.render import RenderContext
from pushsalt.render.jinja import _base_environment, render_jinja
from pushsalt.render.problems import SourceError

sys.path.insert(0, str(Path(__file__).parent))
import jinja_inputs

#: Filters that use the target in pushsalt and the local machine in Salt, and those with random results or times.
NOT_COMPARED = {
    *("dns_check", "file_hashsum", "get_uid", "http_query", "is_bin_file", "is_empty", "is_text_file", "list_files"),
    *("which", "gen_mac", "rand_str", "random_hash", "random_sample", "random_shuffle", "random_str", "random", "uuid"),
}
#: Globals that need more than their arguments; tests/render tests them.
GLOBALS_ELSEWHERE = {"lipsum", "ifelse", "show_full_context", "raise", "cycler", "joiner", "namespace"}


class Driver:
    """Salt's process."""

    def __init__(self, python: Path) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "TZ": "UTC"}
        self._process = subprocess.Popen(
            [python, "-W", "ignore", Path(__file__).with_name("jinja_driver.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=environment,
        )

    def ask(self, **question: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "Salt's process has ended"
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def driver(salt_python: Path) -> Iterator[Driver]:
    driver = Driver(salt_python)
    yield driver
    driver.close()


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def ours(template: str, names: dict[str, Any]) -> tuple[str, str]:
    context = RenderContext("it", {}, {}, {}, {})
    try:
        text = jinja_inputs.limited(
            lambda: render_jinja(template, path="", sls="", saltenv="base", context=context, variables=names)
        )
        return "", json.loads(json.dumps(str(text)))
    except jinja_inputs.TooLong:
        return "too long", ""
    except SourceError as exc:
        return exc.problem, ""


def kind_of(error: str) -> str:
    """The class of an error: Salt's text before the reason."""
    return re.split(r"[:']", error)[0].strip()


def normalized(text: str) -> str:
    """An output without volatile parts: addresses of objects, and the order of sets."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x", text)
    return re.sub(r"\{[^{}:]*\}", lambda match: ", ".join(sorted(match.group()[1:-1].split(", "))), text)


#: Filters that return a set of letters for a text, or iterate over a set of keys: their order is undefined.
SETS = {"unique", "union", "difference", "symmetric_difference", "intersect", "compare_dicts"}
#: Inputs that fail in Salt only, or depend on installed packages: name -> what is not compared.
ACCEPTED: dict[str, Callable[[Any, str, str], bool]] = {
    # Salt cannot print the pairs of Jinja
    "groupby": lambda value, ours, theirs: "_GroupTuple" in theirs,
    # libyaml refuses a text that Salt's yaml filter made
    "load_yaml": lambda value, ours, theirs: "a string or stream input is required" in theirs and not ours,
    # Salt does not accept a date as a time; timelib parses more texts, and some differently
    "date_format": lambda value, ours, theirs: isinstance(value, str) or type(value) is datetime.date,
    "strftime": lambda value, ours, theirs: isinstance(value, str) or type(value) is datetime.date,
}


def compare(driver: Driver, seed: str, examples: int, kind: str, name: str, form: str) -> list[str]:
    count = examples // 2  # for each of some 200 names
    theirs = driver.ask(kind=kind, name=name, seed=seed, count=count, form=form)
    differences = []
    for (value, args), (error, text) in zip(jinja_inputs.inputs(seed, name, count), theirs, strict=True):
        names = {"v": copy.deepcopy(value), **{f"a{number}": copy.deepcopy(arg) for number, arg in enumerate(args)}}
        template = form.replace("ARGS", ", ".join(f"a{number}" for number in range(len(args))))
        if error == "too long":
            continue
        our_error, our_text = ours(template, names)
        if name in ACCEPTED and ACCEPTED[name](value, our_error, error):
            continue
        if name in SETS and sorted(our_text) == sorted(text):
            our_text = text
        if our_error != "too long" and (kind_of(our_error), normalized(our_text)) != (kind_of(error), normalized(text)):
            outputs = f"{our_error or our_text!r}, and Salt {error.splitlines()[0] if error else text!r}"
            differences.append(f"{value!r} | {name}{args!r}: {outputs}")
    return differences


@pytest.fixture(scope="module")
def seed() -> str:
    return os.environ.get("SEED") or "0"


def names_of(kind: str) -> list[str]:
    return sorted(getattr(_base_environment((), False), kind))


def test_all_names_of_salt_are_registered(driver: Driver) -> None:
    for kind, theirs in driver.ask(registered=True).items():
        assert set(theirs) - set(names_of(kind)) == set(), kind


@pytest.mark.parametrize("name", [name for name in names_of("filters") if name not in NOT_COMPARED])
def test_filter(driver: Driver, seed: str, examples: int, name: str) -> None:
    differences = compare(driver, seed, examples, "filter", name, "{{ v|" + name + "(ARGS) }}")
    assert not differences, "\n".join(differences[:20])


@pytest.mark.parametrize("name", names_of("tests"))
def test_test(driver: Driver, seed: str, examples: int, name: str) -> None:
    if not name.isidentifier():
        return
    differences = compare(driver, seed, examples, "test", name, "{{ v is " + name + "(ARGS) }}")
    assert not differences, "\n".join(differences[:20])


@pytest.mark.parametrize("name", [name for name in names_of("globals") if name not in GLOBALS_ELSEWHERE])
def test_global(driver: Driver, seed: str, examples: int, name: str) -> None:
    differences = compare(driver, seed, examples, "global", name, "{{ " + name + "(ARGS) }}")
    assert not differences, "\n".join(differences[:20])


#: More than a single filter: iterators read to their end, keywords, chains.
FORMS = {
    "iterators": "{% for f in ['combinations', 'permutations'] %}{% endfor %}"
    "{{ (v[:4] if v is sequence else v)|combinations(2)|list }}",
    "permutations": "{{ (v[:4] if v is sequence else v)|permutations(2)|list }}",
    "product": "{{ (v[:4] if v is sequence else v)|product('ab')|list }}",
    "zip": "{{ v|zip([1, 2])|list }} {{ v|zip_longest([1], fillvalue='-')|list }}",
    "compress": "{{ v|compress([1, 0, 1])|list }}",
    "sequence": "{{ v|sequence|list|length }}",
    "printing": "{{ v }} {{ [v] }} {{ {'a': v} }}",
    "yaml": "{{ v|yaml(False) }} {{ {'a': [v]}|yaml }}",
    "json": "{{ {'a': [v]}|json(sort_keys=False, indent=2) }}",
    "tojson": "{{ [v]|tojson(indent=1) }}",
    "load_yaml": "{{ v|yaml|load_yaml }}",
    "load_json": "{{ v|json|load_json }}",
    "load tags": "{% load_yaml as x %}\na: {{ v|json }}\n{% endload %}{{ x }}",
    "load text": "{% load_text as x %}{{ v }}{% endload %}{{ x|length }}",
    "traverse": "{{ v|traverse('a:b', 'none') }} {{ v|traverse('a.b', 'none', '.') }}",
    "sort": "{{ v|sort(attribute='a')|list }}",
    "regex": "{{ v|regex_search('(.)b', ignorecase=True) }} {{ v|regex_replace('(.)', '<\\\\1>') }}",
    "hmac": "{{ v|hmac('secret', 'eBWf9bstXg+NiP5AOwppB5HMvZiYMPzEM9W5YMm/AmQ=') }}",
    "dicts": "{{ v|dict_to_sls_yaml_params(flow_style=True) }}",
    "quotes": "{{ v|yaml_encode }} {{ v|yaml_dquote }} {{ v|yaml_squote }}",
    "indent": "{{ v|indent(2) }} {{ v|indent(2, true) }}",
}


@pytest.mark.parametrize("name", FORMS)
def test_form(driver: Driver, seed: str, examples: int, name: str) -> None:
    differences = compare(driver, seed, examples, "form", name, FORMS[name])
    assert not differences, "\n".join(differences[:20])
