"""States that edit what a file says: a part of ``file``. Salt: salt.states.file."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils import safepath
from thin.utils.files.states import accumulated as accumulators
from thin.utils.files.states import chunk_tag, failed, make_way_to, not_editable, state_return, texts

__virtualname__ = "file"
__usual__ = True

log = getLogger(__name__)


def append(
    name,
    text=None,
    makedirs=False,
    source=None,
    source_hash=None,
    template="jinja",
    sources=None,
    source_hashes=None,
    defaults=None,
    context=None,
    ignore_whitespace=True,
    show_changes=True,
):
    """Texts at the end of a file that does not have them yet. changes: {"diff": ...}."""
    from thin.utils.files import diff, edit

    ret, old, chunks = _opened_for_text(
        "append",
        name,
        text,
        makedirs,
        source,
        source_hash,
        template,
        sources,
        source_hashes,
        defaults,
        context,
        diff.LIMIT,
    )
    if old is None:
        return ret
    name = ret["name"]
    if not isinstance(old, bytes):
        lines = [line for chunk in edit.lacking(name, chunks, ignore_whitespace) for line in chunk.splitlines()]
        data = edit.addition(name, lines) if lines else b""
        return _edited_large(ret, name, data, edit.extend, show_changes, "Appended %d lines" % len(lines))
    lines = [line for chunk in chunks if not edit.has(old, chunk, ignore_whitespace) for line in chunk.splitlines()]
    new = edit.add_lines(old, lines) if lines else old
    before, after = diff.text(old).splitlines(), diff.text(new).splitlines()
    return _edited_text(ret, name, old, new, before, after, "\n", show_changes, "Appended %d lines" % len(lines))


def _edited_large(ret, name, data, put, show_changes, done):
    """The return of append and prepend for a file that is not read whole; ``put(name, data)`` writes."""
    from thin.utils.files import diff, large

    if not data:
        ret["comment"] = "File %s is in correct state" % name
        return ret
    try:
        size, binary = os.path.getsize(name), diff.is_binary(large.head(name))
        if not __opts__["test"]:
            put(name, data)
    except (CommandExecutionError, OSError) as exc:
        return failed(ret, str(exc))
    ret["result"] = None if __opts__["test"] else True
    ret["comment"] = "File %s is set to be updated" % name if __opts__["test"] else done
    if binary:
        ret["changes"]["diff"] = "Replace binary file"
    else:
        ret["changes"]["diff"] = diff.TOO_LARGE % (size, size + len(data)) if show_changes else diff.HIDDEN
    return ret


def prepend(
    name,
    text=None,
    makedirs=False,
    source=None,
    source_hash=None,
    template="jinja",
    sources=None,
    source_hashes=None,
    defaults=None,
    context=None,
    header=None,
    show_changes=True,
):
    """Texts at the beginning of a file that does not have them yet (with ``header``: not there yet)."""
    from thin.utils.files import diff, edit

    ret, old, chunks = _opened_for_text(
        "prepend",
        name,
        text,
        makedirs,
        source,
        source_hash,
        template,
        sources,
        source_hashes,
        defaults,
        context,
        diff.LIMIT,
    )
    if old is None:
        return ret
    name = ret["name"]
    if not isinstance(old, bytes):
        return _prepended_to_large(ret, name, chunks, header, show_changes)
    lines = [line for chunk in chunks if header or not edit.has(old, chunk) for line in chunk.splitlines()]
    if header and diff.text(old).splitlines()[: len(lines)] == lines:
        lines = []
    new = edit.preface(old, lines)
    before, after = diff.text(old).splitlines(True), diff.text(new).splitlines(True)
    return _edited_text(ret, name, old, new, before, after, "", show_changes, "Prepended %d lines" % len(lines))


def _prepended_to_large(ret, name, chunks, header, show_changes):
    """The return of prepend for a file that is not read whole."""
    from thin.utils.files import edit

    lines = [line for chunk in (chunks if header else edit.lacking(name, chunks)) for line in chunk.splitlines()]
    if header and edit.begins(name, lines):
        lines = []

    def put(path, data):
        edit.commit(path, edit.prefaced(path, lines), keep_inode=True)

    return _edited_large(ret, name, edit.preface(b"", lines), put, show_changes, "Prepended %d lines" % len(lines))


def _opened_for_text(
    what, name, text, makedirs, source, source_hash, template, sources, source_hashes, defaults, context, limit=None
):
    """(return so far, bytes of the file, texts to put in); the bytes are None when the return is final, and the size
    of a file that has more of them than ``limit``."""
    from thin.utils.files import edit

    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.%s" % what), None, None
    ret["name"] = name = os.path.expanduser(name)
    words = _exclusive(source, source_hash, sources, source_hashes)
    if words:
        return failed(ret, words), None, None
    try:
        if not __opts__["test"] and makedirs is True and not os.path.isdir(os.path.dirname(name)):
            make_way_to(name)
        words = not_editable(name)
        if words:
            touched = __states__["file.touch"](name, makedirs=makedirs)
            if __opts__["test"]:
                return touched, None, None
            if not_editable(name):
                return failed(ret, words), None, None
        if source or sources:
            chunks = _rendered_sources(source, sources, template, defaults, context)
        elif text is None:
            return failed(ret, "No text found to %s. Nothing %sed" % (what, what)), None, None
        else:
            chunks = texts(text)
        size = os.path.getsize(name)
        return ret, edit.read(name) if limit is None or size <= limit else size, chunks
    except (CommandExecutionError, OSError) as exc:
        return failed(ret, str(exc)), None, None


def _rendered_sources(source, sources_, template, defaults, context):
    """The texts of sources, rendered unless ``template`` is empty. Raises CommandExecutionError."""
    from thin.utils.files import sources

    found = []
    for url in [source] if source else list(sources_ or ()):
        try:
            plain = None
            if not template or sources.scheme(url) != "salt":
                plain = sources.resolve(url, url, "", None, __env__, skip_verify=True)
            if template:
                sls = __low__.get("__sls__", "")
                plain = sources.rendered(url, __env__, template, context, defaults, chunk_tag(__low__), sls, plain)
            data = plain.read()
        except sources.NoContent as exc:
            raise CommandExecutionError("Failed to load template file %s: %s" % (url, exc))
        if not data:
            raise CommandExecutionError("Failed to read rendered template file %s" % url)
        found.append(data.decode("utf-8", "surrogateescape"))
    return found


def _exclusive(source, source_hash, sources, source_hashes):
    """Why these cannot go together, or ""."""
    if source and sources:
        return "source and sources are mutually exclusive"
    return "source_hash and source_hashes are mutually exclusive" if source_hash and source_hashes else ""


def _edited_text(ret, name, old, new, before, after, joint, show_changes, done):
    """Write ``new`` (or say that it would be) and fill the return of append and prepend."""
    from thin.utils.files import diff, edit

    if old == new:
        ret["comment"] = "File %s is in correct state" % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "File %s is set to be updated" % name
    else:
        try:
            edit.commit(name, new, keep_inode=True)
        except CommandExecutionError as exc:
            return failed(ret, str(exc))
        ret["comment"] = done
    if before != after:
        if diff.is_binary(old[:512]):
            ret["changes"]["diff"] = "Replace binary file"
        elif not show_changes:
            ret["changes"]["diff"] = diff.HIDDEN
        else:
            ret["changes"]["diff"] = diff.of_lines(before, after, joint)
    return ret


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
    return _edited(ret, changes, "Changes would be made")


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
    return _edited(ret, changes, "Changes would have been made")


def _edited(ret, changes, predicted):
    if not changes:
        ret["comment"] = "No changes needed to be made"
        return ret
    ret["changes"]["diff"] = changes
    ret["result"] = None if __opts__["test"] else True
    ret["comment"] = predicted if __opts__["test"] else "Changes were made"
    return ret


def blockreplace(
    name,
    marker_start="#-- start managed zone --",
    marker_end="#-- end managed zone --",
    source=None,
    source_hash=None,
    template="jinja",
    sources=None,
    source_hashes=None,
    defaults=None,
    context=None,
    content="",
    append_if_not_found=False,
    prepend_if_not_found=False,
    backup=".bak",
    show_changes=True,
    append_newline=None,
    insert_before_match=None,
    insert_after_match=None,
):
    """What stands between two marker lines: ``content``, what accumulators were charged with, and rendered sources."""
    from thin.utils.files import blocks

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.blockreplace")
    words = _exclusive(source, source_hash, sources, source_hashes) or not_editable(name)
    if words:
        return failed(ret, words)
    charged, owners = (kind.get(name, {}) for kind in accumulators(__context__, __instance_id__))
    mine = [key for key in owners if __low__.get("__id__") in owners[key] and key in charged]
    lines = [str(line) for key in mine or charged for line in charged[key]]
    content = "\n".join(([content] if content != "" else []) + lines)
    try:
        if source or sources:
            content += "".join(_rendered_sources(source, sources, template, defaults, context))
        changes = blocks.replace_in_file(
            name,
            marker_start,
            marker_end,
            content,
            append_if_not_found,
            prepend_if_not_found,
            backup,
            __opts__["test"],
            show_changes,
            append_newline,
            insert_before_match,
            insert_after_match,
        )
    except (CommandExecutionError, SaltInvocationError, OSError) as exc:
        return failed(ret, "Encountered error managing block: %s. See the log for details." % exc)
    return _edited(ret, changes, "Changes would be made")


def accumulated(name, filename, text, **kwargs):
    """Charge an accumulator with texts for the file that a required file state manages; changes nothing by itself."""
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.accumulated")
    if text is None:
        return failed(ret, "No text supplied for accumulator")
    waiting = list(__low__.get("require_in", [])) + list(__low__.get("watch_in", []))
    if not any("file" in requisite for requisite in waiting):
        return failed(ret, "Orphaned accumulator %s in %s:%s" % (name, __low__["__sls__"], __low__["__id__"]))
    charged, owners = accumulators(__context__, __instance_id__)
    ids = owners.setdefault(filename, {}).setdefault(name, [])
    for requisite in waiting:
        ids.extend(requisite.values() if isinstance(requisite, dict) else [requisite])
    chunks = charged.setdefault(filename, {}).setdefault(name, [])
    for chunk in [text] if isinstance(text, (str, dict)) else text:
        if chunk not in chunks:
            chunks.append(chunk)
            ret["comment"] = "Accumulator %s for file %s was charged by text" % (name, filename)
    return ret


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
    try:
        old = edit.read(name)
    except safepath.Refused as exc:
        return failed(ret, str(exc))
    except OSError as exc:
        if not (isinstance(exc, FileNotFoundError) and create_if_missing):
            ret["comment"] = "unable to open %s" % name
            ret["result"] = bool(ignore_if_missing)
            return ret
        old, append_if_not_found = None, True
    lines = (old or b"").decode("utf-8", "surrogateescape").splitlines(True)
    lines, diff, changed, deleted = keyvalues.edit(
        lines,
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
    if not changed and not deleted:
        return ret
    if show_changes:
        ret["changes"]["diff"] = "".join(diff)
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "File %s is set to be changed (%d lines modified, %d deleted)" % (name, changed, deleted)
        if show_changes:
            ret["comment"] += "\nPredicted diff:\n\r\t\t" + "\r\t\t".join(diff)
        return ret
    data = "".join(lines).encode("utf-8", "surrogateescape")
    try:
        if old is None:
            from thin.utils.files import atomic, owner

            atomic.write(name, data, mode=owner.mode_bits(owner.default_mode()))
        else:
            edit.commit(name, data, keep_inode=True)
    except (CommandExecutionError, OSError) as exc:
        ret["changes"] = {}
        return failed(ret, str(exc) if isinstance(exc, safepath.Refused) else "%s not writable" % name)
    ret["comment"] = "Changed %d, deleted %d lines" % (changed, deleted)
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
