"""The calls that a rendered reactor SLS declares, in all of Salt's forms of arguments. Salt: ``ReactWrap.run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.compile.low import chunks_of
from pushsalt.compile.source import SourcePositions
from pushsalt.compile.verify import verify_high
from pushsalt.errors import FunctionError

#: Values of the first part of a state's name in a reactor SLS; ``cmd`` is Salt's old name of ``local``.
KINDS: Final = ("local", "runner", "caller", "wheel")
#: Keys of a chunk that are not arguments. Salt: ``REACTOR_INTERNAL_KEYWORDS``.
_INTERNAL: Final = frozenset(("__id__", "__sls__", "__env__", "name", "name_order", "order", "fun", "state"))
#: Arguments of ``local`` that are for the job, not for the function.
_OF_JOB: Final = frozenset(("tgt", "tgt_type", "expr_form", "arg", "kwarg", "args", "ret", "timeout"))


@dataclass(frozen=True)
class Call:
    """One reaction: a function with its arguments; ``job`` has the arguments of ``local`` for the job (``batch``)."""

    id: str
    kind: str
    fun: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    tgt: Any = None
    tgt_type: str = "glob"
    returners: tuple[str, ...] = ()
    job: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """``local cmd.run``, for people."""
        return f"{self.kind} {self.fun}"


def calls_of(data: Any, sls: str) -> list[Call]:
    """The calls that a reactor SLS declares, in its order. Raises FunctionError for data of another shape."""
    if not isinstance(data, dict):
        raise _refuse(f"the SLS renders to {type(data).__name__}, not to a mapping of reactions")
    high = {id: _padded(body, sls) for id, body in data.items()}
    problems = verify_high(high, SourcePositions())
    if problems:
        raise _refuse("; ".join(each.text for each in problems))
    return [_call(chunk) for chunk in sorted(chunks_of(high), key=_order)]


def _padded(body: Any, sls: str) -> Any:
    """The body of a state, with ``local.cmd.run`` changed to ``local: [.., cmd.run]``. Salt: ``Compiler.pad_funcs``."""
    if isinstance(body, str) and "." in body:
        body = {body: []}
    if not isinstance(body, dict):
        return body
    padded: dict[Any, Any] = {"__sls__": sls}
    for key, value in body.items():
        kind, _, fun = key.partition(".") if isinstance(key, str) else (key, "", "")
        if fun and (value is None or isinstance(value, list)):
            padded[kind] = [*(value or ()), fun]
        else:
            padded[key] = value
    return padded


def _order(chunk: Mapping[str, Any]) -> float:
    order = chunk.get("order")
    return float(order) if isinstance(order, int | float) and order >= 0 else 1e9


def _call(chunk: dict[str, Any]) -> Call:
    kind = {"cmd": "local"}.get(chunk["state"], chunk["state"])
    id, fun = str(chunk["__id__"]), str(chunk["fun"])
    if kind not in KINDS:
        raise _refuse(f"{id}: '{chunk['state']}' is none of {', '.join(KINDS)}")
    if "." not in fun:
        raise _refuse(f"{id}: '{fun}' is no function: write {kind}.MODULE.FUNCTION")
    given = {key: value for key, value in chunk.items() if key not in _INTERNAL}
    if kind == "local":
        return _local(id, fun, given)
    args, kwargs = _arguments(id, kind, given)
    if "args" not in given:
        more = {key: value for key, value in given.items() if key not in ("arg", "kwarg")}
        if chunk["name"] != id and kind != "caller":
            more["name"] = chunk["name"]
        if kind != "caller":
            kwargs = {**more, **kwargs}
    return Call(id, kind, fun, args, kwargs)


def _local(id: str, fun: str, given: dict[str, Any]) -> Call:
    if not given.get("tgt"):
        raise _refuse(f"{id}: local.{fun} has no tgt")
    args, kwargs = _arguments(id, "local", given)
    returners = given.get("ret") or ()
    names = str(returners).split(",") if isinstance(returners, str) else list(returners)
    return Call(
        id,
        "local",
        fun,
        args,
        kwargs,
        given["tgt"],
        str(given.get("tgt_type") or given.get("expr_form") or "glob"),
        tuple(map(str, names)),
        {key: value for key, value in given.items() if key not in _OF_JOB},
    )


def _arguments(id: str, kind: str, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments: ``args``, or else Salt's former ``arg`` and ``kwarg``."""
    if "args" not in given:
        arg, kwarg = given.get("arg"), given.get("kwarg") or {}
        kwarg = _joined(kwarg)
        if kwarg is None:
            raise _refuse(f"{id}: kwarg is a mapping")
        return list(arg) if isinstance(arg, list | tuple) else [] if arg is None else [arg], kwarg
    args = given["args"]
    joined = _joined(args)
    if joined is not None:
        return [], joined
    if kind == "caller" and isinstance(args, list):
        return list(args), {}
    raise _refuse(f"{id}: args are a mapping, or a list of mappings, by the names of the arguments")


def _joined(value: Any) -> dict[str, Any] | None:
    """A mapping, or a list of mappings of one key, as one mapping; None for anything else."""
    if isinstance(value, dict):
        return {str(key): each for key, each in value.items()}
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return {str(key): each for one in value for key, each in one.items()}
    return None


def _refuse(text: str) -> FunctionError:
    return FunctionError("exception", text, "see docs/reactor.md for the form of a reactor SLS", "SaltReactorError")
