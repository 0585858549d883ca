"""Requests of modules to the controller: source files, rendered templates, pillar, functions that only it can answer.

Modules have no other access to the controller. The plan of the current run answers a request if it can, otherwise the
controller is asked over the channel. While the worker waits, it continues to serve calls of the controller (a template
that is rendered there may call ``salt['cmd.run']`` here).

``source`` is a ``salt://`` URL, ``saltenv`` the saltenv in which it is resolved. A URL may contain ``?saltenv=x``,
which overrides the argument. Every function raises LinkError if the controller cannot or will not answer.
"""

from thin import exceptions


class LinkError(exceptions.SaltException):
    """The controller could not answer. ``exception`` is Salt's name for the class of the controller's error."""

    def __init__(self, message="", exception="SaltException"):
        super(LinkError, self).__init__(message)
        self.exception = exception


#: The open link of this process (an object with the methods below), set by the worker. None: no controller.
_current = None
#: A function that makes it when it is needed for the first time, or None.
_make = None


def connect(link):
    """Set the link that the functions below use; None removes it. Returns the former one."""
    global _current, _make
    before, _current, _make = _current, link, None
    return before


def connect_later(make):
    """Set a function that makes the link when a module requests something for the first time."""
    global _current, _make
    _current, _make = None, make


def connected():
    """Whether there is a controller to ask."""
    return _current is not None or _make is not None


def _link():
    global _current
    if _current is None and _make is not None:
        _current = _make()
    if _current is None:
        raise LinkError("there is no controller to ask")
    return _current


def file(url, saltenv="base", have=()):
    """Path of a local, verified copy of a source file, or None if there is no such file.

    The copy is private to this run and read-only: copy from it, never move or change it. ``have`` are paths that may
    already have the same bytes (usually the destination): if the SHA-256 of one is correct, that path is returned and
    nothing is sent. Salt: ``cp.cache_file``.
    """
    return _link().file(url, saltenv, have)


def foresee(files, saltenv="base"):
    """Announce the files that will be requested, in order: ``(URL, SHA-256, bytes or None, destination)`` each.

    When the first of them has to be sent, the following ones are requested with the same question, except those whose
    destination already has the bytes. A later call replaces an earlier one.
    """
    _link().foresee(files, saltenv)


def file_digest(url, saltenv="base"):
    """SHA-256 (hex) of a source file, or None if there is no such file; its bytes are not sent.

    Salt: ``cp.hash_file``.
    """
    return _link().file_digest(url, saltenv)


def cached(url, saltenv="base"):
    """Path of the cached copy of a source file, or None. Salt: ``cp.is_cached``."""
    return _link().cached(url, saltenv)


def drop(url, saltenv="base"):
    """Remove the cached copy of a source file, if there is one."""
    _link().drop(url, saltenv)


def tree(url, saltenv="base"):
    """The files below a source directory, or None if there is no such directory.

    A list of ``[relative path, kind, digest or link target or None, mode, size]``, parents first; kind is ``f`` (a
    file, with its SHA-256), ``d`` (a directory) or ``l`` (a symbolic link, with its target). The content of each file
    is requested by ``file``; files that the plan contains have already been sent.
    """
    return _link().tree(url, saltenv)


def packs(digests):
    """The bytes of packs of the runtime, still compressed. Raises LinkError if they are not received."""
    return _link().packs(digests)


def salt(question):
    """The controller's data about Salt's own modules (see thin.wire: ``salt``), as a dict."""
    return _link().salt(question)


def salt_files(digests):
    """``{digest: path of a verified copy}`` of files of Salt."""
    return _link().salt_files(digests)


def template(
    source, saltenv="base", engine="jinja", context=None, defaults=None, tag="", sls="", text=None, names=None
):
    """The bytes of a template rendered on the controller with this target's grains and pillar.

    ``source`` is its URL; or None, with the template itself as ``text``. ``context`` and ``defaults`` are the state's,
    ``tag`` and ``sls`` those of the chunk, for messages. ``names``: {name: value} of further variables of the template,
    which defaults and context override; None: name, user, group, mode and attrs of the chunk. The result may contain
    secrets: it is kept in memory only. Raises LinkError with the text of the render error.
    """
    return _link().template(source, saltenv, engine, context, defaults, tag, sls, text, names)


def pillar():
    """The compiled pillar of this target, as a new dict. Modules use ``__pillar__``, which requests it once."""
    return _link().pillar()


def event(tag, data):
    """Send an event to the controller, which stores it with the run.

    There is no answer. Salt: ``event.fire_master``.
    """
    _link().event(tag, data)


def ask(fun, args=(), kwargs=None):
    """The value of an execution function that only the controller can answer (``mine.get``, ``cp.list_states``)."""
    return _link().ask(fun, args, kwargs)


def ask_later(fun, args, kwargs, done):
    """As ``ask``, without waiting: ``step`` calls ``done(answer)`` with the message of the answer.

    The message has the value as ``ret``, or else ``error`` and ``exception``.
    """
    _link().ask_later(fun, args, kwargs, done)


def descriptor():
    """The descriptor on which answers to ``ask_later`` arrive; None if no answer is expected."""
    return None if _current is None else getattr(_current, "descriptor", lambda: None)()


def step():
    """Process the data that arrived on the descriptor."""
    _link().step()
