"""Files from sources, and whole trees. Salt: salt.states.file.

The functions have Salt's arguments, changes and comments. The implementation is in thin/utils/files/, a module for each
purpose, imported when a state first needs it. file_append.py, file_data.py, file_edit.py, file_more.py and
file_paths.py have the other functions of the same Salt module. For a file that is as wanted, the cost is one stat and
one digest of its content.
"""

import os

from thin import detail
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import owner, safepath
from thin.utils.files.arguments import cachedir
from thin.utils.files.states import accumulated, chunk_tag, failed, preflight, state_return, user_of

__usual__ = True

log = getLogger(__name__)


# -- shared code


def _web_cache(source):
    """The path of the cached copy of a web source, None for other sources."""
    from thin.utils.files import sources

    if not source or sources.scheme(source) not in sources.REMOTE:
        return None
    from thin.utils.files import web

    return web.cache_path(source, cachedir(__opts__), __env__)


# -- managed ------------------------------------------------------------------------------------------------------


def managed(
    name,
    source=None,
    source_hash="",
    source_hash_name=None,
    keep_source=True,
    user=None,
    group=None,
    mode=None,
    attrs=None,
    template=None,
    makedirs=False,
    dir_mode=None,
    context=None,
    replace=True,
    defaults=None,
    backup="",
    show_changes=True,
    create=True,
    contents=None,
    tmp_dir=None,
    tmp_ext="",
    contents_pillar=None,
    contents_grains=None,
    contents_newline=True,
    contents_delimiter=":",
    encoding=None,
    encoding_errors="strict",
    allow_empty=True,
    follow_symlinks=True,
    check_cmd=None,
    skip_verify=False,
    selinux=None,
    win_owner=None,
    win_perms=None,
    win_deny_perms=None,
    win_inheritance=True,
    win_perms_reset=False,
    verify_ssl=True,
    use_etag=False,
    signature=None,
    source_hash_sig=None,
    signed_by_any=None,
    signed_by_all=None,
    keyring=None,
    gnupghome=None,
    ignore_ordering=False,
    ignore_whitespace=False,
    ignore_comment_characters=None,
    new_file_diff=False,
    sig_backend="gpg",
    **kwargs,
):
    """A file with the content of a source, a template or ``contents``, with owner and mode.

    changes: ``diff`` (a unified diff, ``New file`` or a sentence), ``user``, ``group``, ``mode``, ``attrs``,
    ``selinux``; in a dry run ``newfile`` for a missing file. A source on the controller is sent only if its digest
    differs.
    """
    name = os.path.expanduser(name)
    ret = state_return(name)
    keep_mode = isinstance(mode, str) and mode.lower() == "keep"
    mode = None if keep_mode else owner.normalize_mode(mode)
    given = sum(value is not None for value in (contents, contents_pillar, contents_grains))
    words = _misused(name, source, given, keep_mode)
    if words:
        return failed(ret, words)
    if not source and not given and replace:
        replace = False
        log.warning("%s has neither a source nor contents: its content is kept, and 'replace' is ignored", name)
    if "file_mode" in kwargs:
        ret.setdefault("warnings", []).append(
            "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions."
        )
    user = user_of(kwargs, user)
    how = {"newline": contents_newline, "encoding": encoding, "errors": encoding_errors}
    texts = (contents, contents_pillar, contents_grains, contents_delimiter, allow_empty)
    try:
        seen = _seen(template, name, None, user, group, mode, attrs, kwargs)
        data = _given(*texts, template, context, defaults, seen, **how) if given else None
    except CommandExecutionError as exc:
        return failed(ret, str(exc))

    if not create and not os.path.isfile(name):
        ret["comment"] = "File %s is not present and is not set for creation" % name
        return ret
    if context is not None and not isinstance(context, dict):
        return failed(ret, "Context must be formed as a dict")
    if defaults and not isinstance(defaults, dict):
        return failed(ret, "Defaults must be formed as a dict")
    charged = accumulated(__context__, __instance_id__)[0].get(name)
    if charged is not None:
        context = dict(context or {}, accumulator=charged)
    looks = {"attrs": attrs, "selinux": selinux, "follow_symlinks": follow_symlinks, "makedirs": makedirs}
    looks.update(dir_mode=dir_mode, show_changes=show_changes, new_file_diff=new_file_diff)
    ignored = _ignored(ignore_ordering, ignore_whitespace, ignore_comment_characters)
    desired = _desired(user, group, mode, backup, ignore=ignored, **looks)

    trust = _trust(signature or source_hash_sig, sig_backend, signed_by_any, signed_by_all, keyring, gnupghome)
    if trust is not None and trust.verify is None:
        return failed(ret, "Cannot verify signatures because the %s module was not loaded" % sig_backend)
    content = lambda: data  # noqa: E731
    if source:
        digest = (source_hash, source_hash_name, source_hash_sig, skip_verify)
        rendering = (template, context, defaults, seen)
        content = _Source(name, source, digest, rendering, trust, signature, verify_ssl, use_etag, desired, keep_mode)
    try:
        return _converge(name, ret, content, desired, replace, bool(source), check_cmd, tmp_dir, tmp_ext)
    finally:
        if source and not keep_source and not isinstance(source, list):
            _forget(source)


