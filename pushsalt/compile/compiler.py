"""From SLS names or the top file to the chunks that run, for one target. Salt: HighState and State in salt.state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.compile.check import check_chunks
from pushsalt.compile.extend import apply_exclude, copy_high, reconcile_extend
from pushsalt.compile.graph import DependencyGraph
from pushsalt.compile.high import Available, HighBuilder, declarations
from pushsalt.compile.low import chunks_of, split_disabled
from pushsalt.compile.order import order_chunks, requisite_graph
from pushsalt.compile.requisites import apply_requisites_in
from pushsalt.compile.source import High, Matches, Problem, RenderedSls, SourcePositions, StateFunctions, StateTree
from pushsalt.compile.top import Matcher, TopOptions, TopResult, match_top
from pushsalt.compile.verify import malformed, verify_high
from pushsalt.model import Chunk, Explained

NO_MATCHES = "No Top file or master_tops data matches found. Please see master log for details."
NO_STATES = "No states found for this minion"


@dataclass
class CompileResult:
    """The result of a step. If there are ``problems``, nothing may run, and a target's return is ``errors``.

    ``high``        rendered SLS as one high data; ``__extend__`` and ``__exclude__`` not applied
    ``low``         chunks in order; a chunk that others have as ``prereq`` is there twice, first for its dry run
    ``chunks``      all chunks that could be compiled, also if problems prevent their run: for a linter
    ``matches``     saltenv -> SLS that were requested or come from the top file
    ``disabled``    tag -> return, for functions that ``state.disable`` forbids
    ``declared``    tags of the chunks in the order in which they were written
    ``aggregates``  tags of chunks that may run as one, group by group
    ``cautions``    problems that do not prevent a run
    ``left_out``    problems that are not in a target's return, since Salt would find them when it runs the states;
                    they are shown to people after the last problem
    ``no_states``   the reason why a highstate has no states to run, else ""
    ``tops``        the top files that were read, to locate problems; ``has_top``: whether any exists
    """

    high: High = field(default_factory=dict)
    low: list[Chunk] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    matches: Matches = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    cautions: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    disabled: dict[str, dict[str, Any]] = field(default_factory=dict)
    declared: list[str] = field(default_factory=list)
    aggregates: list[list[str]] = field(default_factory=list)
    no_states: str = ""
    sources: SourcePositions = field(default_factory=SourcePositions)
    tops: list[RenderedSls] = field(default_factory=list)
    has_top: bool = False

    @property
    def errors(self) -> list[str]:
        """The texts of all problems, in Salt's words; each is an ``Explained`` with an explanation for people."""
        texts = [problem.explained() for problem in self.problems]
        if texts and self.left_out:
            more = [problem.explain() for problem in self.left_out]
            texts[-1] = Explained(texts[-1], "\n\n".join([texts[-1].explanation, *more]))
        return list(texts)

    @property
    def sls(self) -> list[str]:
        """The SLS that have chunks, in the order of their first chunk: the return of ``state.show_states``."""
        return list(dict.fromkeys(chunk.get("__sls__") or "" for chunk in self.low))


def no_states_return(comment: str) -> dict[str, dict[str, Any]]:
    """The return of a highstate without states to run: one failed state without a module."""
    failed = {"result": False, "comment": comment, "name": "No States", "changes": {}, "__run_num__": 0}
    return {"no_|-states_|-states_|-None": failed}


#: Rules of problems that are failures of one state with ``unknown_states_run``.
_FAILS_WHEN_RUN: Final = frozenset({"unknown-state", "missing-argument"})


