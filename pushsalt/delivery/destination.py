"""One returner of the configuration: loads its module, passes its options, and calls it with a time limit."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from pushsalt import plugins
from pushsalt.delivery.spool import Item
from pushsalt.errors import ConfigError, PushsaltError
from pushsalt.plugincommands import commands
from pushsalt.programs import run_program
from pushsalt.redact import Redactor
from pushsalt.returners import Outside, Trouble
from pushsalt.returners.settings import given, options_of


class Secrets(Protocol):
    """Resolves sdb:// URIs (``pushsalt.sdb.store.Sdb``)."""

    def resolve(self, value: Any) -> Any: ...


class Destination:
    """A returner. Its module is loaded on first use; its errors are raised as Trouble."""

    def __init__(
        self,
        name: str,
        opts: Mapping[str, Any],
        *,
        redactor: Redactor,
        sdb: Callable[[], Secrets],
        profile: str = "",
        folders: tuple[Path, ...] = (),
        limit: float = 10.0,
        master_id: str = "",
    ) -> None:
        self.name = name
        self.profile = profile
        self.limit = limit
        self.warnings: list[str] = []
        self._opts = opts
        self._redactor = redactor
        self._sdb = sdb
        self._folders = folders
        self._master_id = master_id
        self._module: ModuleType | None = None
        self._outside: Outside | None = None

    @property
    def title(self) -> str:
        """The returner's name for people."""
        return f"returner {self.name}" + (f" ({self.profile})" if self.profile else "")

    def load(self) -> ModuleType:
        """The module. Raises ConfigError if there is none, or if it cannot be loaded."""
        if self._module is None:
            module = plugins.load_virtual("returners", self.name, self._folders, self._dunders())
            if module is None:
                own = any(plugins.own_files(self.name, self._folders))
                module = plugins.load("returners", self.name, () if own else self._folders)
            self._module = module
        return self._module

    def has(self, kind: str) -> bool:
        """Whether the module has this function. Raises ConfigError."""
        return callable(getattr(self.load(), kind, None))

    def hide_secrets(self) -> None:
        """Add the secret options to the redactor. Raises ConfigError."""
        module = self.load()
        for name in getattr(module, "SECRETS", ()) if self._is_shipped(module) else ():
            for key, value in given(self.name, self._opts, self.profile).items():
                if key.endswith(f".{name}"):
                    self._redactor.add(value)
                elif isinstance(value, Mapping):
                    self._redactor.add(value.get(name))
        self._redactor.add_pillar(given(self.name, self._opts, self.profile))

    def call(self, item: Item, late: threading.Event) -> None:
        """Call the function of an item. Raises Trouble, ``Hung`` after the time limit or when ``late`` is set."""
        try:
            module = self.load()
            if not self.has(item.kind):
                raise Trouble(f"it has no `{item.kind}`", "name it where it fits", refused=True)
            outside = self._prepared(module)
        except PushsaltError as exc:
            raise Trouble(str(exc), exc.hint or "") from None
        outside.again, outside.key = item.attempts > 0, item.key
        function = getattr(module, item.kind)
        arguments = item.arguments
        if self.profile and item.kind == "returner":
            arguments[0]["ret_config"] = self.profile
        named = inspect.signature(function).parameters
        more = {"outside": outside} if "outside" in named and self._is_shipped(module) else {}
        if item.kind == "save_load" and len(named) - len(more) < 3:
            arguments = arguments[:2]
        try:
            _within(self.limit, lambda: function(*arguments, **more), self.name, late)
        except Trouble as exc:
            if isinstance(exc, Hung):  # its resources are still used by the thread that hangs
                self._outside = None
            raise
        except (Exception, SystemExit) as exc:  # a user's returner may raise anything
            text = " ".join(str(exc).split())
            raise Trouble(f"it raises {type(exc).__name__}: {text}{plugins.blamed(exc)}", "see its file") from None

    def close(self) -> None:
        """Close the resources that calls have left open."""
        context, self._outside = (self._outside.context if self._outside is not None else {}), None
        for value in context.values():
            try:
                value.close()
            except Exception:  # noqa: S110 - any library may raise here, at the end
                pass

    def _is_shipped(self, module: ModuleType) -> bool:
        return module.__name__ == f"pushsalt.returners.{self.name}"

    def _prepared(self, module: ModuleType) -> Outside:
        if self._outside is None:
            options: Mapping[str, Any] = {}
            if self._is_shipped(module):
                values = self._sdb().resolve(given(self.name, self._opts, self.profile))
                options, self.warnings = options_of(self.name, values, module.OPTIONS, self.profile)
                self._redactor.add_secrets(*(options[name] for name in module.SECRETS))
            else:
                mine = self._sdb().resolve(given(self.name, self._opts, self.profile))
                vars(module).setdefault("__opts__", {}).update(mine)
            self._outside = Outside(options, self.limit, self._master_id)
        return self._outside

    def _dunders(self) -> dict[str, Any]:
        """Salt's globals of users' returners. URIs of their options are resolved before the first call."""
        opts = {**self._opts, "id": self._master_id, "__role": "master"}

        def option(name: str, default: Any = "", **kwargs: Any) -> Any:
            return opts.get(name, default)

        functions = {**commands(run_program), "config.option": option, "config.get": option}
        return {"__opts__": opts, "__salt__": functions, "__grains__": {}, "__pillar__": {}, "__context__": {}}


class Hung(Trouble):
    """The returner did not answer in time; the call is not stopped."""


def _within(limit: float, call: Callable[[], Any], name: str, late: threading.Event) -> None:
    """Call the function with a time limit. Raises its exceptions, or Hung."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as exc:
            raised.append(exc)

    thread = threading.Thread(target=work, name=f"returner {name}", daemon=True)
    thread.start()
    end = time.monotonic() + limit
    while thread.is_alive() and time.monotonic() < end and not late.is_set():
        thread.join(0.05)
    if thread.is_alive():
        raise Hung(f"it gave no answer within {limit:g} s", "`return_timeout` is how long it may take")
    if raised:
        raise raised[0]


def checked(destination: Destination) -> str:
    """The reason why a returner cannot be used; empty if it can be used."""
    try:
        destination.load()
    except ConfigError as exc:
        return f"{exc}" + (f"; {exc.hint}" if exc.hint else "")
    return ""
