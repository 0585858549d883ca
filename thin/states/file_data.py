"""States for files with serialized or encoded data: a part of ``file``. Salt: salt.states.file."""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import owner
from thin.utils.files.arguments import cachedir
from thin.utils.files.states import failed, state_return

__virtualname__ = "file"
__usual__ = True


def serialize(
    name,
    dataset=None,
    dataset_pillar=None,
    user=None,
    group=None,
    mode=None,
    backup="",
    makedirs=False,
    show_changes=True,
    create=True,
    merge_if_exists=False,
    encoding=None,
    encoding_errors="strict",
    serializer=None,
    serializer_opts=None,
    deserializer_opts=None,
    check_cmd=None,
    tmp_dir=None,
    tmp_ext="",
    **kwargs,
):
    """A file with data written down as yaml, json, configparser, toml, plist, python … changes: as of file.managed.

    With ``merge_if_exists``, data are merged over those of the file, and the diff is that of the data.
    """
    from thin.utils.files import data

    name = os.path.expanduser(name)
    ret = state_return(name)
    if not name:
        return failed(ret, "Must provide name to file.serialize")
    if not create and not os.path.isfile(name):
        ret["comment"] = "File %s is not present and is not set for creation" % name
        return ret
    formatter = kwargs.pop("formatter", None)
    if serializer and formatter:
        return failed(ret, "Only one of serializer and formatter are allowed")
    kind = str(serializer or formatter or "yaml").lower()
    if dataset and dataset_pillar:
        return failed(ret, "Only one of 'dataset' and 'dataset_pillar' is permitted")
    if dataset_pillar:
        dataset = __salt__["pillar.get"](dataset_pillar, unmask=True)
    if dataset is None:
        return failed(ret, "Neither 'dataset' nor 'dataset_pillar' was defined")
    old = None
    try:
        if merge_if_exists and os.path.isfile(name):
            old = data.loads(kind, name, data.flat(deserializer_opts))
            if old is not None:
                dataset = data.merged(old, dataset)
                if dataset == old:
                    ret["comment"] = "The file %s is in the correct state" % name
                    return ret
        elif deserializer_opts:
            ret.setdefault("warnings", []).append(
                "The 'deserializer_opts' option is ignored unless merge_if_exists is set to True."
            )
        contents = data.dumps(kind, dataset, data.flat(serializer_opts), encoding)
    except CommandExecutionError as exc:
        return failed(ret, str(exc))
    contents = contents + "\n" if isinstance(contents, str) else contents
    managed = _manage_data(
        ret,
        name,
        contents,
        encoding,
        encoding_errors,
        check_cmd,
        tmp_dir,
        tmp_ext,
        {
            "user": user,
            "group": group,
            "mode": mode,
            "backup": backup,
            "makedirs": makedirs,
            "show_changes": show_changes,
        },
    )
    if isinstance(old, dict) and isinstance(dataset, dict) and "diff" in managed["changes"]:
        managed["changes"]["diff"] = data.difference(old, dataset)
    return managed


def _manage_data(ret, name, contents, encoding, encoding_errors, check_cmd, tmp_dir, tmp_ext, wishes):
    from thin.utils.files import content, managed

    words = owner.missing_owners(wishes["user"], wishes["group"])
    if words and not __opts__["test"]:
        return failed(ret, words)
    wishes["mode"] = owner.normalize_mode(wishes["mode"])
    desired = managed.Desired(
        cachedir=cachedir(__opts__), obfuscate=__opts__.get("obfuscate_templates", False), **wishes
    )
    desired.backup = desired.backup or __opts__.get("backup_mode", "")
    try:
        if isinstance(contents, str):
            contents = contents.encode(encoding or "utf-8", encoding_errors if encoding else "surrogateescape")
        wanted = content.Data(contents)
        if __opts__["test"]:
            ret["changes"] = managed.predict(name, wanted, desired)[0]
            ret["result"] = None if ret["changes"] else True
            ret["comment"] = (
                "Dataset will be serialized and stored into %s"
                if ret["changes"]
                else "The file %s is in the correct state"
            ) % name
            return ret
        if check_cmd and not (os.path.isfile(name) and content.same(wanted, name)):
            failure = managed.check_command(
                check_cmd, wanted, desired, __salt__["cmd.run_all"], __grains__.get("shell"), tmp_dir, tmp_ext
            )
            if failure:
                ret.update(failure)
                return ret
        return managed.manage(name, wanted, desired, ret)
    except (CommandExecutionError, OSError, LookupError, UnicodeError) as exc:
        ret["changes"] = {}
        return failed(ret, str(exc) if isinstance(exc, content.Failed) else "Unable to manage file: %s" % exc)


def decode(name, encoded_data=None, contents_pillar=None, encoding_type="base64", checksum="md5"):
    """A file with decoded base64 data. changes: {"old", "new"} digests."""
    import base64
    import binascii

    from thin.utils.files import atomic, hashes, safepath

    ret = state_return(name)
    if not (encoded_data or contents_pillar):
        raise CommandExecutionError("Specify either the 'encoded_data' or 'contents_pillar' argument.")
    if encoded_data and contents_pillar:
        raise CommandExecutionError("Specify only one 'encoded_data' or 'contents_pillar' argument.")
    text = encoded_data or __salt__["pillar.get"](contents_pillar, False, unmask=True)
    if text is False:
        raise CommandExecutionError("Pillar data not found.")
    try:
        new = base64.b64decode(text)
    except (binascii.Error, ValueError) as exc:
        return failed(ret, "The data is no base64: %s" % exc)
    exists = os.path.isfile(name)
    digests = {"old": hashes.file_hash(name, checksum) if exists else None, "new": hashes.data_hash(new, checksum)}
    if digests["old"] == digests["new"]:
        ret["comment"] = "File is in the correct state."
        return ret
    if __opts__["test"]:
        ret["changes"] = digests if exists else {}
        ret["result"] = None
        ret["comment"] = "File is set to be updated."
        return ret
    try:
        atomic.write(safepath.real(name), new, mode=None if exists else owner.mode_bits(owner.default_mode()))
    except OSError as exc:
        return failed(ret, "Cannot write %s: %s" % (name, exc.strerror))
    ret["changes"] = digests
    ret["comment"] = "File was updated."
    return ret