class StateCompiler:
    """Compiles the states of one target. All inputs are arguments.

    ``opts``       the target's minion options (Salt's names); also its ``grains``, for ``state_runs_disabled``
    ``matcher``    whether an expression of a top file matches this target
    ``functions``  the known state functions; with ``check``, invalid functions and arguments are problems
    ``strict``     the level for unknown arguments (pushsalt.compile.arguments)
    ``unknown_states_run``  unknown functions and missing arguments are not problems: such a state fails when it runs,
                            as in Salt

    The methods are named like the functions of Salt's ``state`` module. Errors in a tree are problems, not exceptions.
    """

    def __init__(
        self,
        tree: StateTree,
        opts: Mapping[str, Any],
        *,
        matcher: Matcher,
        functions: StateFunctions | None = None,
        master_tops: Callable[[], Mapping[str, Sequence[str]]] | None = None,
        check: bool = True,
        strict: str = "near",
        unknown_states_run: bool = False,
    ) -> None:
        self._tree = tree
        self._opts = opts
        self._matcher = matcher
        self._functions = functions
        self._master_tops = master_tops
        self._check = check
        self._strict = strict
        self._unknown_states_run = unknown_states_run
        self._available = Available(tree, opts.get("env_order") or ())
        disabled = opts.get("disabled_requisites") or []
        self._disabled_requisites = disabled if isinstance(disabled, list) else [disabled]

    # runs -------------------------------------------------------------------------------------------------------

    def sls(self, sls: Sequence[str], saltenv: str = "base", *, exclude: Sequence[Any] = ()) -> CompileResult:
        """``state.sls``. ``exclude`` has SLS patterns, and ``{sls: pattern}`` or ``{id: id}``."""
        return self._finish(self._render({saltenv: list(sls)}), exclude)

    def highstate(self, *, exclude: Sequence[Any] = (), whitelist: Sequence[str] = ()) -> CompileResult:
        """``state.highstate``. With a ``whitelist``, only those SLS of the top file are used."""
        result = self.show_top()
        if result.problems:
            return result
        if not result.matches:
            result.no_states = self._no_matches(result)
            return result
        matches = result.matches
        if whitelist:
            matches = {env: [name for name in names if name in whitelist] for env, names in matches.items()}
        rendered = self._render({env: names for env, names in matches.items() if names}, result.tops)
        finished = self._finish(rendered, exclude)
        finished.warnings = result.warnings + finished.warnings
        if not finished.high and not finished.problems:
            hint = "the SLS that the top file names for this target have no states"
            finished.no_states = Explained(NO_STATES, hint)
        return finished

    def _no_matches(self, result: CompileResult) -> Explained:
        """Salt's text for a target without SLS, with a hint."""
        name, other = TopOptions.of(self._opts).state_top, "name the SLS: pushsalt apply TARGET SLS"
        if not result.has_top:
            return Explained(NO_MATCHES, f"write {name} into a folder of file_roots, or {other}")
        places = ", ".join(top.path or name for top in result.tops)
        what = f"{places} has no SLS for this target" if places else f"{name} is empty"
        return Explained(NO_MATCHES, f"{what}: add it there, or {other}")

    def high(self, high: High) -> CompileResult:
        """``state.high``: high data as an argument. Chunks have its ``__sls__``, if any."""
        return self._finish_data(high, "high data")

    def template(self, data: Any, name: str) -> CompileResult:
        """``state.template``, ``state.template_str``: the data of one rendered template that is not an SLS.

        ``name`` is its path, for messages. Salt: State.render_template.
        """
        for key in ("include", "exclude", "extend", "extends") if isinstance(data, dict) else ():
            if key in data:
                text = f"The '{key}' declaration found on '{name}' is invalid when rendering single templates"
                return CompileResult(problems=[Problem(text)])
        return self._finish_data(data, name)

    # shows ---------------------------------------------------------------------------------------------------

    def show_top(self) -> CompileResult:
        """``state.show_top``: ``matches``."""
        top: TopResult = match_top(
            self._tree,
            TopOptions.of(self._opts),
            self._matcher,
            available=self._available,
            master_tops=self._master_tops,
        )
        return CompileResult(
            matches=top.matches, problems=top.problems, warnings=top.warnings, tops=top.tops, has_top=top.found
        )

    def show_sls(self, sls: Sequence[str], saltenv: str = "base") -> CompileResult:
        """``state.show_sls``: ``high``, verified."""
        result = self._render({saltenv: list(sls)})
        result.problems += verify_high(result.high, result.sources)
        return result

    def show_low_sls(self, sls: Sequence[str], saltenv: str = "base") -> CompileResult:
        """``state.show_low_sls``: ``low``. As in Salt, extend, exclude, use and the ``_in`` forms are not applied."""
        result = self.show_sls(sls, saltenv)
        if not result.problems:
            self._lower(result, result.high, result.problems.extend)
        return result

    def show_highstate(self, *, verify: bool = False) -> CompileResult:
        """``state.show_highstate``: ``high``, as rendered; with ``verify`` its malformed declarations are problems."""
        top = self.show_top()
        if top.problems:
            return top
        result = self._render(top.matches, top.tops)
        if verify:
            result.problems += verify_high(result.high, result.sources)
        return result

    def show_lowstate(self) -> CompileResult:
        """``state.show_lowstate``: ``low``, as ``highstate`` runs it."""
        return self.highstate()

    def graph(self, result: CompileResult) -> DependencyGraph:
        """The requisites between the chunks of high data, which must be verified. Invalid requisites are left out.

        As in Salt's ``state.graph``, extend, exclude, use and the ``_in`` forms are not applied.
        """
        chunks = list(chunks_of(copy_high(result.high)))
        return requisite_graph(chunks, result.sources, [], self._functions, disabled=self._disabled_requisites)[0]

    # steps -----------------------------------------------------------------------------------------------------------

    def _render(self, matches: Matches, tops: Sequence[RenderedSls] = ()) -> CompileResult:
        auto_order = bool(self._opts.get("state_auto_order", True))
        builder = HighBuilder(self._tree, available=self._available, auto_order=auto_order, tops=tops)
        high = builder.build(matches)
        return CompileResult(high=high, matches=matches, problems=builder.problems, sources=builder.sources)

    def _finish_data(self, data: Any, name: str) -> CompileResult:
        if not data:
            return CompileResult()
        if not isinstance(data, dict):
            return CompileResult(problems=[Problem(f"Template {name} does not render to a dictionary")])
        high, texts = declarations(data, f"template {name}", f"template '{name}'", {})
        high.update({key: data[key] for key in ("__extend__", "__exclude__") if key in data})
        return self._finish(CompileResult(high=high, problems=[Problem(text) for _, text in texts]), ())

    def _finish(self, result: CompileResult, exclude: Sequence[Any]) -> CompileResult:
        """Apply extend, exclude, use and ``_in`` requisites, then compile to chunks.

        Salt stops after the first step with errors. Here the next steps continue with the valid parts, so that all
        problems are reported at once, Salt's first. Problems that may only be consequences of the missing parts are not
        reported.
        """
        high = copy_high(result.high)
        if exclude:
            high["__exclude__"] = [*high.get("__exclude__", []), *exclude]
        missing = bool(result.problems)

        def said(problems: Iterable[Problem]) -> None:
            result.problems += [problem for problem in problems if not (missing and problem.dangling)]

        said(reconcile_extend(high, result.sources))
        for id_, problems in list(malformed(high, result.sources)):
            said(problems)
            del high[id_]
            missing = True
        said(apply_requisites_in(high, result.sources, self._disabled_requisites))
        apply_exclude(high)
        low = self._lower(result, high, said)
        result.chunks = low
        if self._functions and self._check:
            checked = check_chunks(low, self._functions, result.sources, self._strict)
            if self._unknown_states_run:
                checked = [problem for problem in checked if problem.rule not in _FAILS_WHEN_RUN]
            result.cautions = [problem for problem in checked if problem.level != "error"]
            broken = {place.path for problem in result.problems for place in problem.where}
            for problem in checked:
                if problem.level == "error":
                    same = any(place.path in broken for place in problem.where)
                    (result.left_out if same else result.problems).append(problem)
        if result.problems:
            result.low = []
        return result

    def _lower(self, result: CompileResult, high: High, report: Callable[[Iterable[Problem]], None]) -> list[Chunk]:
        """Set the ordered chunks in ``result``. Returns all chunks, also if they cannot be ordered."""
        chunks = list(chunks_of(high))
        patterns = (self._opts.get("grains") or {}).get("state_runs_disabled")
        if patterns:
            chunks, result.disabled = split_disabled(chunks, patterns)
        ordered = order_chunks(
            chunks,
            result.sources,
            self._functions,
            disabled=self._disabled_requisites,
            aggregate=self._opts.get("state_aggregate", False),
        )
        result.low = [] if ordered.problems else ordered.chunks
        report(ordered.problems)
        result.declared, result.aggregates = ordered.declared, ordered.aggregates
        return result.low or chunks
