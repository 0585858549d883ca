"""Converts entries of a lowstate to calls: the function, the client and the targets. Salt: ``NetapiClient.run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.cliargs import parse_args
from pushsalt.job import Selection
from pushsalt.serve.answers import Refused

#: Ways to select targets. Salt: ``tgt_type``; ``expr_form`` is its former name.
_TYPES: Final = (
    "glob",
    "pcre",
    "list",
    "grain",
    "grain_pcre",
    "pillar",
    "pillar_pcre",
    "ipcidr",
    "nodegroup",
    "compound",
)
#: Keys of an entry for a runner function that are not passed to it as arguments.
_NOT_ARGUMENTS: Final = frozenset(
    ("client", "fun", "arg", "kwarg", "token", "eauth", "username", "password", "timeout", "full_return", "user", "key")
)


@dataclass(frozen=True)
class Call:
    """One entry. ``selection``: the targets, None for a runner function; ``full``: returns have retcode and JID.

    ``timeout``: seconds; ``returners``: names.
    """

    client: str
    fun: str
    args: list[Any]
    kwargs: dict[str, Any]
    selection: Selection | None = None
    full: bool = False
    timeout: float | None = None
    batch: str | None = None
    returners: tuple[str, ...] = field(default=())

    @property
    def is_runner(self) -> bool:
        return self.selection is None


def call_of(entry: Mapping[str, Any], clients: tuple[str, ...]) -> Call:
    """The call of an entry. Raises Refused with the status 400 for an invalid entry."""
    client = entry.get("client")
    if client in ("wheel", "wheel_async"):
        raise Refused(400, "there is no client wheel: targets have no keys of Salt")
    if client not in clients:
        raise Refused(400, f"Invalid client specified: '{client}'; there are: {', '.join(clients)}")
    fun = entry.get("fun")
    if not isinstance(fun, str) or fun.count(".") < 1 or len(fun) > 200:
        raise Refused(400, "fun must be the name of one function: MODULE.FUNCTION")
    if entry.get("raw_shell"):
        raise Refused(400, "Raw shell option not allowed.")
    if client in ("runner", "runner_async"):
        return _runner(client, fun, entry)
    return _local(str(client), fun, entry)


def _local(client: str, fun: str, entry: Mapping[str, Any]) -> Call:
    args, kwargs = _arguments(entry, as_yaml=False)
    tgt, tgt_type = entry.get("tgt"), entry.get("tgt_type") or entry.get("expr_form") or "glob"
    if isinstance(tgt, list):
        tgt, tgt_type = ",".join(map(str, tgt)), "list"
    if not isinstance(tgt, str) or not tgt:
        raise Refused(400, "tgt must be a text, or a list of ids")
    if tgt_type not in _TYPES:
        raise Refused(400, f"tgt_type {tgt_type!r:.40} is unknown; there are: {', '.join(_TYPES)}")
    subset = _number(entry, "subset") or _number(entry, "sub")
    if client == "local_subset":
        subset = subset or 3
    delimiter = entry.get("delimiter") or ":"
    if not isinstance(delimiter, str):
        raise Refused(400, "delimiter must be a text")
    return Call(
        client,
        fun,
        args,
        kwargs,
        Selection(tgt, tgt_type, delimiter, subset=None if subset is None else int(subset)),
        bool(entry.get("full_return")),
        _number(entry, "timeout"),
        _batch(entry.get("batch"), client),
        tuple(filter(None, map(str.strip, str(entry.get("ret") or "").split(",")))),
    )


def _runner(client: str, fun: str, entry: Mapping[str, Any]) -> Call:
    """The call of a runner function; ``arg``, ``kwarg`` and all other keys of the entry are arguments, as in Salt."""
    args, kwargs = _arguments(entry, as_yaml=True)
    kwargs.update({key: value for key, value in entry.items() if key not in _NOT_ARGUMENTS})
    return Call(client, fun, args, kwargs, None, bool(entry.get("full_return")), _number(entry, "timeout"))


def _arguments(entry: Mapping[str, Any], *, as_yaml: bool) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments. Texts ``KEY=VALUE`` are keyword arguments; ``as_yaml``: others are YAML."""
    given, more = entry.get("arg"), entry.get("kwarg")
    if more is not None and not isinstance(more, Mapping):
        raise Refused(400, "kwarg must be a mapping")
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for each in given if isinstance(given, list) else [] if given is None else [given]:
        if isinstance(each, Mapping) and each.get("__kwarg__"):
            kwargs.update({str(key): value for key, value in each.items() if key != "__kwarg__"})
        elif isinstance(each, str):
            positional, keywords = parse_args([each])
            kwargs.update(keywords)
            if positional:
                args += positional if as_yaml else [each]
        else:
            args.append(each)
    kwargs.update({str(key): value for key, value in (more or {}).items() if key != "__kwarg__"})
    return args, kwargs


def _number(entry: Mapping[str, Any], name: str) -> float | None:
    value = entry.get(name)
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if isinstance(value, bool) or not 0 < number < 1e9:
        raise Refused(400, f"{name} must be a number, not {value!r:.40}")
    return number


def _batch(value: Any, client: str) -> str | None:
    """The size of batches: a number or a percentage. The default of ``local_batch`` is 10%, as in Salt."""
    if value in (None, ""):
        return "10%" if client == "local_batch" else None
    text = str(value)
    digits = text.removesuffix("%")
    if not digits.isascii() or not digits.isdigit() or int(digits) < 1:
        raise Refused(400, f"batch must be a number or a percentage, not {text!r:.40}")
    return text
