"""Detached and inline signatures of sources, checked by an execution module (``gpg``, ``asymmetric``), in Salt's words.

What does not stand the check is not kept: neither the file nor its signatures, so that the next run fetches them anew.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath, sources


def checker(signature, functions, opts, saltenv, verify_ssl=True, *trust, **more_trust):
    """``check(path)`` for this signature, or None when none is wanted; ``trust``, ``more_trust``: see Trust."""
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
    """Whose signatures count. ``verify`` is the backend's function; ``backend`` its module's name."""

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
        """Raises CommandExecutionError unless ``path`` is well signed.

        ``signature``: True for one within the file, else the source of a detached one or a list of them;
        ``cache(url)`` is where a copy of a web source is kept.
        """
        if self.verify is None:
            raise CommandExecutionError(
                "Signature verification requires the %s module, which could not be found. Make sure you have the "
                "necessary tools and libraries intalled" % self.backend
            )
        kept, detached = [path], None
        if signature is not True:
            found = [
                self._fetched(one, saltenv, verify_ssl, cache)
                for one in ([signature] if isinstance(signature, str) else signature)
            ]
            kept += found
            detached = found[0] if isinstance(signature, str) else found
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
    """Copies from the web go; a file of this machine, which is its own copy, stays."""
    if os.sep + "extrn_files" + os.sep in path:
        safepath.unlink(path)
