"""What modules ask of the controller: source files, rendered templates, pillar, functions that only it can answer.

This is the only way there. An answer comes from the plan of the current run when the plan has it, else the controller
is asked over the channel; while the worker waits, it goes on serving the calls that the controller makes to it (a
template that renders there may call ``salt['cmd.run']`` here).

``source`` is a ``salt://`` URL, ``saltenv`` the environment it is looked up in. A URL may say ``?saltenv=x`` itself,
which wins. Every function raises LinkError when the controller cannot or will not answer.
"""

from thin import exceptions


class LinkError(exceptions.SaltException):
    """The controller could not answer. ``exception`` names the class of the error there, by Salt's name."""

    def __init__(self, message="", exception="SaltException"):
        super(LinkError, self).__init__(message)
        self.exception = exception


#: The open link of this process (an object with the methods below); the worker sets it. None: no controller.
_current = None


def connect(link):
    """Make ``link`` the one that the functions below use; None takes it away. Returns the one before."""
    global _current
    before, _current = _current, link
    return before


def connected():
    """Whether there is a controller to ask."""
    return _current is not None


def _link():
    if _current is None:
        raise LinkError("there is no controller to ask")
    return _current


def file(url, saltenv="base", have=()):
    """Path of a local, verified copy of a source file, or None when there is no such file.

    The copy is private to this run and read-only for its readers: copy from it, never move or change it. ``have`` are
    paths that may hold the same bytes already (the destination, mostly): one whose SHA-256 fits is the answer, and
    nothing travels. Salt: ``cp.cache_file``.
    """
    return _link().file(url, saltenv, have)


def foresee(files, saltenv="base"):
    """Announce the files that will be requested, in order: ``(URL, SHA-256, bytes or None, destination)`` each.

    When the first of them has to be sent, those behind it come along, many for one question. Only a file whose
    destination does not have its bytes is among them. A later call takes the place of an earlier one.
    """
    _link().foresee(files, saltenv)


def file_digest(url, saltenv="base"):
    """SHA-256 (hex) of a source file, or None when there is no such file; its bytes do not travel.

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
    file, with its SHA-256), ``d`` (a directory) or ``l`` (a symbolic link, with its target). The files themselves are
    asked for one by one by ``file``; those that the plan foresaw are here already.
    """
    return _link().tree(url, saltenv)


def more(digest):
    """The bytes of the runtime's other archive, as they travel. Raises LinkError when they do not come."""
    return _link().more(digest)


def salt(question):
    """The controller's data about Salt's own modules (see thin.wire: ``salt``), as a dict."""
    return _link().salt(question)


def salt_files(digests):
    """``{digest: path of a verified copy}`` of files of Salt's."""
    return _link().salt_files(digests)


def template(
    source, saltenv="base", engine="jinja", context=None, defaults=None, tag="", sls="", text=None, names=None
):
    """The bytes of a template rendered on the controller with this target's grains and pillar.

    ``source`` is its URL; or None, with the template itself as ``text``. ``context`` and ``defaults`` are the state's,
    ``tag`` and ``sls`` those of the chunk, for messages. ``names``: {name: value} that the template sees besides, and
    over which defaults and context win; None: name, user, group, mode and attrs of the chunk. The result may hold
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
    """As ``ask``, without waiting: ``done(answer)`` is called with the message of the answer, by ``step``.

    Its value is ``ret``; or it has ``error`` and ``exception``.
    """
    _link().ask_later(fun, args, kwargs, done)


def descriptor():
    """The descriptor on which answers of ``ask_later`` come; None when none is awaited."""
    return None if _current is None else getattr(_current, "descriptor", lambda: None)()


def step():
    """Deal with what has come on the descriptor."""
    _link().step()
