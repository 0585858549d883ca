"""Files of the file server on the target. Salt: salt.modules.cp.

Functions that list or read the file server ask the controller; functions that write files run on the target. "To cache"
is to make a private copy. Copies are kept for some time, those of the file server by digest: a file that is no longer
served does not count as cached.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import safepath
from thin.utils.files.arguments import cachedir

__usual__ = True
__reads__ = (
    "envs",
    "list_states",
    "list_master",
    "list_master_dirs",
    "list_master_symlinks",
    "stat_file",
    "hash_file",
    "get_file_str",
    "cache_file",
    "cache_files",
    "cache_dir",
    "cache_master",
    "cache_local_file",
    "cache_dest",
    "is_cached",
    "list_minion",
)
__changes__ = ("get_file", "get_template", "get_dir", "get_url", "recv")

log = getLogger(__name__)


def _env(saltenv=None):
    return saltenv or __opts__.get("saltenv") or "base"


def _split(path, saltenv):
    """(the URL without its saltenv, the saltenv)."""
    url, _, query = path.partition("?saltenv=")
    return url, query or _env(saltenv)


def _ask(function, *args, **kwargs):
    from thin import link

    try:
        return link.ask("cp." + function, args, kwargs)
    except link.LinkError as exc:
        raise CommandExecutionError("cp.%s: %s" % (function, exc))


def _fetch(path, saltenv, verify_ssl=True, source_hash=None, use_etag=False):
    """The path of a local copy of any source, or None."""
    from thin import link
    from thin.utils.files import hashes, sources

    url, saltenv = _split(path, saltenv)
    cache = None
    if sources.scheme(url) in sources.REMOTE:
        from thin.utils.files import web

        cache = web.cache_path(url, cachedir(__opts__), saltenv)
        if source_hash and hashes.is_file_of(cache, hashes.parse(source_hash)):
            return cache
    try:
        return sources.fetch(url, saltenv, verify_ssl, cache=cache, use_etag=use_etag)
    except link.LinkError as exc:
        raise CommandExecutionError(str(exc))


def _put(pieces, dest, makedirs=False):
    """Write ``pieces`` (bytes, or an iterator of bytes) to ``dest``; returns False if its directory does not exist."""
    from thin.utils.files import atomic, owner

    if not os.path.isdir(os.path.dirname(dest) or "."):
        if not makedirs:
            return False
        atomic.makedirs(dest)
    mode = None if os.path.exists(dest) else owner.mode_bits(owner.default_mode())
    atomic.write(safepath.real(dest), pieces, mode=mode)
    return True


def _rendered(text, saltenv, template, context=None, defaults=None):
    from thin import link
    from thin.utils.files import sources

    try:
        return sources.text(text, saltenv, template, context, defaults).data
    except link.LinkError as exc:
        raise CommandExecutionError(str(exc))


def _destination(path, dest):
    return os.path.join(dest, os.path.basename(path)) if dest.endswith(os.sep) or os.path.isdir(dest) else dest


# -- answered by the controller


def envs():
    """The environments of the file server."""
    return _ask("envs")


def list_states(saltenv=None):
    """The SLS of an environment."""
    return _ask("list_states", _env(saltenv))


def list_master(saltenv=None, prefix=""):
    """The files of an environment."""
    return _ask("list_master", _env(saltenv), prefix)


def list_master_dirs(saltenv=None, prefix=""):
    """The directories of an environment."""
    return _ask("list_master_dirs", _env(saltenv), prefix)


def list_master_symlinks(saltenv=None, prefix=""):
    """{link: target} of an environment."""
    return _ask("list_master_symlinks", _env(saltenv), prefix)


def stat_file(path, saltenv=None, octal=True):
    """The mode of a file, as text ("0644") or, without ``octal``, as number; None when there is no such file."""
    from thin.utils.files import owner, sources

    url, saltenv = _split(path, saltenv)
    if sources.scheme(url) == "salt":
        return _ask("stat_file", url, saltenv=saltenv, octal=octal)
    try:
        st = os.stat(sources.local_path(url))
    except OSError:
        return None
    return owner.mode_text(st) if octal else st.st_mode


def hash_file(path, saltenv=None):
    """``{"hsum", "hash_type"}`` of a file of the file server or of this machine, {} when there is no such file."""
    from thin import link
    from thin.utils.files import hashes, sources

    url, saltenv = _split(path, saltenv)
    if sources.scheme(url) == "salt":
        digest = link.file_digest(url, saltenv)
        return {"hsum": digest, "hash_type": "sha256"} if digest else {}
    path = sources.local_path(url)
    return {"hsum": hashes.file_hash(path), "hash_type": "sha256"} if os.path.isfile(path) else {}


# -- files of the target


def get_file(path, dest, saltenv=None, makedirs=False, template=None, gzip=None, **kwargs):
    """Write a file of the file server to ``dest``: its path, "" if there is no such file. ``template`` renders both
    names."""
    from thin.utils.files import atomic

    saltenv = _env(saltenv)
    if template:
        path, dest = (
            _rendered(text, saltenv, template, kwargs.get("context")).decode("utf-8").rstrip("\n")
            for text in (path, dest)
        )
    content = _fetch(path, saltenv)
    if not content:
        log.error("%s was not fetched from the saltenv %s", path, saltenv)
        return ""
    dest = _destination(path, dest)
    return dest if _put(atomic.pieces(content), dest, makedirs) else ""


def get_template(path, dest, template="jinja", saltenv=None, makedirs=False, **kwargs):
    """Render a file of the file server to ``dest``, by default a temporary file: its path, "" if there is no such
    file."""
    from thin import link

    url, saltenv = _split(path, saltenv)
    context = dict(kwargs.get("context") or {})
    try:
        if link.file_digest(url, saltenv) is None:
            log.error("Unable to cache template '%s' from saltenv '%s'.", path, saltenv)
            return ""
        data = link.template(url, saltenv, template, context, kwargs.get("defaults"), "", "")
    except link.LinkError as exc:
        raise CommandExecutionError(str(exc))
    data = data if isinstance(data, bytes) else data.encode("utf-8")
    if dest:
        dest = _destination(url, dest)
        return dest if _put(data, dest, makedirs) else ""
    from thin.utils.files import osutil

    descriptor, dest = osutil.mkstemp()
    with os.fdopen(descriptor, "wb") as target:
        target.write(data)
    return dest


def get_dir(path, dest, saltenv=None, template=None, gzip=None, **kwargs):
    """Write a directory of the file server below ``dest``: the paths written."""
    from thin import link
    from thin.utils.files import atomic

    url, saltenv = _split(path, saltenv)
    if template:
        url, dest = (_rendered(text, saltenv, template).decode("utf-8").rstrip("\n") for text in (url, dest))
    url = url.rstrip("/")
    top = os.path.join(dest, os.path.basename(url)) if os.path.basename(url) != "salt:" else dest
    written, entries = [], link.tree(url, saltenv) or ()
    _foresee(url, saltenv, entries)
    for relpath, kind, _, _, _ in entries:
        target = os.path.join(top, relpath)
        if ".." in relpath.split("/"):
            continue
        if kind == "d":
            if not os.path.isdir(target):
                safepath.makedirs(target)
            continue
        file = link.file("%s/%s" % (url, relpath), saltenv)
        if file and _put(atomic.pieces(file), target, makedirs=True):
            written.append(target)
    return written


def _foresee(url, saltenv, entries):
    from thin import link

    top = url.rstrip("/")
    files = [("%s/%s" % (top, name), digest, size, "") for name, kind, digest, _, size in entries if kind == "f"]
    link.foresee(files, saltenv)


def get_url(path, dest="", saltenv=None, makedirs=False, source_hash=None, verify_ssl=True):
    """Write a file of the file server, of the target or of the web to ``dest``, by default a private copy: its path.

    ``dest=None`` returns the text instead. False when there is no such file.
    """
    from thin.utils.files import atomic, edit, hashes

    content = _fetch(path, _env(saltenv), verify_ssl)
    if not content:
        log.error("Unable to fetch file %s from saltenv %s.", path, _env(saltenv))
        return False
    if source_hash and not hashes.check(content, source_hash):
        log.error("The digest of %s is not %s.", path, source_hash)
        return False
    if dest is None:
        return edit.read(content).decode("utf-8", "surrogateescape")
    if not dest:
        return content
    dest = _destination(path, dest)
    return dest if _put(atomic.pieces(content), dest, makedirs) else False


def get_file_str(path, saltenv=None):
    """The text of a file of the file server; False if there is no such file."""
    from thin.utils.files import edit

    cached = cache_file(path, saltenv)
    return edit.read(cached).decode("utf-8", "surrogateescape") if cached else False


def cache_file(path, saltenv=None, source_hash=None, verify_ssl=True, use_etag=False):
    """The path of a private copy of a file; False if there is no such file. A local file is returned as it is.

    A web source is not downloaded if the copy has ``source_hash``, or if the server, queried with
    ``use_etag``, reports that it has not changed.
    """
    return _fetch(path, _env(saltenv), verify_ssl, source_hash, use_etag) or False


def cache_files(paths, saltenv=None):
    """The paths of private copies of files; False for those that do not exist."""
    return [cache_file(path, saltenv) for path in (paths.split(",") if isinstance(paths, str) else paths)]


def cache_dir(path, saltenv=None, include_empty=False, include_pat=None, exclude_pat=None):
    """The paths of private copies of the files below a directory of the file server."""
    from thin import link
    from thin.utils.files import walk

    url, saltenv = _split(path, saltenv)
    files = [entry for entry in link.tree(url, saltenv) or () if entry[1] != "d"]
    wanted = [entry for entry in files if walk.check_include_exclude(entry[0], include_pat, exclude_pat)]
    _foresee(url, saltenv, wanted)
    chosen = [entry[0] for entry in wanted]
    return [cached for cached in (link.file("%s/%s" % (url.rstrip("/"), name), saltenv) for name in chosen) if cached]


def cache_master(saltenv=None):
    """The paths of private copies of all files of an environment."""
    return [cache_file("salt://" + name, saltenv) for name in list_master(saltenv)]


def cache_local_file(path):
    """The path of a local file, which is not copied; "" if it does not exist."""
    return path if os.path.exists(path) else ""


def cache_dest(url, saltenv=None):
    """The path of the cached copy of a web source; other sources have none."""
    from thin.utils.files import web

    return web.cache_path(url, cachedir(__opts__), _env(saltenv))


def is_cached(path, saltenv=None):
    """The path of the cached copy, "" if there is none."""
    from thin.utils.files import sources

    url, saltenv = _split(path, saltenv)
    kind = sources.scheme(url)
    if kind == "salt":
        cached = _kept(url, saltenv)
    elif kind in sources.REMOTE:
        cached = cache_dest(url, saltenv)
    else:
        cached = sources.local_path(url)
    return cached if cached and os.path.exists(cached) else ""


def _kept(url, saltenv):
    from thin import link

    try:
        return link.cached(url, saltenv)
    except link.LinkError as exc:
        raise CommandExecutionError(str(exc))


def list_minion(saltenv=None):
    """The cached web sources."""
    top = os.path.join(cachedir(__opts__), "extrn_files", _env(saltenv))
    return sorted(os.path.relpath(os.path.join(root, name), top) for root, _, files in os.walk(top) for name in files)


def recv(files, dest):
    """Write files ({name: text}) to or below ``dest``: {name: whether it was written}."""
    ret = {}
    for path, data in files.items():
        target = dest if os.path.basename(path) == os.path.basename(dest) and not os.path.isdir(dest) else None
        if target is None and os.path.isdir(dest):
            target = os.path.join(dest, os.path.basename(path))
        elif target is None:
            target = dest if os.path.isdir(os.path.dirname(dest)) else None
        if target is None:
            return "Destination unavailable"
        try:
            ret[target] = _put(data if isinstance(data, bytes) else data.encode("utf-8"), target)
        except OSError:
            ret[target] = False
    return ret
