"""Password files of web servers, by htpasswd(1). Passwords go to its stdin. Salt: ``salt/modules/webutil.py``."""

import os

from thin import process

__reads__ = ("verify",)
__changes__ = ("useradd", "userdel")


def __virtual__():
    if process.which("htpasswd"):
        return True
    return False, "The htpasswd execution module cannot be loaded: htpasswd binary not in path (apache2-utils)."


def useradd(pwfile, user, password, opts="", runas=None):
    """
    Add a user to a password file, or change the password; a missing file is created

    opts
        Letters of htpasswd's options (n, d, s, p, B …)
    runas
        The user that htpasswd runs as

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' webutil.useradd /etc/nginx/wiki.htpasswd ada 'correct horse' opts=B
    """
    if not os.path.exists(pwfile):
        opts += "c"
    return _run(["-i" + opts, pwfile, user], runas, password)


def userdel(pwfile, user, runas=None, all_results=False):
    """
    Remove a user from a password file; returns the lines of htpasswd, with ``all_results`` what ``cmd.run_all`` returns

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' webutil.userdel /etc/nginx/wiki.htpasswd ada
    """
    if not os.path.exists(pwfile):
        return "Error: The specified htpasswd file does not exist"
    done = _run(["-D", pwfile, user], runas)
    if all_results:
        return done
    return "\n".join(part for part in (done["stdout"], done["stderr"]) if part).splitlines()


def verify(pwfile, user, password, opts="", runas=None):
    """
    Whether this is the user's password

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' webutil.verify /etc/nginx/wiki.htpasswd ada 'correct horse'
    """
    if not os.path.exists(pwfile):
        return False
    return _run(["-iv" + opts, pwfile, user], runas, password, ignore_retcode=True)["retcode"] == 0


def _run(argv, runas, password=None, **kwargs):
    if password is not None:
        kwargs["stdin"] = "%s\n" % password
    return __salt__["cmd.run_all"](["htpasswd"] + argv, runas=runas, python_shell=False, **kwargs)
