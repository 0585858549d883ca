"""Checks detached and inline signatures of sources with an execution module (``gpg``, ``asymmetric``).

If the check fails, the cached file and its signatures are removed, so that the next run fetches them again.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath, sources


def checker(signature, functions, opts, saltenv, verify_ssl=True, *trust, **more_trust):
    """A function ``check(path)`` for this signature, or None if none is requested. ``trust``, ``more_trust``: the
    arguments of Trust."""
    if not signature:
        return None
    whose = Trust(functions, *trust, **more_trust)

    def cache(url):
        from thin.utils.files import arguments, web

        if sources.scheme(url) not in sources.REMOTE:
            return None
        return web.cache_path(url, arguments.cachedir(opts), saltenv)

    return lambda path: whose.check(path, signature, saltenv, verify_ssl, cache)


class Trust(object):
    """Whose signatures are accepted. ``backend``: the name of the execution module, whose ``verify`` is called."""

    def __init__(self, functions, backend="gpg", signed_by_any=None, signed_by_all=None, keyring=None, gnupghome=None):
        self.verify = functions.get(backend + ".verify")
        self.backend = backend
        self._given = {
            "signed_by_any": signed_by_any,
            "signed_by_all": signed_by_all,
            "keyring": keyring,
            "gnupghome": gnupghome,
        }

    def check(self, path, signature, saltenv, verify_ssl, cache):
        """Raise CommandExecutionError unless ``path`` has a valid signature.

        ``signature``: True for one within the file, else the source of a detached one or a list of sources;
        ``cache(url)`` returns the path for a copy of a web source.
        """
        if self.verify is None:
            raise CommandExecutionError(
                "Signature verification requires the %s module, which could not be found. Make sure you have the "
                "necessary tools and libraries intalled" % self.backend
            )
        kept, detached = [path], None
        if signature is not True:
            result = [
                self._fetched(one, saltenv, verify_ssl, cache)
                for one in ([signature] if isinstance(signature, str) else signature)
            ]
            kept += result
            detached = result[0] if isinstance(signature, str) else result
        answer = self.verify(filename=path, signature=detached, **self._given)
        if answer["res"] is not True:
            for one in set(kept):
                _remove(one)
            raise CommandExecutionError("The file's signature could not be verified: %s" % answer["message"])

    def _fetched(self, source, saltenv, verify_ssl, cache):
        path = sources.fetch(source, saltenv, verify_ssl, cache=cache(source))
        if not path:
            raise CommandExecutionError("Detached signature file %s not found" % source)
        return path


def _remove(path):
    """Remove a copy of a web source. A file of this machine, which has no copy, is left."""
    if os.sep + "extrn_files" + os.sep in path:
        safepath.unlink(path)
