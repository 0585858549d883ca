"""One call of an execution function, with Salt's error messages for wrong arguments."""

from thin.exceptions import SaltInvocationError
from thin.utils import args as signatures


def call(function, name, args, kwargs, opts, cli=False, jid=""):
    """The return value of ``function`` for these arguments.

    ``cli``: the call comes from a command line. Then functions with ``**kwargs`` get the arguments that Salt adds
    (``__pub_fun`` and others, which make ``cmd.run`` use a shell), and unknown keywords are an error that names them.
    ``jid``: the id of the job.
    """
    if cli:
        shape = signatures.spec(function)
        if shape.keywords is None:
            wrong = [key for key in kwargs if key not in shape.args and key not in shape.kwonly]
            if wrong:
                raise SaltInvocationError(
                    "The following keyword arguments are not valid: %s"
                    % ", ".join("%s=%s" % (key, kwargs[key]) for key in wrong)
                )
        else:
            kwargs = dict(kwargs, **_published(name, args, kwargs, opts, jid))
    try:
        return function(*args, **kwargs)
    except TypeError as exc:
        if isinstance(exc, SaltInvocationError) or exc.__traceback__.tb_next is not None:
            raise
        raise TypeError("Passed invalid arguments to %s: %s" % (name, exc))


def _published(name, args, kwargs, opts, jid):
    """The job's data as Salt's master would publish it, under the names that functions use."""
    arg = list(args)
    if kwargs:
        arg.append(dict(kwargs, __kwarg__=True))
    return {
        "__pub_fun": name,
        "__pub_arg": arg,
        "__pub_jid": opts.get("jid") or jid or "req",  # Salt: the JID of a call that no master published
        "__pub_ret": "",
        "__pub_tgt": opts.get("id"),
        "__pub_tgt_type": "glob",
        "__pub_user": opts.get("user", "root"),
    }
