"""Images of containers and their registries, through the command docker.

Images as archives are in docker_archives.py. Salt (until 3007): ``salt/modules/dockermod.py``.
"""

import os
import re
import time

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import serial
from thin.utils.formats import dockerwords

__virtualname__ = "docker"

__func_alias__ = {"tag_": "tag"}
__reads__ = (
    "images",
    "inspect_image",
    "list_tags",
    "resolve_image_id",
    "resolve_tag",
    "history",
    "layers",
    "depends",
    "search",
)
__reads_unless__ = {"dangling": {"prune": ()}}
__changes__ = ("pull", "push", "rmi", "tag", "build", "commit", "login", "logout")


def __virtual__():
    if process.which("docker") or process.which("podman"):
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def images(verbose=False, **kwargs):
    """
    Return ``{id: {RepoTags, Labels, Size, Size_Human, Time_Created_Epoch, Time_Created_Local ...}}`` of the images

    verbose
        Add the output of ``docker inspect`` as ``Info``.
    all
        Include images without a name.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.images
    """
    ids = _cli("images", "-q", "--no-trunc", *(["-a"] if kwargs.get("all") else [])).split()
    images = {}
    for about in serial.loads(_cli("image", "inspect", *sorted(set(ids)))) if ids else []:
        if not about.get("RepoTags") and not kwargs.get("all"):
            continue
        config = about.get("Config") or {}
        entry = {"RepoTags": about.get("RepoTags") or None, "RepoDigests": about.get("RepoDigests") or None}
        entry.update(ParentId=about.get("Parent", ""), Labels=about.get("Labels") or config.get("Labels"))
        entry.update(_sizes(about), **dockerwords.made(about.get("Created")))
        entry.update({"Info": about} if verbose else {})
        images[about["Id"]] = entry
    return images


def inspect_image(name):
    """
    Return all about an image

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.inspect_image nginx:1.27
    """
    about = serial.loads(_cli("image", "inspect", name))[0]
    return dict(about, **_sizes(about))


def _sizes(about):
    sizes = {}
    for key in ("Size", "VirtualSize"):
        if about.get(key) is not None:
            sizes.update({key: about[key], key + "_Human": dockerwords.human(about[key])})
    return sizes


def list_tags():
    """
    Return the sorted names of the images, with their tags

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.list_tags
    """
    lines = _cli("images", "--format", "{{.Repository}}:{{.Tag}}").split()
    return sorted({line for line in lines if "<none>" not in line})


def resolve_image_id(name):
    """
    Return an image's id, or False

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.resolve_image_id nginx:1.27
    """
    try:
        return inspect_image(name)["Id"]
    except CommandExecutionError as exc:
        if "404" in str(exc):
            return False
        raise


def resolve_tag(name, **kwargs):
    """
    Return an image's name with its tag, or False; ``all``: all its names. The result for an image without a name is its
    id

    tags
        Names to choose from.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.resolve_tag nginx
    """
    wanted = dockerwords.full_name(name)
    tags = kwargs.get("tags")
    if tags is not None:
        return wanted if wanted in tags else False
    try:
        about = inspect_image(name)
    except CommandExecutionError as exc:
        if "404" in str(exc):
            return False
        raise
    names = about.get("RepoTags") or [about["Id"]]
    if kwargs.get("all"):
        return names
    fitting = [each for each in names if each == wanted or each.endswith("/" + wanted)]
    return (fitting or names)[0]


def history(name, quiet=False):
    """
    Return ``[{Id, Command, Comment, Size, Size_Human, Time_Created_Epoch ...}]`` of the steps that made an image

    The oldest comes first.

    quiet
        Return only the commands.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.history nginx:1.27
    """
    form = "{{.ID}}\t{{.Size}}\t{{.CreatedAt}}\t{{.Comment}}\t{{.CreatedBy}}"
    steps = []
    for line in reversed(_cli("history", "--no-trunc", "--human=false", "--format", form, name).splitlines()):
        identity, size, created, comment, command = (line.split("\t", 4) + [""] * 4)[:5]
        command = re.sub(r"^/bin/sh -c (#\(nop\) )?", "", command).strip() or "FROM scratch"
        step = {"Id": identity, "Command": command, "Comment": comment}
        if size.isdigit():
            step.update(Size=int(size), Size_Human=dockerwords.human(size))
        step.update(dockerwords.made(created))
        steps.append(step)
    return [step["Command"] for step in steps] if quiet else steps