def _misused(name, source, given, keep_mode):
    """The error in the arguments, or None. ``given``: the number of arguments that define the contents."""
    contents = "'contents', 'contents_pillar', or 'contents_grains'"
    if not name:
        return "Destination file name is required"
    if source and given:
        return "'source' cannot be used in combination with " + contents
    if keep_mode and given:
        return "Mode preservation cannot be used in combination with " + contents
    if given > 1:
        return "Only one of 'contents', 'contents_pillar', and 'contents_grains' is permitted"
    return ""


class _Source(object):
    """A callable that returns the wanted contents from a source: found, verified, rendered."""

    def __init__(self, name, source, digest, rendering, trust, signature, verify_ssl, use_etag, desired, keep_mode):
        self._name, self._source, self._trust, self._signature = name, source, trust, signature
        self._hash, self._hash_name, self._hash_signature, self._skip_verify = digest
        self._template, self._context, self._defaults, self._seen = rendering
        self._verify_ssl, self._use_etag, self._desired, self._keep_mode = verify_ssl, use_etag, desired, keep_mode

    def __call__(self):
        """The content, or None. Raises what ``_converge`` makes a failure of."""
        from thin.utils.files import sources

        url, digest = sources.choose(self._source, self._hash, __env__)
        if self._hash_signature and sources.is_list_of_hashes(digest):
            digest = _verified(self._trust, digest, self._hash_signature, self._verify_ssl)
        content = None
        if not self._template or sources.scheme(url) != "salt":
            content = self._content(url, digest)
        if self._template and sources.scheme(url) in ("", "file") and sources.local_path(url) == self._name:
            raise sources.NoContent("Source file cannot be the same as destination")
        if self._template:
            seen = dict(self._seen, source=url)
            content = _rendered(url, self._template, self._context, self._defaults, content, seen)
        if self._keep_mode:
            self._desired.mode = owner.normalize_mode(sources.server_mode(url, __env__))
        return content

    def _content(self, url, digest):
        from thin.utils.files import sources

        verify = (self._skip_verify, self._verify_ssl, _web_cache(url))
        content = sources.resolve(self._name, url, digest, self._hash_name, __env__, *verify, use_etag=self._use_etag)
        if __opts__["test"] and content is not None and sources.scheme(url) in sources.REMOTE:
            if not content.has_digest or not _holds(self._name, content):
                content.obtain()  # an unavailable source is part of the prediction
                if detail.on():
                    content.fetched()  # Salt's dry run does not compare digests, a plan does
        if self._signature and content is not None:
            self._trust.check(content.fetched(), self._signature, __env__, self._verify_ssl, _web_cache)
        return content


def _given(contents, pillar_keys, grains_keys, delimiter, allow_empty, template, context, defaults, seen, **options):
    """The wanted contents from ``contents``, ``contents_pillar`` or ``contents_grains``."""
    from thin.utils.files import given, sources

    def render(text):
        sls = __low__.get("__sls__", "")
        return sources.text(text, __env__, template, context, defaults, chunk_tag(__low__), sls, seen).data

    value, label = given.looked_up(__salt__, contents, pillar_keys, grains_keys, delimiter)
    if not value and not allow_empty:
        raise CommandExecutionError(
            "%s value would result in empty contents. Set allow_empty to True to allow the managed file to be "
            "empty." % label
        )
    return given.data(value, render if template else None, **options)


