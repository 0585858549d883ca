"""States that change lines of a file by patterns, keys or patches: a part of ``file``. Salt: salt.states.file."""

import os

from thin import detail
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.files.states import chunk_tag, edited, failed, not_editable, state_return

__virtualname__ = "file"
__usual__ = True


def line(
    name,
    content=None,
    match=None,
    mode=None,
    location=None,
    before=None,
    after=None,
    show_changes=True,
    backup=False,
    quiet=False,
    indent=True,
    create=False,
    user=None,
    group=None,
    file_mode=None,
):
    """One line of a file ensured, inserted, replaced or deleted. changes: {"diff": ...}."""
    from thin.utils.files import lines

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.line")
    __states__["file.managed"](name, create=create, user=user, group=group, mode=file_mode, replace=False)
    words = not_editable(name)
    if words:
        return failed(ret, words)
    mode = mode.lower() if mode else mode
    if mode is None:
        return failed(ret, "Mode was not defined. How to process the file?")
    if mode != "delete" and content is None:
        return failed(ret, "Content can only be empty if mode is ['delete']")
    try:
        changes = lines.edit_file(
            name, content, match, mode, location, before, after, show_changes, backup, quiet, indent, __opts__["test"]
        )
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    return edited(ret, changes, "Changes would be made", __opts__["test"])


def replace(
    name,
    pattern,
    repl,
    count=0,
    flags=8,
    bufsize=1,
    append_if_not_found=False,
    prepend_if_not_found=False,
    not_found_content=None,
    backup=".bak",
    show_changes=True,
    ignore_if_missing=False,
    backslash_literal=False,
    encoding=None,
):
    """Every match of a regular expression in a file replaced. changes: {"diff": ...}."""
    from thin.utils.files import edit

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.replace")
    words = not_editable(name)
    if words:
        if ignore_if_missing and "file not found" in words:
            ret["comment"] = "No changes needed to be made"
            return ret
        return failed(ret, words)
    try:
        changes = edit.replace_in_file(
            name,
            pattern,
            repl,
            count,
            flags,
            append_if_not_found,
            prepend_if_not_found,
            not_found_content,
            backup,
            __opts__["test"],
            show_changes,
            ignore_if_missing,
            backslash_literal=backslash_literal,
            encoding=encoding,
        )
    except (CommandExecutionError, SaltInvocationError) as exc:
        return failed(ret, str(exc))
    return edited(ret, changes, "Changes would have been made", __opts__["test"])


def comment(name, regex, char="#", backup=".bak", ignore_missing=False):
    """Lines that match, commented out. changes: {"diff": ...}."""
    import re

    bare = re.sub(r"^(\(\?[iLmsux]\))?\^?(.*?)\$?$", r"\2", regex)
    want, have = r"^(?!\s*%s)\s*" % char + bare, char + bare
    absent = (True, "Pattern not found and ignore_missing set to True") if ignore_missing else (False, "")
    return _commented(name, regex, char, backup, True, want, have, absent, "%s: Pattern not found" % bare)


def uncomment(name, regex, char="#", backup=".bak"):
    """Lines that match, no longer commented out. changes: {"diff": ...}."""
    bare = regex.lstrip("^")
    want, have = "%s[ \t]*%s" % (char, bare), "^[ \t]*%s" % bare
    return _commented(name, regex, char, backup, False, want, have, (False, ""), "%s: Pattern not found" % regex)


def _commented(name, regex, char, backup, cmnt, want, have, absent, missing):
    """``want`` matches a line that is to change, ``have`` one that is as wished."""
    from thin.utils.files import blocks, edit

    word = "comment" if cmnt else "uncomment"
    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.%s" % word)
    words = not_editable(name)
    if words:
        return failed(ret, words)
    try:
        if not edit.search_file(name, want):
            if edit.search_file(name, have):
                ret["comment"] = "Pattern already %sed" % word
                return ret
            ret["result"], ret["comment"] = absent[0], absent[1] or missing
            return ret
        if __opts__["test"]:
            ret["changes"][name] = "updated"
            ret["comment"] = "File %s is set to be updated" % name
            ret["result"] = None
            if detail.on():
                old = edit.read(name)
                detail.diff(name, edit.line_diff(old, blocks.commented(old, regex, char, cmnt)[2]))
            return ret
        old = edit.read(name)
        blocks.comment_line(name, regex, char, cmnt, backup)
        changes = edit.line_diff(old, edit.read(name))
        ret["result"] = edit.search_file(name, have)
    except (CommandExecutionError, SaltInvocationError, OSError) as exc:
        return failed(ret, str(exc))
    if changes:
        ret["changes"]["diff"] = changes
    done = "%sed lines successfully" if ret["result"] else "Expected %sed lines not found"
    ret["comment"] = done % (word.capitalize() if ret["result"] else word)
    return ret


