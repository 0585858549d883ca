"""Images and containers as archives. Salt (until 3007): ``salt/modules/dockermod.py``."""

import os
import re
import time

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.archives import unpacking
from thin.utils.files import safepath
from thin.utils.formats import dockerwords

__virtualname__ = "docker"

__func_alias__ = {"import_": "import"}
__changes__ = ("import", "load", "save", "export")


def __virtual__():
    if process.which("docker") or process.which("podman"):
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def _cli(*words, **options):
    return __salt__["docker.cli"](*words, **options)


def import_(source, repository, tag="latest", api_response=False):
    """
    Create an image from an archive of a file system (``salt://`` too); returns ``{Id, Image, Time_Elapsed}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.import /srv/images/app-root.tar.xz registry.example.org/app base
    """
    began, image = time.time(), "%s:%s" % (repository, tag)
    identity = _cli("import", _cached(source), image).split()[-1]
    return {"Id": identity.replace("sha256:", "")[:12], "Image": image, "Time_Elapsed": time.time() - began}


def load(path, repository=None, tag=None):
    """
    Load images that ``docker.save`` wrote (also ``salt://``); returns ``{Path, Layers, Time_Elapsed, Image}``

    repository, tag
        A name for the one image.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.load /srv/images/app.tar repository=registry.example.org/app tag=2.1
    """
    if (repository or tag) and not (repository and tag):
        raise SaltInvocationError("If tagging, both a repository and tag are required")
    began, before = time.time(), set(__salt__["docker.images"](all=True))
    archive = _cached(path)
    plain = _unpacked(archive)
    try:
        out = _cli("load", "--input=%s" % plain)
    finally:
        if plain != archive:
            safepath.unlink(plain)
    new = sorted(set(__salt__["docker.images"](all=True)) - before)
    ret = {"Path": path, "Layers": new, "Time_Elapsed": time.time() - began}
    if repository and tag:
        loaded = re.findall(r"Loaded image(?: ID)?(?:\(s\))?: (\S+)", out)
        if not (loaded or new):
            ret["Warning"] = "No image layers were loaded, cannot tag"
            return ret
        __salt__["docker.tag"]((loaded or new)[0], repository, tag)
        ret["Image"] = "%s:%s" % (repository, tag)
    return ret


def save(name, path, overwrite=False, makedirs=False, compression=None, **kwargs):
    """
    Write an image into an archive; returns ``{Path, Size, Size_Human, Time_Elapsed}``

    overwrite
        Replace an existing file.
    makedirs
        Create its folder.
    compression
        gzip, bzip2 or xz; determined from the name by default.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.save registry.example.org/app:2.1 /srv/images/app.tar
    """
    return _archived(["save", "-o"], name, path, overwrite, makedirs, compression)


def export(name, path, overwrite=False, makedirs=False, compression=None, **kwargs):
    """
    Write a container's files into an archive; returns ``{Path, Size, Size_Human, Time_Elapsed}``

    overwrite, makedirs, compression
        As ``docker.save``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.export web /srv/images/web-root.tar
    """
    return _archived(["export", "-o"], name, path, overwrite, makedirs, compression)


def _cached(source):
    path = __salt__["cp.cache_file"](source) if "://" in source else source
    if not path or not os.path.isfile(path):
        raise CommandExecutionError("Source file '%s' does not exist" % source)
    return path


_PACKERS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


def _unpacked(path):
    """The archive, or an uncompressed copy for podman, which reads no other."""
    with open(path, "rb") as source:
        start = source.read(6)
    packer = next((name for magic, name in _PACKERS.items() if start.startswith(magic)), None)
    if not packer:
        return path
    target = os.path.join(__opts__["cachedir"], "docker-load-%d.tar" % os.getpid())
    command = ["/bin/sh", "-c", '%s -dc "$1" > "$2"' % packer, "sh", path, target]
    done = __salt__["cmd.run_all"](command, python_shell=False)
    if done["retcode"]:
        raise CommandExecutionError("%s cannot be unpacked: %s" % (path, done["stderr"]))
    return target


def _archived(words, name, path, overwrite, makedirs, compression):
    began = time.time()
    if os.path.exists(path) and not overwrite:
        raise CommandExecutionError("%s already exists" % path)
    kinds = {"gz": "gzip", "gzip": "gzip", "bz2": "bzip2", "bzip2": "bzip2", "xz": "xz", "lzma": "xz"}
    if compression and compression not in kinds:
        raise SaltInvocationError("Invalid compression type '%s'" % compression)
    ending = path.rpartition(".")[2]
    packer = kinds.get(compression or {"tgz": "gz", "txz": "xz", "tbz2": "bz2"}.get(ending, ending))
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        if not makedirs:
            raise CommandExecutionError("Parent directory '%s' does not exist" % folder)
        safepath.makedirs(folder)
    made = os.path.basename(path)
    with unpacking.Stage(folder or ".") as stage:
        plain = os.path.join(stage.name, made)
        _cli(*(words + [plain, name]), cwd=stage.folder)
        if packer:
            done = __salt__["cmd.run_all"]([packer, "-f", plain], python_shell=False, cwd=stage.folder)
            if done["retcode"]:
                raise CommandExecutionError("%s failed: %s" % (packer, done["stderr"]))
            ending = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz"}[packer]
            os.rename(made + ending, made, src_dir_fd=stage.tree, dst_dir_fd=stage.tree)
        stage.place()
    size = os.path.getsize(path)
    return {"Path": path, "Size": size, "Size_Human": dockerwords.human(size), "Time_Elapsed": time.time() - began}