def _trust(wanted, *args):
    """The keys whose signatures are accepted, if signatures are wanted."""
    if not wanted:
        return None
    from thin.utils.files import signatures

    return signatures.Trust(__salt__, *args)


def _verified(trust, source_hash, signature, verify_ssl):
    """The path of a list of digests with a valid signature."""
    from thin.utils.files import sources

    path = sources.fetch(source_hash, __env__, verify_ssl, cache=_web_cache(source_hash))
    if not path:
        raise CommandExecutionError("Source hash file %s not found" % sources.redact(source_hash))
    trust.check(path, signature, __env__, verify_ssl, _web_cache)
    return path


def _desired(user, group, mode, backup="", **options):
    """The wanted properties of managed files, with the minion options for all files."""
    from thin.utils.files import managed as core

    return core.Desired(
        user,
        group,
        mode,
        backup=backup or __opts__.get("backup_mode", ""),
        cachedir=cachedir(__opts__),
        obfuscate=__opts__.get("obfuscate_templates", False),
        **options,
    )


def _arguments():
    """The arguments of file.managed, which are not passed to a template."""
    from thin.utils import args

    return args.spec(managed).args


def _seen(template, *given):
    """The variables of a template. Raises CommandExecutionError."""
    from thin.utils.files import names

    try:
        return names.template_names(*given) if template else {}
    except ValueError as exc:
        raise CommandExecutionError("Unable to manage file: %s" % exc)


def _rendered(source, template, context, defaults, fetched, seen):
    from thin.utils.files import sources

    sls = __low__.get("__sls__", "")
    return sources.rendered(source, __env__, template, context, defaults, chunk_tag(__low__), sls, fetched, seen)


def _converge(name, ret, content, desired, replace, from_source, check_cmd=None, tmp_dir=None, tmp_ext=""):
    """The return of managing one file; ``content()`` returns the wanted contents when they are needed."""
    from thin import link
    from thin.utils.files import content as contents_of
    from thin.utils.files import managed as core
    from thin.utils.files import sources

    words = preflight(__opts__, name, desired.user, desired.group)
    if words:
        return failed(ret, words)
    if os.path.isdir(name):
        return failed(ret, "Specified target %s is a directory" % name)
    try:
        if not replace and os.path.exists(name):
            return core.keep_content(name, ret, desired, __opts__["test"])
        wanted = content()
        if __opts__["test"]:
            return core.foretell(name, wanted, desired, ret)
        if check_cmd and wanted is not None and not _holds(name, wanted):
            failure = core.check_command(
                check_cmd, wanted, desired, __salt__["cmd.run_all"], __grains__.get("shell"), tmp_dir, tmp_ext
            )
            if failure:
                ret.update(failure)
                return ret
        return core.manage(name, wanted, desired, ret, from_source)
    except sources.NoContent as exc:
        if __opts__["test"] and getattr(exc.__context__, "may_come", False):
            ret["changes"] = {"diff": "not known yet"} if os.path.lexists(name) else {"newfile": name}
            return dict(ret, result=None, comment="The file %s is set to be changed\nNote: %s" % (name, exc))
        words = str(exc) if __opts__["test"] else "Unable to manage file: %s" % exc
    except contents_of.Failed as exc:
        words = str(exc)
    except (CommandExecutionError, SaltInvocationError, link.LinkError, OSError) as exc:
        words = "Unable to manage file: %s" % exc
    ret["changes"] = {}
    return failed(ret, words)


def _ignored(ordering, whitespace, comment_characters):
    if not (ordering or whitespace or comment_characters):
        return None
    return {
        "ignore_ordering": ordering,
        "ignore_whitespace": whitespace,
        "ignore_comment_characters": comment_characters,
    }


def _holds(name, content):
    from thin.utils.files import content as contents_of

    return os.path.isfile(name) and contents_of.same(content, name)


def _forget(source):
    """Remove the cached copy of a source (``keep_source: false``)."""
    from thin import link
    from thin.utils.files import sources

    try:
        if sources.scheme(source) == "salt":
            link.drop(source, __env__)
        else:
            safepath.unlink(_web_cache(source))
    except (OSError, TypeError, link.LinkError):
        pass


def mod_run_check_cmd(cmd, filename, **check_cmd_opts):
    """True if ``cmd filename`` succeeds, otherwise a partial return with its output."""
    from thin.utils.files import managed as core

    return core.failed_check(__salt__["cmd.run_all"]("%s %s" % (cmd, filename), **check_cmd_opts)) or True