def keyvalue(
    name,
    key=None,
    value=None,
    key_values=None,
    separator="=",
    append_if_not_found=False,
    prepend_if_not_found=False,
    search_only=False,
    show_changes=True,
    ignore_if_missing=False,
    count=1,
    uncomment=None,
    key_ignore_case=False,
    value_ignore_case=False,
    create_if_missing=False,
    prune=False,
):
    """``key = value`` lines of a file. changes: {"diff": ...} with the lines that go and come."""
    from thin.utils.files import edit, keyvalues

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.keyvalue")
    if key is not None and value is not None:
        if isinstance(key_values, dict):
            return failed(ret, "file.keyvalue can not combine key_values with key and value")
        key_values = {str(key): value}
    elif not isinstance(key_values, dict) or not key_values:
        words = "is not a dictionary" if key_values else "is empty"
        return failed(ret, "file.keyvalue key and value not supplied and key_values " + words)
    change = keyvalues.Change(
        key_values,
        separator,
        append_if_not_found,
        prepend_if_not_found,
        count,
        uncomment,
        key_ignore_case,
        value_ignore_case,
        prune,
    )
    size = None
    try:
        change.look(keyvalues.lines_of(name))
        size = os.path.getsize(name)
    except safepath.Refused as exc:
        return failed(ret, str(exc))
    except OSError as exc:
        if not (isinstance(exc, FileNotFoundError) and create_if_missing):
            ret["comment"] = "unable to open %s" % name
            ret["result"] = bool(ignore_if_missing)
            return ret
        change.append, change.prepend = True, False
        change.look(())
    if not change.changed and not change.deleted:
        return ret
    counts, diff = (change.changed, change.deleted), change.diff(size or 0)
    if show_changes:
        ret["changes"]["diff"] = "".join(diff)
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "File %s is set to be changed (%d lines modified, %d deleted)" % ((name,) + counts)
        if show_changes:
            ret["comment"] += "\nPredicted diff:\n\r\t\t" + "\r\t\t".join(diff)
        return ret
    try:
        if size is None:
            from thin.utils.files import atomic, owner

            atomic.write(name, change.pieces(()), mode=owner.mode_bits(owner.default_mode()))
        else:
            edit.commit(name, change.pieces(keyvalues.lines_of(name)), keep_inode=True)
    except (CommandExecutionError, OSError) as exc:
        ret["changes"] = {}
        return failed(ret, str(exc) if isinstance(exc, safepath.Refused) else "%s not writable" % name)
    ret["comment"] = "Changed %d, deleted %d lines" % counts
    return ret


def patch(
    name,
    source=None,
    source_hash=None,
    source_hash_name=None,
    skip_verify=False,
    template=None,
    context=None,
    defaults=None,
    options="",
    reject_file=None,
    strip=None,
    saltenv=None,
    **kwargs,
):
    """A file or a directory with a patch applied. changes: {"diff": the patch, or "orig" and "new" digests}."""
    from thin.utils.files import patches, sources

    ret = state_return(name)
    if not name:
        return failed(ret, "A file/directory to be patched is required")
    name = ret["name"] = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failed(ret, "%s is not an absolute path" % name)
    if not os.path.exists(name):
        return failed(ret, "%s does not exist" % name)
    if reject_file is not None:
        folder = os.path.dirname(reject_file)
        if not os.path.isabs(folder):
            return failed(ret, "'%s' is not an absolute path" % reject_file)
        if not os.path.isdir(folder):
            return failed(
                ret, "Parent directory for reject_file '%s' either does not exist, or is not a directory" % reject_file
            )
    env = saltenv or __env__
    try:
        words, strip = patches.options(options, strip)
        url, url_hash = sources.choose(source, source_hash, env)
        content = None
        if not template or sources.scheme(url) != "salt":
            content = sources.resolve(name, url, url_hash, source_hash_name, env, skip_verify)
        if template:
            sls = __low__.get("__sls__", "")
            content = sources.rendered(url, env, template, context, defaults, chunk_tag(__low__), sls, content)
        return patches.apply(ret, name, content.read(), words, strip, reject_file, __opts__["test"])
    except sources.NoContent as exc:
        return failed(ret, "Unable to manage file: %s" % exc)
    except (CommandExecutionError, OSError) as exc:
        return failed(ret, str(exc))
