"""Everything that a template can access of one target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import PurePosixPath
from typing import Any, NoReturn, Protocol

from pushsalt.errors import FunctionError
from pushsalt.model import Completed

#: Functions that are replaced when a template calls them: `cmd.run` accepts shell syntax there.
ALIASES = {"cmd.run": "cmd.shell"}


class FoundFile(Protocol):
    """The part of a file of the file server that rendering needs."""

    @property
    def path(self) -> str: ...

    def read(self) -> bytes: ...


class FileSource(Protocol):
    """The part of ``pushsalt.fileserver.FileServer`` that rendering needs."""

    def find(self, path: str, saltenv: str) -> FoundFile | None: ...


class RunProgram(Protocol):
    """Runs a program on the controller (gpg, an ext_pillar's command) without a shell, with ``input`` on stdin.

    Raises OSError if it cannot be started, TimeoutError if it does not end.
    """

    def __call__(self, argv: Sequence[str], *, input: bytes = b"") -> Completed: ...


@dataclass(frozen=True)
class RenderContext:
    """One target for its templates.

    ``opts`` is visible to templates, which may change it; ``settings`` are the options that control rendering, which
    templates cannot access. ``engines``, if set, are the only renderers that may be used in this context.

    ``salt`` maps names like ``grains.get`` to functions; it decides where they run and records calls.
    ``fileserver`` has the files that templates import (for pillar templates those of ``pillar_roots``).
    ``extra`` has further names for templates (``proxy`` …).
    ``run`` runs external programs; None if that is not allowed. ``private``: options of the controller for renderers,
    which templates cannot access (keys). ``kept``: state of renderers between SLS of this target. ``decrypted`` is
    called with each decrypted text, to redact it in output.
    ``keep_code``: compiled templates may be cached between runs, unlike those of pillar and inventories, which may
    contain secrets.
    """

    id: str
    opts: Mapping[str, Any]
    grains: Mapping[str, Any]
    pillar: Mapping[str, Any]
    salt: Mapping[str, Callable[..., Any]]
    fileserver: FileSource | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    run: RunProgram | None = None
    private: Mapping[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    decrypted: Callable[[str | bytes], None] = lambda plain: None
    keep_code: bool = False
    frozen: Mapping[str, Any] | None = None
    engines: frozenset[str] | None = None
    #: decrypts in another process that has the keys: (renderer, data, argument line, translate_newlines) -> data
    decrypt: Callable[[str, Any, str, bool], Any] | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """The options that control rendering."""
        return self.opts if self.frozen is None else self.frozen

    def setting(self, name: str) -> Any:
        """One of the ``settings``; None if it is not set. The read is recorded, like that of a template."""
        self.opts.get(name)
        return self.settings.get(name)

    def noted(self, *names: str) -> Mapping[str, Any]:
        """The ``settings``; reads of these names are recorded."""
        for name in names:
            self.opts.get(name)
        return self.settings

    def option(self, name: str) -> Any:
        """An option for renderers: the target's, else the controller's."""
        return self.setting(name) or self.private.get(name)

    def confined(self) -> RenderContext:
        """This context for foreign text."""
        if isinstance(self.salt, WithoutSecrets):
            return self
        return replace(self, salt=WithoutSecrets(self.salt))

    def names(self, saltenv: str) -> dict[str, Any]:
        """The names for all templates of this target, of any template language."""
        return {
            "salt": SaltFunctions(self.salt),
            "grains": self.grains,
            "pillar": self.pillar,
            "opts": self.opts,
            "saltenv": saltenv,
            "proxy": {},
            **self.extra,
        }

    def template_names(
        self, *, saltenv: str, sls: str, path: str, variables: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """All names of one template: ``names``, those of its SLS, and ``variables``, which win."""
        names = self.names(saltenv) | ({"sls": sls} if sls else {}) | dict(variables or {})
        return sls_names(path, str(names["sls"])) | names if "sls" in names else names

    def dunders(self, saltenv: str, sls: str) -> dict[str, Any]:
        """The dunders that Python code written for Salt expects as module globals."""
        return {
            "__salt__": SaltFunctions(self.salt),
            "__grains__": self.grains,
            "__pillar__": self.pillar,
            "__opts__": self.opts,
            "__env__": saltenv,
            "__sls__": sls,
            "__proxy__": {},
            "__context__": self.kept.setdefault("__context__", {}),
        }


class _Functions(Mapping[str, Callable[..., Any]]):
    """A mapping with the names of other functions; subclasses define what a look-up returns."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._functions = functions

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


class WithoutSecrets(_Functions):
    """``salt`` for foreign text, without access to secrets."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("sdb."):
            return self._functions[name]

        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            text = f"{name} must not be called by a text that is not one of your own files"
            hint = "call it in the SLS or the file, and pass the value to the text by `context`"
            raise FunctionError("exception", text, hint, "SaltInvocationError")

        return refuse

    def has_module(self, module: str) -> bool:
        """As ``SaltFunctions.has_module``."""
        return SaltFunctions(self._functions).has_module(module)


class SaltFunctions(_Functions):
    """``salt`` in templates: ``salt['grains.get'](…)`` and ``salt.grains.get(…)``."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function; exceptions from it get its name. Raises KeyError for an unknown one."""
        name = self._resolve(name)
        function = self._functions[name]

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except (Exception, SystemExit) as exc:
                exc.salt_function = getattr(exc, "salt_function", name)  # type: ignore[union-attr]
                raise

        return call

    def __getattr__(self, module: str) -> SaltModule:
        if module.startswith("_") or not module.isidentifier():
            raise AttributeError(module)  # jinja asks for attributes when an item is missing: salt['no.such']
        if not self.has_module(module):
            raise AttributeError(module)
        return SaltModule(self, module)

    def has_module(self, module: str) -> bool:
        """Whether there are functions ``module.…``; asks the mapping if it can tell."""
        test = getattr(self._functions, "has_module", None)
        if test is not None:
            return bool(test(module))
        return any(name.startswith(f"{module}.") for name in self._functions)

    def _resolve(self, name: str) -> str:
        alias = ALIASES.get(name)
        return alias if alias is not None and alias in self._functions else name


class SaltModule:
    """``salt.grains`` in templates: its functions as attributes."""

    def __init__(self, functions: SaltFunctions, module: str) -> None:
        self._functions = functions
        self._module = module

    def __getattr__(self, function: str) -> Callable[..., Any]:
        try:
            return self._functions[f"{self._module}.{function}"]
        except KeyError:
            raise AttributeError(function) from None


def sls_names(path: str, sls: str) -> dict[str, str]:
    """``tplpath tplfile tpldir tpldot slspath slsdotpath slscolonpath sls_path`` of an SLS.

    ``path`` is the file on disk. Salt: salt.utils.templates.generate_sls_context.
    """
    slspath = sls.replace(".", "/").rstrip("/")
    names: dict[str, str] = {}
    if path:
        template = PurePosixPath(path).as_posix()
        if not sls:
            template = template.rsplit("/", 1)[-1]
        elif template.endswith(f"{slspath}.sls"):
            template = f"{slspath}.sls"
        elif template.endswith(f"{slspath}/init.sls"):
            template = f"{slspath}/init.sls"
        else:  # not the SLS itself, but a file that is rendered for it
            return {"tplpath": path, "tplfile": sls, "tpldir": PurePosixPath(sls).parent.as_posix()}
        slspath = template.rsplit("/", 1)[0] if "/" in template else ""
        names.update(tplpath=path, tplfile=template, tpldir=slspath or ".", tpldot=slspath.replace("/", "."))
    names.update(
        slspath=slspath,
        slsdotpath=slspath.replace("/", "."),
        slscolonpath=slspath.replace("/", ":"),
        sls_path=slspath.replace("/", "_"),
    )
    return names
