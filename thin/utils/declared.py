"""Selects resources by the declaration of their type, and makes their ids."""

from thin import log
from thin.exceptions import CommandExecutionError

#: The options of every type that uses this module.
OPTIONS = ("resource_ids", "include", "exclude", "id_format")


class Wanted(object):
    """The selection from a set of names. ``options`` is the declaration, for further options of the type.

    ``resource_ids``: names that are selected whether they are found or not; ``include`` and ``exclude``: globs for the
    found names (default: all of them, but none if ``resource_ids`` is given); ``id_format``: a resource's id, in which
    ``{name}`` and ``{manager}`` are replaced.
    """

    def __init__(self, opts, kind, more=()):
        """Raises CommandExecutionError for an invalid declaration."""
        self.options = (opts.get("pillar") or {}).get(opts.get("resource_pillar_key") or "resources", {}).get(
            kind
        ) or {}
        self._kind, self._manager = kind, str(opts.get("id") or "")
        valid = OPTIONS + tuple(more)
        for name in self.options:
            if name not in valid:
                log.getLogger(__name__).warning(
                    "resources: %s: there is no option %s, only: %s", kind, name, ", ".join(sorted(valid))
                )
        self.declared = self._texts("resource_ids")
        self._include = self._texts("include") if "include" in self.options else [] if self.declared else ["*"]
        self._exclude = self._texts("exclude")
        self._format = self.text("id_format", "{name}")
        if "{name}" not in self._format:
            raise CommandExecutionError(
                "resources: %s: id_format %r has no {name}: all would have one id" % (kind, self._format)
            )

    @property
    def looks(self):
        """Whether found names could be selected; otherwise the type need not search."""
        return bool(self._include)

    def text(self, name, default):
        """An option whose value is text. Raises CommandExecutionError for another value."""
        value = self.options.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or not value:
            raise CommandExecutionError("resources: %s: %s is text, not %r" % (self._kind, name, value))
        return value

    def of(self, names):
        """The sorted selected names: the declared ones, and those of ``names`` that match."""
        from fnmatch import fnmatchcase

        chosen = set(self.declared)
        for name in names:
            if any(fnmatchcase(name, glob) for glob in self._include):
                if not any(fnmatchcase(name, glob) for glob in self._exclude):
                    chosen.add(name)
        return sorted(chosen)

    def id(self, name):
        """The id of the resource with this name."""
        return self._format.replace("{manager}", self._manager).replace("{name}", name)

    def _texts(self, name):
        value = self.options.get(name)
        if value is None:
            return []
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, (list, tuple)) or any(isinstance(one, (dict, list)) for one in value):
            raise CommandExecutionError("resources: %s: %s is a list of names, not %r" % (self._kind, name, value))
        return [str(one) for one in value]