def layers(name):
    """
    Return the ids of an image's layers, the topmost last; ``<missing>`` for a layer without a local image

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.layers nginx:1.27
    """
    return _cli("history", "-q", name).split()[::-1]


def depends(name):
    """
    Return ``{"Containers", "Images"}``: names of those that depend on an image

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.depends registry.example.org/app:2.1
    """
    containers = _cli("ps", "-a", "--filter=ancestor=%s" % name, "--format", "{{.Names}}").split()
    one = inspect_image(name)
    above, own = one.get("RootFS", {}).get("Layers", []), one["Id"]
    made = []
    for identity, about in images(verbose=True, all=True).items():
        own_layers = about["Info"].get("RootFS", {}).get("Layers", [])
        if identity != own and len(own_layers) > len(above) and own_layers[: len(above)] == above:
            made.append((about.get("RepoTags") or [identity])[0])
    return {"Containers": sorted(containers), "Images": sorted(made)}


def dangling(prune=False, force=False):
    """
    Return the ids of images without a name; with ``prune`` remove them and return for each whether it worked

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.dangling prune=True
    """
    ids = sorted(set(_cli("images", "-q", "--no-trunc", "--filter=dangling=true").split()))
    ids = [each.replace("sha256:", "")[:12] for each in ids]
    if not prune:
        return ids
    result = {}
    for each in ids:
        try:
            result.setdefault(each, {})["Removed"] = bool(rmi(each, force=force))
        except CommandExecutionError as exc:
            result.setdefault(each, {}).update(Removed=False, Comment=str(exc))
    return result


def search(name, official=False, trusted=False):
    """
    Return ``{image: {Description, Official, Stars}}`` from a registry

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.search postgres
    """
    form = "{{.Name}}\t{{.Description}}\t{{.StarCount}}\t{{.IsOfficial}}"
    result = {}
    for line in _cli("search", "--no-trunc", "--format", form, name).splitlines():
        title, text, stars, by_them = (line.split("\t") + [""] * 4)[:4]
        good = by_them.strip() in ("true", "[OK]")
        if not official or good:
            result[title] = {"Description": text, "Stars": int(stars or 0), "Official": good, "Trusted": False}
    return result


def pull(image, insecure_registry=False, api_response=False, client_timeout=60):
    """
    Fetch an image; returns ``{Layers: {Pulled, Already_Pulled}, Status, Time_Elapsed}``

    insecure_registry
        The registry may have no certificate (podman; docker has that in its daemon's configuration).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.pull nginx:1.27
    """
    began, before = time.time(), resolve_image_id(image)
    words = ["--tls-verify=false"] if insecure_registry and "podman" in _cli("--version").lower() else []
    out = _cli("pull", *([*words, dockerwords.full_name(image)]))
    pulled = re.findall(r"^(\w+): Pull complete", out, re.M)
    already = re.findall(r"^(\w+): Already exists", out, re.M)
    after = resolve_image_id(image)
    if not pulled and after:
        (already if after == before else pulled).append(after.replace("sha256:", "")[:12])
    result = {"Pulled": pulled, "Already_Pulled": already}
    status = re.search(r"^Status: (.*)", out, re.M)
    ret = {"Layers": {key: value for key, value in result.items() if value}, "Time_Elapsed": time.time() - began}
    now = "Image is up to date" if after == before else "Downloaded newer image"
    return dict(ret, Status=status.group(1) if status else now)


def push(image, insecure_registry=False, api_response=False, client_timeout=60):
    """
    Send an image to its registry; returns ``{Layers: {Pushed, Already_Pushed}, Time_Elapsed}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.push registry.example.org/app
    """
    began = time.time()
    words = ["--tls-verify=false"] if insecure_registry and "podman" in _cli("--version").lower() else []
    out = _cli("push", *([*words, dockerwords.full_name(image)]))
    result = {
        "Pushed": re.findall(r"^(\w+): Pushed", out, re.M),
        "Already_Pushed": re.findall(r"^(\w+): Layer already exists", out, re.M),
    }
    return {"Layers": {key: value for key, value in result.items() if value}, "Time_Elapsed": time.time() - began}


