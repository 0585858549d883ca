"""States that insert texts, given or rendered from sources, into a file: at its end, at its beginning, or between
markers.

A part of ``file``; ``accumulated`` collects such texts. Salt: salt.states.file.
"""

import os

from thin import detail
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files.states import accumulated as accumulators
from thin.utils.files.states import chunk_tag, edited, failed, make_way_to, not_editable, state_return, texts

__virtualname__ = "file"
__usual__ = True


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
    """The return of append and prepend for a file that is too large to be read whole; ``put(name, data)`` writes."""
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
    """The return of prepend for a file that is too large to be read whole."""
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
    """(return so far, bytes of the file, texts to insert). The bytes are None if the return is final, and the size of
    the file if that is more than ``limit``."""
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
            if __opts__["test"] and (touched["result"] is False or not detail.on()):
                return touched, None, None
            if not __opts__["test"] and not_editable(name):
                return failed(ret, words), None, None
        if source or sources:
            chunks = _rendered_sources(source, sources, template, defaults, context)
        elif text is None:
            return failed(ret, "No text found to %s. Nothing %sed" % (what, what)), None, None
        else:
            chunks = texts(text)
        if words and __opts__["test"]:  # a plan needs the future content
            return touched, b"", chunks
        size = os.path.getsize(name)
        return ret, edit.read(name) if limit is None or size <= limit else size, chunks
    except (CommandExecutionError, OSError) as exc:
        return failed(ret, str(exc)), None, None


def _rendered_sources(source, sources_, template, defaults, context):
    """The texts of sources, rendered unless ``template`` is empty. Raises CommandExecutionError."""
    from thin.utils.files import sources

    rendered_sources = []
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
        rendered_sources.append(data.decode("utf-8", "surrogateescape"))
    return rendered_sources


def _exclusive(source, source_hash, sources, source_hashes):
    """The error for arguments that exclude each other, or ""."""
    if source and sources:
        return "source and sources are mutually exclusive"
    return "source_hash and source_hashes are mutually exclusive" if source_hash and source_hashes else ""


def _edited_text(ret, name, old, new, before, after, joint, show_changes, done):
    """Write ``new``, or predict this in a dry run, and fill the return of append and prepend."""
    from thin.utils.files import diff, edit

    if old == new:
        ret["comment"] = "File %s is in correct state" % name
        return ret
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "File %s is set to be updated" % name
    else:
        try:
            if new.startswith(old) and os.path.exists(name):
                edit.extend(name, new[len(old) :])  # lines which another process adds meanwhile are not lost
            else:
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
    """The text between two marker lines: ``content``, texts of accumulators, and rendered sources."""
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
    return edited(ret, changes, "Changes would be made", __opts__["test"])


def accumulated(name, filename, text, **kwargs):
    """Add texts to an accumulator for the file that a required file state manages; this changes no file."""
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
