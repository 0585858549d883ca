"""Runs openssl(1). Keys are passed on stdin, passphrases in the environment, neither in arguments."""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils.files import osutil, safepath

MISSING = "The program openssl is not installed here, and is needed for this: install the package openssl"


def run(argv, stdin=b"", secrets=None):
    """The Result of ``openssl ARGV``. ``secrets``: {NAME: passphrase}, for ``-passin env:NAME``.

    Raises CommandExecutionError if there is no openssl.
    """
    env = dict(os.environ, LC_ALL="C", **(secrets or {}))
    try:
        return process.run(["openssl"] + argv, env=env, stdin=stdin)
    except FileNotFoundError:
        raise CommandExecutionError(MISSING)
    except OSError as exc:
        raise CommandExecutionError("openssl cannot be run: %s" % exc)


def output(argv, stdin=b"", secrets=None):
    """The output (bytes) of ``openssl ARGV``. Raises CommandExecutionError with its error."""
    done = run(argv, stdin, secrets)
    if done.retcode:
        raise CommandExecutionError("openssl %s failed: %s" % (argv[0], error_text(done)))
    return done.stdout


def error_text(done):
    """The error text of a failed command."""
    text = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
    return text or "exit code %s" % done.retcode


class Files(object):
    """A private directory for files without secrets, removed at the end of ``with``. ``add(name, data)`` returns a
    path."""

    def __enter__(self):
        self.folder = osutil.mkdtemp()
        return self

    def __exit__(self, *exc):
        osutil.rmtree(self.folder, ignore_errors=True)

    def add(self, name, data):
        path = self.path(name)
        with open(path, "wb", opener=safepath.opener) as handle:
            handle.write(data)
        return path

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as handle:
            return handle.read()
