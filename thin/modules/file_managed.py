"""Managed files, created and compared: functions of the ``file`` module for ``file.managed``.

file_digests.py determines their content.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import owner
from thin.utils.files.arguments import cachedir, expand

log = getLogger(__name__)

__virtualname__ = "file"
__usual__ = True
__reads__ = ("check_file_meta", "check_managed_changes", "check_managed", "get_diff")
__changes__ = ("manage_file",)


def _signed(signature, *how):
    """The function that checks the signature of a file, or None if no signature is wanted; ``how``: see
    signatures.checker."""
    if not signature:
        return None
    from thin.utils.files import signatures

    return signatures.checker(signature, __salt__, __opts__, *how)


def _given(name, sfn, source, source_sum, contents, saltenv, encoding=None, encoding_errors="strict", verify_ssl=True):
    """The content that the arguments of manage_file and check_file_meta describe, or None."""
    from thin.utils.files import content, sources

    if contents is not None:
        if not isinstance(contents, bytes):
            contents = str(contents).encode(encoding or "utf-8", encoding_errors if encoding else "surrogateescape")
        return content.Data(contents)
    wanted = source_sum if source_sum and "hsum" in source_sum else None
    if sfn:
        trusted = not source or sources.scheme(source) == "salt"
        return content.LocalFile(sfn, None if trusted and not wanted else wanted, sources.mismatch(name, source or ""))
    if not source:
        return None
    mismatch = sources.mismatch("", source)
    return content.Fetched(source, lambda: sources.fetch(source, saltenv, verify_ssl), wanted, mismatch)


def manage_file(
    name,
    sfn,
    ret,
    source,
    source_sum,
    user,
    group,
    mode,
    attrs,
    saltenv,
    backup,
    makedirs=False,
    template=None,
    show_changes=True,
    contents=None,
    dir_mode=None,
    follow_symlinks=True,
    skip_verify=False,
    keep_mode=False,
    encoding=None,
    encoding_errors="strict",
    seuser=None,
    serole=None,
    setype=None,
    serange=None,
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
    """Give a file the content that get_managed returned, or ``contents``; returns a state's return."""
    from thin.utils.files import content as contents_of
    from thin.utils.files import managed, sources

    name = expand(name)
    ret = ret or {"name": name, "changes": {}, "comment": "", "result": True}
    try:
        if keep_mode and source:
            mode = sources.server_mode(source, saltenv)
        content = _given(
            name,
            sfn,
            source,
            None if skip_verify else source_sum,
            contents,
            saltenv,
            encoding,
            encoding_errors,
            verify_ssl,
        )
        signed = _signed(
            signature,
            saltenv,
            verify_ssl,
            sig_backend,
            signed_by_any,
            signed_by_all,
            keyring,
            gnupghome,
        )
        if signed is not None and source and content is not None:
            signed(content.fetched())
        desired = _desired(
            user,
            group,
            mode,
            attrs,
            seuser,
            serole,
            setype,
            serange,
            follow_symlinks,
            ignore_ordering,
            ignore_whitespace,
            ignore_comment_characters,
            new_file_diff,
        )
        desired.makedirs, desired.dir_mode, desired.show_changes = makedirs, dir_mode, show_changes
        desired.backup, desired.cachedir = backup or __opts__.get("backup_mode", ""), cachedir(__opts__)
        return managed.manage(name, content, desired, ret, from_source=bool(source))
    except managed.Failed as exc:
        ret["changes"].pop("diff", None)
        return dict(ret, result=False, comment=str(exc))
    finally:
        contents_of.unspool(sfn)


def _desired(
    user,
    group,
    mode,
    attrs,
    seuser,
    serole,
    setype,
    serange,
    follow_symlinks,
    ignore_ordering=False,
    ignore_whitespace=False,
    ignore_comment_characters=None,
    new_file_diff=False,
):
    from thin.utils.files import managed

    selinux = {"seuser": seuser, "serole": serole, "setype": setype, "serange": serange}
    ignore = None
    if ignore_ordering or ignore_whitespace or ignore_comment_characters:
        ignore = {
            "ignore_ordering": ignore_ordering,
            "ignore_whitespace": ignore_whitespace,
            "ignore_comment_characters": ignore_comment_characters,
        }
    return managed.Desired(
        user,
        group,
        owner.normalize_mode(mode),
        attrs,
        selinux if any(selinux.values()) else None,
        follow_symlinks,
        obfuscate=__opts__.get("obfuscate_templates", False),
        ignore=ignore,
        new_file_diff=new_file_diff,
    )


def _about_link(name, changes, desired):
    """The properties of a link that is not followed, as in Salt: its target as text, its own owner and mode."""
    from thin.utils.files import managed, owner

    kept = {key: changes[key] for key in changes if key not in ("user", "group", "mode")}
    if kept.get("diff") == managed.REPLACES_LINK:
        del kept["diff"]
    kept.update(owner.drift(os.lstat(name), desired.user, desired.group, desired.mode))
    return kept


