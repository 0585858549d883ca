"""Filters compared with Salt's (cases/filters.yaml), and those that have no fixed result."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pushsalt.render import RenderContext
from pushsalt.render.jinja import _base_environment, render_jinja
from pushsalt.render.problems import SourceError
from pushsalt.yamlio import load_yaml

CASES = load_yaml((Path(__file__).parent / "cases" / "filters.yaml").read_text("utf-8"))


def render(template: str, **salt) -> str:
    context = RenderContext("m", {}, {}, {}, {name.replace("__", "."): fun for name, fun in salt.items()})
    return str(render_jinja(template, path="", sls="", saltenv="base", context=context))


@pytest.mark.parametrize("name", CASES)
def test_as_salt(name, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    assert [(template, render(template)) for template, _ in CASES[name]] == [tuple(case) for case in CASES[name]]


@pytest.mark.parametrize(
    "template, want",
    [
        (
            "{{ {'a': 'x\\ny', 'b': [1, none, {'c': 'q'}], 'd': true} }}",
            "{'a': \"x\\ny\", 'b': [1, None, {'c': 'q'}], 'd': True}",
        ),
        ("{{ [{'a': 'tab\\t'}] }}", "[{'a': \"tab\\t\"}]"),
        ("{{ odict([('b', 1), ('a', 2)])|yaml }}", "{b: 1, a: 2}"),
        ("{{ {'b': 1, 'a': 2}|yaml }}", "{a: 2, b: 1}"),
    ],
)
def test_mappings_print_as_yaml(template, want):
    assert render(template) == want


@pytest.mark.parametrize(
    "template, want",
    [
        ("{{ 'a'|hmac(shared_secret='k', challenge_hmac='x') }}", "False"),
        ("{{ 'aBc'|regex_replace(rgx='b', val='-', ignorecase=true) }}", "a-c"),
        ("{{ 'abc'|regex_search(rgx='b(.)') }}{{ 'abc'|regex_match(rgx='a(.)') }}", "('c',)('b',)"),
        ("{{ 'abc' is match(rgx='A', ignorecase=true) }}", "True"),
        ("{{ [1, 2]|union(lst2=[3]) }}{{ [1, 2]|intersect(lst2=[2]) }}", "[1, 2, 3][2]"),
        ("{{ [1, 2]|difference(lst2=[2]) }}{{ [1, 2]|symmetric_difference(lst2=[2]) }}", "[1][1]"),
        ("{{ 'b'|substring_in_list(list_to_search=['abc']) }}", "True"),
        ("{{ '{name}'|method_call(f_name='format', name='x') }}", "x"),
    ],
)
def test_arguments_have_salts_names(template, want):
    assert render(template) == want


@pytest.mark.parametrize("name", ["yaml", "json", "tojson", "python"])
def test_undefined_values_inside_are_not_lost(name):
    with pytest.raises(SourceError, match="'missing' is undefined"):
        render("{{ {'a': [missing]}|NAME }}".replace("NAME", name))


@pytest.mark.parametrize(
    "template, function, answer, want",
    [
        ("{{ 'sh'|which }}", "cmd__which", "/bin/sh", "/bin/sh"),
        ("{{ '/etc/x'|file_hashsum }}", "hashutil__digest_file", "abc", "abc"),
        ("{{ '/srv'|list_files|join(',') }}", "file__find", ["/srv", "/srv/a"], "/srv,/srv/a"),
        ("{{ 'example.org'|dns_check(port=443) }}", "network__dns_check", "[2001:db8::1]", "[2001:db8::1]"),
        ("{{ 'root'|get_uid }}", "file__user_to_uid", 0, "0"),
    ],
)
def test_filters_on_files_ask_the_target(template, function, answer, want):
    assert render(template, **{function: lambda *args, **kwargs: answer}) == want


@pytest.mark.parametrize(
    "content, binary",
    [(b"text\n", False), ("Grüße".encode(), False), (b"\x00\x01", True), (b"\x01" * 50, True), (b"", False)],
)
def test_binary_or_text(content, binary):
    functions = {"file__file_exists": lambda path: True, "file__read": lambda path, binary: content}
    assert render("{{ '/x'|is_bin_file }} {{ '/x'|is_text_file }}", **functions) == f"{binary} {not binary}"


def test_method_call_stays_in_the_sandbox():
    assert render("{{ 'a'|method_call('upper') }} {{ 'a'|method_call('no_such') }}") == "A None"
    with pytest.raises(SourceError, match="unsafe"):
        render("{{ 'a'|method_call('__class__') }}")


def test_match_is_a_test():
    assert render("{{ 'Abc' is match('a', ignorecase=True) }} {{ 'Abc' is match('b') }}") == "True False"


#: All filters that Salt 3008 adds to Jinja's own, and those of Jinja that it replaces.
REGISTERED = {
    "filters": """append_dict_key_value avg base64_decode base64_encode check_whitelist_blacklist combinations
        combinations_with_replacement compare_dicts compare_lists compress contains_whitespace date_format
        dict_to_sls_yaml_params difference dns_check exactly_n_true exactly_one_true extend_dict_key_value file_hashsum
        filter_by_networks flatten from_entries gen_mac get_uid hmac hmac_compute http_query human_to_bytes intersect
        ip_host ipaddr ipv4 ipv6 ipwrap is_bin_file is_empty is_hex is_ip is_ipv4 is_ipv6 is_iter is_list is_text_file
        json json_decode_dict json_decode_list json_encode_dict json_encode_list json_query list_files load_json
        load_text load_yaml mac_str_to_bytes max md5 method_call min mysql_to_dict network_hosts network_size path_join
        permutations product python quote rand_str random_hash random_sample random_shuffle random_str regex_escape
        regex_match regex_replace regex_search sequence set_dict_key_value sha1 sha256 sha512 skip sorted_ignorecase
        str_to_num strftime substring_in_list symmetric_difference to_bool to_bytes to_camelcase to_entries to_num
        to_snake_case tojson traverse union unique update_dict_key_value uuid which xml yaml yaml_dquote yaml_encode
        yaml_squote zip zip_longest""",
    "tests": "equalto list match",
    "globals": "ifelse odict raise show_full_context",
}
#: Filters with tests here or in test_jinja, because Salt's results differ from call to call or by machine.
ELSEWHERE = {
    *("dns_check", "file_hashsum", "get_uid", "http_query", "is_bin_file", "is_empty", "is_text_file", "list_files"),
    *("which", "gen_mac", "rand_str", "random_hash", "random_str", "json_query"),
}


def test_all_that_salt_registers_is_there_and_tested():
    import jinja2

    env, own = _base_environment((), False), jinja2.Environment()
    for kind, words in REGISTERED.items():
        ours, theirs = getattr(env, kind), getattr(own, kind)
        assert [name for name in words.split() if ours.get(name) in (None, theirs.get(name))] == []
    assert set(REGISTERED["filters"].split()) - set(CASES) == ELSEWHERE


@pytest.mark.parametrize(
    "template, size, letters",
    [
        ("{{ 'aa:bb:cc'|gen_mac }}", 17, r"aa:bb:cc(:[0-9A-F]{2}){3}"),
        ("{{ 32|random_str }}", 32, r"[A-Za-z0-9+/]+"),
        ("{{ 999999999|random_hash }}", 32, r"[0-9a-f]+"),
        ("{{ 999999999|rand_str }}", 32, r"[0-9a-f]+"),
        ("{{ 999999999|rand_str(hash_type='sha512') }}", 128, r"[0-9a-f]+"),
        ("{{ range(1000)|list|random_sample(8)|join('.') }}", None, r"[\d.]+"),
        ("{{ range(1000)|list|random_shuffle|join('.') }}", 3889, r"[\d.]+"),
    ],
)
def test_random_ones(template, size, letters):
    first, second = render(template), render(template)
    assert first != second, "not even where the template was compiled once"
    assert size in (None, len(first))
    assert re.fullmatch(letters, first)


def test_http_query_and_is_empty_ask_the_target():
    query = {"http__query": lambda url, method: {"body": method}}
    assert render("{{ ('http://x'|http_query(method='POST')).body }}", **query) == "POST"
    functions = {"file__file_exists": lambda path: path != "/no", "file__stats": lambda path: {"size": len(path) - 2}}
    assert render("{{ '/x'|is_empty }} {{ '/xy'|is_empty }} {{ '/no'|is_empty }}", **functions) == "True False False"


def test_the_time_is_that_of_the_rendering(monkeypatch):
    from pushsalt.render.filters import text

    moments = iter(["2020", "2021"])

    class Clock(text.datetime.datetime):
        @classmethod
        def now(cls):
            return cls.fromisoformat(next(moments) + "-01-02")

    monkeypatch.setattr(text.datetime, "datetime", Clock)
    assert [render("{{ none|strftime('%Y') }}"), render("{{ none|strftime('%Y') }}")] == ["2020", "2021"]


@pytest.mark.parametrize(
    "template, words",
    [
        ("{{ {}|extend_dict_key_value('a:b', 42) }}", "Cannot extend <class 'list'> with a <class 'int'>."),
        ("{{ {}|update_dict_key_value('a:b', 'x') }}", "Cannot update <class 'dict'> with a <class 'str'>."),
        ("{{ {'a': 1}|append_dict_key_value('a', 1) }}", "The last key contains a <class 'int'>, which cannot append."),
    ],
)
def test_what_cannot_be_changed(template, words):
    with pytest.raises(SourceError, match=re.escape(words)):
        render(template)


def test_json_query(monkeypatch):
    pytest.importorskip("jmespath")
    assert render("{{ {'a': [{'b': 1}, {'b': 2}]}|json_query('a[?b > `1`].b') }}") == "[2]"
    monkeypatch.setitem(sys.modules, "jmespath", None)
    with pytest.raises(SourceError, match=r"pip install 'pushsalt\[jmespath\]'"):
        render("{{ [{}, 1]|json_query('a') }}")


def test_ifelse():
    assert render("{{ ifelse('x*', 1, 2) }}", match__ifelse=lambda *args: args[1]) == "1"
