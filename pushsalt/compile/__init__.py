"""SLS to high data to low chunks, as Salt 3008 compiles them.

``source``      the compiler's inputs: the tree of rendered SLS, the known state functions; Problem
``high``        declarations and include               ``top``    which SLS a target gets
``verify``      shapes                                 ``extend`` extend and exclude
``requisites``  use and the ``_in`` forms              ``low``    chunks and ``names``
``graph``       requisites as a graph, its order       ``order``  chunks in the order in which they run
``dot``         the graph for Graphviz
``check``       unknown functions and arguments
``compiler``    all steps, for one target
"""

from pushsalt.compile.compiler import CompileResult, StateCompiler, no_states_return
from pushsalt.compile.source import ArgSpec, Problem, RenderedSls, StateFunctions, StateTree
from pushsalt.compile.top import Matcher

__all__ = [
    "ArgSpec",
    "CompileResult",
    "Matcher",
    "Problem",
    "RenderedSls",
    "StateCompiler",
    "StateFunctions",
    "StateTree",
    "no_states_return",
]
