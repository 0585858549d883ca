"""Salt's own tags: load_yaml load_json load_text import_yaml import_json import_text profile.

Each is translated to Jinja's nodes: a load tag becomes a macro whose text is passed to the filter of the same name, an
import tag an import whose text is passed to it. Salt: salt.utils.jinja.SerializerExtension.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

log = logging.getLogger(__name__)


class SaltTags(Extension):
    tags = {  # noqa: RUF012 - as Jinja declares it
        "load_yaml",
        "load_json",
        "load_text",
        "import_yaml",
        "import_json",
        "import_text",
        "profile",
    }

    def parse(self, parser: Parser) -> list[nodes.Node]:
        token = parser.stream.current
        kind, _, language = str(token.value).partition("_")
        if kind == "load":
            return self._load(parser, language)
        if kind == "import":
            return self._import(parser, language)
        return self._profile(parser)

    def _load(self, parser: Parser, language: str) -> list[nodes.Node]:
        """``{% load_yaml as name %} text {% endload %}``"""
        lineno = next(parser.stream).lineno
        parser.stream.expect("name:as")
        target = parser.parse_assign_target()
        macro = "_" + parser.free_identifier().name
        body = parser.parse_statements(("name:endload",), drop_needle=True)
        call = nodes.Call(nodes.Name(macro, "load"), [], [], None, None)
        value = _filtered(call, language)
        statements: list[nodes.Node] = [nodes.Macro(macro, [], [], body), nodes.Assign(target, value)]
        return [node.set_lineno(lineno, override=False) for node in statements]

    def _import(self, parser: Parser, language: str) -> list[nodes.Node]:
        """``{% import_yaml 'path' as name %}``"""
        imported = parser.parse_import()
        name = imported.target
        assign = nodes.Assign(nodes.Name(name, "store"), _filtered(nodes.Name(name, "load"), language))
        return [imported, assign.set_lineno(imported.lineno)]

    def _profile(self, parser: Parser) -> list[nodes.Node]:
        """``{% profile as 'label' %} … {% endprofile %}``: the time is logged."""
        lineno = next(parser.stream).lineno
        parser.stream.expect("name:as")
        label = parser.parse_expression()
        body = parser.parse_statements(("name:endprofile",), drop_needle=True)
        started = "_" + parser.free_identifier().name
        before = nodes.Assign(nodes.Name(started, "store"), self.call_method("_now"))
        after = nodes.ExprStmt(self.call_method("_log_time", [label, nodes.Name(started, "load")]))
        return [before.set_lineno(lineno), *body, after.set_lineno(lineno)]

    def _now(self) -> float:
        return time.perf_counter()

    def _log_time(self, label: Any, started: float) -> None:
        log.info("Time (in seconds) to render profile block '%s': %s", label, time.perf_counter() - started)


def _filtered(value: nodes.Expr, language: str) -> nodes.Filter:
    return nodes.Filter(value, f"load_{language}", [], [], None, None)