# -- directory trees


def recurse(
    name,
    source,
    keep_source=True,
    clean=False,
    require=None,
    user=None,
    group=None,
    dir_mode=None,
    file_mode=None,
    sym_mode=None,
    template=None,
    context=None,
    replace=True,
    defaults=None,
    include_empty=False,
    backup="",
    include_pat=None,
    exclude_pat=None,
    maxdepth=None,
    keep_symlinks=False,
    force_symlinks=False,
    win_owner=None,
    win_perms=None,
    win_deny_perms=None,
    win_inheritance=True,
    merge=False,
    **kwargs,
):
    """A directory of the file server below ``name``, each file as by file.managed. changes: {path: its changes}."""
    from thin import link, wire
    from thin.utils.files import sources, trees, walk

    directory, symlink = __states__["file.directory"], __states__["file.symlink"]
    name = os.path.expanduser(name)
    ret = state_return(name)
    user = user_of(kwargs, user)
    if "mode" in kwargs:
        return failed(ret, "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'.")
    dir_mode = owner.normalize_mode(dir_mode)
    keep_mode = isinstance(file_mode, str) and file_mode.lower() == "keep"
    file_mode = None if keep_mode else owner.normalize_mode(file_mode)
    words = preflight(__opts__, name, user, group)
    if words:
        return failed(ret, words)
    try:
        folders = trees.existing(source, __env__)
        plan = trees.plan(
            name, folders, __env__, keep_symlinks, include_pat, exclude_pat, maxdepth, include_empty, merge
        )
    except (CommandExecutionError, link.LinkError) as exc:
        return failed(ret, "Recurse failed: %s" % exc)
    words = _directory_made(name, user, group, dir_mode)
    if words:
        return failed(ret, words)
    whole = trees.Outcome(ret, __opts__["test"])
    for path in sorted(plan.directories):
        if clean and os.path.lexists(path) and not os.path.isdir(path):
            if not whole.cleared(path, "", "directory"):
                continue
            ret["changes"][path] = {"diff": "Replaced file with a directory"}
        whole.add(path, directory(path, user=user, group=group, recurse=[], dir_mode=dir_mode, makedirs=True))
    options = ("attrs", "follow_symlinks", "selinux", "show_changes", "new_file_diff")
    options = {key: kwargs[key] for key in options if key in kwargs}
    extra = {key: kwargs[key] for key in kwargs if key != "makedirs" and key not in _arguments()}
    try:
        seen = _seen(template, name, None, user, group, file_mode, None, extra)
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    if replace and not template:
        link.foresee([(url, digest, size, path) for path, (url, digest, _, size) in plan.files.items()], __env__)
    for path, (url, digest, mode, _) in plan.files.items():
        if clean and replace and os.path.isdir(path) and not os.path.islink(path):
            if not whole.cleared(path, "directory ", "file"):
                continue
        desired = _desired(user, group, "%04o" % mode if keep_mode else file_mode, backup, makedirs=True, **options)

        def content(url=url, digest=digest, path=path):
            if not template:
                return sources.served(url, digest, __env__)
            own = dict(seen, name=path, source=wire.file_key(url, __env__))
            return _rendered(url, template, context, defaults, None, own)

        whole.add(path, _converge(path, state_return(path), content, desired, replace, True))
    for path in trees.in_link_order(plan.links):
        how = {"makedirs": True, "force": force_symlinks, "user": user, "group": group, "mode": sym_mode}
        whole.add(path, symlink(path, plan.links[path], **how))
    if clean and os.path.isdir(name):
        whole.clean(walk.unwanted(name, plan.keep | trees.required(name, require, __lowstate__, __env__), exclude_pat))
    return whole.finished()


def _directory_made(name, user, group, mode):
    """The reason why there is no directory; None if it exists, was created, or (in a dry run) would be created."""
    if os.path.isdir(name):
        return ""
    if os.path.exists(name):
        return "The path %s exists and is not a directory" % name
    if not __opts__["test"]:
        from thin.utils.files import atomic

        try:
            atomic.makedirs(os.path.join(name, "file"), user, group, mode)
        except OSError as exc:
            return "Unable to create directory %s: %s" % (name, exc.strerror)
    return ""