def check_file_meta(
    name,
    sfn,
    source,
    source_sum,
    user,
    group,
    mode,
    attrs,
    saltenv,
    contents=None,
    seuser=None,
    serole=None,
    setype=None,
    serange=None,
    verify_ssl=True,
    follow_symlinks=False,
    ignore_ordering=False,
    ignore_whitespace=False,
    ignore_comment_characters=None,
    new_file_diff=False,
):
    """The changes that manage_file would make; with something to ignore, (whether the changes matter, the changes)."""
    from thin.utils.files import managed

    desired = _desired(
        user,
        group,
        mode,
        attrs,
        seuser,
        serole,
        setype,
        serange,
        follow_symlinks,
        ignore_ordering,
        ignore_whitespace,
        ignore_comment_characters,
        new_file_diff,
    )
    content = _given(name, sfn, source, source_sum, contents, saltenv, verify_ssl=verify_ssl)
    if contents is None and not (source_sum and "hsum" in source_sum):
        content = None
    name = expand(name)
    changes, matters = managed.predict(name, content, desired)
    if not follow_symlinks and os.path.islink(name) and os.path.isfile(name):
        changes = _about_link(name, changes, desired)
    if "newfile" not in changes:
        # The states pass an empty text for "leave it"; for other callers, the file's owner is compared with that name.
        changes.update((key, value) for key, value in (("user", user), ("group", group)) if value == "")
    return (matters, changes) if desired.ignore else changes


def check_managed_changes(
    name,
    source,
    source_hash,
    source_hash_name,
    user,
    group,
    mode,
    attrs,
    template,
    context,
    defaults,
    saltenv,
    contents=None,
    skip_verify=False,
    keep_mode=False,
    seuser=None,
    serole=None,
    setype=None,
    serange=None,
    verify_ssl=True,
    follow_symlinks=False,
    ignore_ordering=False,
    ignore_whitespace=False,
    ignore_comment_characters=None,
    new_file_diff=False,
    **kwargs,
):
    """The changes that file.managed would make, or (False, error text) if the source cannot be read."""
    from thin.utils.files import content as contents_of
    from thin.utils.files import sources

    source, source_hash = sources.choose(source, source_hash, saltenv)
    sfn, source_sum = "", None
    if contents is None:
        sfn, source_sum, words = __salt__["file.get_managed"](
            name,
            template,
            source,
            source_hash,
            source_hash_name,
            user,
            group,
            mode,
            attrs,
            saltenv,
            context,
            defaults,
            skip_verify,
            verify_ssl,
        )
        if words:
            log.error("%s", words)
            return False, words
        if keep_mode and source:
            mode = sources.server_mode(source, saltenv)
    try:
        return check_file_meta(
            name,
            sfn,
            source,
            source_sum,
            user,
            group,
            mode,
            attrs,
            saltenv,
            contents,
            seuser,
            serole,
            setype,
            serange,
            verify_ssl,
            follow_symlinks,
            ignore_ordering,
            ignore_whitespace,
            ignore_comment_characters,
            new_file_diff,
        )
    finally:
        contents_of.unspool(sfn)


def check_managed(
    name,
    source,
    source_hash,
    source_hash_name,
    user,
    group,
    mode,
    attrs,
    template,
    context,
    defaults,
    saltenv,
    contents=None,
    skip_verify=False,
    seuser=None,
    serole=None,
    setype=None,
    serange=None,
    follow_symlinks=False,
    **kwargs,
):
    """(True, text) for a file that is as wanted, (None, text) for one that would change, (False, error text) after an
    error."""
    changes = check_managed_changes(
        name,
        source,
        source_hash,
        source_hash_name,
        user,
        group,
        mode,
        attrs,
        template,
        context,
        defaults,
        saltenv,
        contents,
        skip_verify,
        False,
        seuser,
        serole,
        setype,
        serange,
        follow_symlinks=follow_symlinks,
    )
    if isinstance(changes, tuple):
        return changes
    if changes:
        lines = "".join("%s: %s\n" % item for item in changes.items())
        return None, "The following values are set to be changed:\n" + lines
    return True, "The file %s is in the correct state" % name


def get_diff(
    file1,
    file2,
    saltenv="base",
    show_filenames=True,
    show_changes=True,
    template=False,
    source_hash_file1=None,
    source_hash_file2=None,
    ignore_ordering=False,
    ignore_whitespace=False,
    ignore_comment_characters=None,
):
    """The unified diff of two files, which may be salt:// URLs; "" if they are equal."""
    from thin.utils.files import content as contents_of
    from thin.utils.files import diff, sources

    paths, missing = [], []
    for name in (file1, file2):
        path = sources.fetch(name, saltenv)
        paths.append(path)
        if not path:
            missing.append("File %s not found" % name)
    if missing:
        raise CommandExecutionError("Failed to cache one or more files", info=missing)
    try:
        equal = contents_of.same(contents_of.LocalFile(paths[0]), paths[1])
    except OSError as exc:
        raise CommandExecutionError("Failed to read %s: %s" % (exc.filename, exc.strerror))
    ignoring = ignore_ordering or ignore_whitespace or ignore_comment_characters
    if equal:
        return (False, "") if ignoring else ""
    if template and __opts__.get("obfuscate_templates"):
        return diff.OBFUSCATED
    if not show_changes:
        return diff.HIDDEN
    text = diff.of_files(*(paths + (paths if show_filenames else ["", ""])))
    if ignoring:
        return diff.matters(text, ignore_ordering, ignore_whitespace, ignore_comment_characters), text
    return text