def rmi(*names, **kwargs):
    """
    Remove images; returns ``{"Layers": ids, "Tags": names, "retcode"}`` of the removed ones, and ``Errors``

    force
        Even if containers use them.
    prune
        Also remove parent images that nothing else uses (the default).

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.rmi nginx:1.25 force=True
    """
    before, tags = set(images(all=True)), set(list_tags())
    words = (["--force"] if kwargs.get("force") else []) + ([] if kwargs.get("prune", True) else ["--no-prune"])
    errors = []
    for name in names:
        try:
            _cli("rmi", *([*words, name]))
        except CommandExecutionError as exc:
            errors.append(str(exc))
    ret = {"Layers": sorted(before - set(images(all=True))), "Tags": sorted(tags - set(list_tags())), "retcode": 0}
    return dict(ret, Errors=errors, retcode=1) if errors else ret


def tag_(name, repository, tag="latest", force=False):
    """
    Give an image one more name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.tag nginx:1.27 registry.example.org/nginx stable
    """
    _cli("tag", name, "%s:%s" % (repository, tag))
    return True


def build(
    path=None,
    repository=None,
    tag=None,
    cache=True,
    rm=True,
    api_response=False,
    fileobj=None,
    dockerfile=None,
    buildargs=None,
):
    """
    Make an image of a folder that has a Dockerfile; returns ``{Id, Image, Time_Elapsed}``

    path
        The folder, or a URL that docker accepts.
    repository, tag
        The image's name.
    cache
        Use the cache of earlier builds.
    rm
        Remove intermediate containers.
    dockerfile
        The file in the folder.
    buildargs
        ``{argument: value}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.build /srv/app/image repository=registry.example.org/app tag=2.1
    """
    began = time.time()
    name = "%s:%s" % (repository, tag or "latest") if repository else None
    words = (["--tag=%s" % name] if name else []) + ([] if cache else ["--no-cache"])
    words += ["--rm=%s" % ("true" if rm else "false")]
    if dockerfile:
        words.append("--file=%s" % (os.path.join(path, dockerfile) if os.path.isdir(str(path)) else dockerfile))
    words += ["--build-arg=%s" % each for each in dockerwords.listed(buildargs or {})]
    if fileobj is not None:
        out = _cli("build", *([*words, "-"]), stdin=fileobj)
    elif path:
        out = _cli("build", *([*words, path]))
    else:
        raise SaltInvocationError("Either path or fileobj needs to be provided")
    identity = inspect_image(name)["Id"] if name else out.split()[-1]
    result = {"Id": identity.replace("sha256:", "")[:12], "Time_Elapsed": time.time() - began}
    return dict(result, Image=inspect_image(identity).get("RepoTags") or [name]) if name else result


def commit(name, repository, tag="latest", message=None, author=None):
    """
    Create an image from a container; returns ``{Id, Image, Time_Elapsed}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.commit web registry.example.org/app 2.1
    """
    began, image = time.time(), "%s:%s" % (repository, tag)
    words = (["--message=%s" % message] if message else []) + (["--author=%s" % author] if author else [])
    identity = _cli("commit", *([*words, name, image])).split()[-1]
    return {"Id": identity.replace("sha256:", "")[:12], "Image": image, "Time_Elapsed": time.time() - began}


def login(*registries):
    """
    Log in to the registries of the pillar ``docker-registries: {address: {username, password}}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.login registry.example.org
    """
    registries_given = {}
    for name in __pillar__:
        if str(name).endswith("docker-registries") and isinstance(__pillar__[name], dict):
            registries_given.update(__pillar__[name])
    ret, results = {}, {}
    for registry in registries or sorted(registries_given):
        about = registries_given.get(registry)
        if not about or "username" not in about or "password" not in about:
            ret.setdefault("Errors", []).append("Match not found for '%s'" % registry)
            continue
        words = ["--username=%s" % about["username"], "--password-stdin"]
        words += [] if str(registry).lower() == "hub" else [registry]
        done = __salt__["docker.everything"]("login", *words, stdin=str(about["password"]))
        results[registry] = done["retcode"] == 0
        if done["retcode"]:
            ret.setdefault("Errors", []).append(done["stderr"] or done["stdout"])
    return dict(ret, Results=results)


def logout(*registries):
    """
    Log out of registries

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.logout registry.example.org
    """
    results = {}
    for registry in registries:
        words = [] if str(registry).lower() == "hub" else [registry]
        results[registry] = __salt__["docker.everything"]("logout", *words)["retcode"] == 0
    return {"Results": results}


def _cli(*words, **options):
    return __salt__["docker.cli"](*words, **options)
