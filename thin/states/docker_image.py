"""Images of containers. Salt (until 3007): ``salt/states/docker_image.py``."""

from thin.exceptions import CommandExecutionError, SaltException

__any_arguments__ = True  # arguments are data or options of a program: none is reported as misspelt


def __virtual__():
    return True if "docker.version" in __salt__ else (False, "docker module could not be loaded")


def present(
    name,
    tag=None,
    build=None,
    load=None,
    force=False,
    insecure_registry=False,
    client_timeout=60,
    dockerfile=None,
    sls=None,
    base="opensuse/python",
    saltenv="base",
    pillarenv=None,
    pillar=None,
    **kwargs,
):
    """
    The image exists; a missing one is pulled, built or loaded.

    name
        The image, with its tag unless that is given as ``tag``.
    tag
        Its tag; needed with the next two.
    build
        Build it from this folder with a Dockerfile.
    load
        Load it from this archive (``salt://`` too) of ``docker.save``.
    force
        Do that even if there is such an image.
    insecure_registry
        Its registry may have no certificate.
    client_timeout
        Without effect.
    dockerfile
        With ``build``: the file's name.
    kwargs
        With ``build``: ``kwargs: {cache, rm, buildargs}``.
    sls, base, saltenv, pillarenv, pillar
        Images made by states are not supported.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    name, tag = str(name), None if tag is None else str(tag)
    if sum(each is not None for each in (build, load, sls)) > 1:
        return dict(ret, comment="Only one of 'build', 'load', or 'sls' is permitted.")
    if sls is not None:
        return dict(ret, comment="An image cannot be made by states here: 'sls' is not supported")
    if (build or load) and not tag:
        words = "The 'tag' argument is required if any one of 'build', 'load', or 'sls' is used."
        return dict(ret, comment=words)
    image = "%s:%s" % (name, tag) if tag else name
    action = "built" if build else "loaded" if load else "pulled"
    try:
        before = _inspected(image)
        if before is not None and not force:
            return dict(ret, result=True, comment="Image %s already present" % image)
        if __opts__["test"]:
            return dict(ret, result=None, comment="Image %s will be %s" % (image, action))
        if build:
            more = {key: kwargs.get("kwargs", kwargs).get(key) for key in ("cache", "rm", "buildargs")}
            more = {key: value for key, value in more.items() if value is not None}
            done = __salt__["docker.build"](path=build, repository=name, tag=tag, dockerfile=dockerfile, **more)
        elif load:
            done = __salt__["docker.load"](path=load, repository=name, tag=tag)
        else:
            done = __salt__["docker.pull"](image, insecure_registry=insecure_registry)
        after = _inspected(image)
    except SaltException as exc:
        verb = {"built": "building", "loaded": "loading", "pulled": "pulling"}[action]
        return dict(ret, comment="Encountered error %s %s: %s" % (verb, image, exc))
    if after is None:
        return dict(ret, comment="Image '%s' is not there after it was %s" % (image, action))
    if before is not None and before["Id"] == after["Id"]:
        return dict(ret, result=True, comment="Image '%s' was %s, but there were no changes" % (image, action))
    return dict(ret, result=True, changes=done, comment="Image '%s' was %s" % (image, action))


def absent(name=None, images=None, force=False):
    """
    The image does not exist.

    name
        The image; ``latest`` without a tag.
    images
        A list of images, in place of ``name``.
    force
        Even if containers use it.
    """
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    if not name and not images:
        return dict(ret, comment="One of 'name' and 'images' must be provided")
    wanted = [name] if images is None else images
    try:
        tags = [tag for tag in map(__salt__["docker.resolve_tag"], wanted) if tag is not False]
        if not tags:
            words = "Image %s is not present" % name if len(wanted) == 1 else "All specified images are not present"
            return dict(ret, result=True, comment=words)
        if __opts__["test"]:
            return dict(ret, result=None, comment=_about_tags(tags, "Image %s will be removed", "will be removed"))
        done = __salt__["docker.rmi"](*tags, force=force)
        left = [tag for tag in tags if tag in __salt__["docker.list_tags"]()]
    except CommandExecutionError as exc:
        return dict(ret, comment=str(exc))
    problems = ". The following errors were encountered: " + "; ".join(done["Errors"]) if "Errors" in done else ""
    if left == tags:
        return dict(ret, comment="None of the specified images were removed" + problems)
    if left:
        words = "The following image(s) failed to be removed: %s" % ", ".join(left)
        return dict(ret, changes=done, comment=words + problems)
    return dict(ret, result=True, changes=done, comment=_about_tags(tags, "Image %s was removed", "were removed"))


def mod_watch(name, sfun=None, **kwargs):
    """A watched state changed: the image is pulled, built or loaded again."""
    if sfun == "present":
        return present(name, **dict(kwargs, force=True))
    words = "watch requisite is not implemented for %s" % sfun
    return {"name": name, "changes": {}, "result": False, "comment": words}


def _inspected(image):
    try:
        return __salt__["docker.inspect_image"](image)
    except CommandExecutionError as exc:
        if "404" in str(exc):
            return None
        raise


def _about_tags(tags, one, many):
    return one % tags[0] if len(tags) == 1 else "The following images %s: %s" % (many, ", ".join(tags))
