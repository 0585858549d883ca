"""Helpers of slsutil that need the file server or a serializer, for modules that run on a target. Salt:
modules/slsutil.py

For templates and command lines, the controller runs them. For a target, the controller runs only the renderers Jinja,
YAML and JSON.
"""

from thin.exceptions import CommandExecutionError, SaltInvocationError, SaltRenderError

__virtualname__ = "slsutil"
__reads__ = ("renderer", "serialize", "deserialize", "file_exists", "dir_exists", "path_exists", "findup")


def renderer(path=None, string=None, default_renderer="jinja|yaml", **kwargs):
    """
    Return the rendered content of a file or text

    path
        A ``salt://`` URL, or a path below the file roots
    string
        Or the text itself
    default_renderer
        jinja, yaml, json or ``jinja|yaml``, ``jinja|json``; a first line with #! is also evaluated
    kwargs
        Variables of the template

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.renderer salt://app/settings.yaml
    """
    from thin import link

    if not path and not string:
        raise SaltInvocationError("Must pass path or string.")
    if path and string:
        raise SaltInvocationError("Must not pass both path and string.")
    saltenv = kwargs.pop("saltenv", None) or __opts__.get("saltenv") or "base"
    if path:
        string = __salt__["cp.get_file_str"](path if "://" in path else "salt://" + path, saltenv)
        if string is False:
            raise SaltRenderError("Template does not exist: %s" % path)
    first, _, rest = string.partition("\n")
    steps = default_renderer
    if first.startswith("#!") and not first.startswith("#!/"):
        steps, string = first[2:].strip(), rest
    value = string
    for step in (words.split()[0] for words in steps.split("|") if words.strip()):
        if step == "jinja":
            try:
                made = link.template(None, saltenv, "jinja", dict(kwargs, sls=""), {}, text=value)
            except link.LinkError as exc:
                raise SaltRenderError(str(exc))
            value = made.decode("utf-8")
        elif step in ("yaml", "json"):
            value = deserialize(step, value)
        else:
            raise CommandExecutionError("slsutil.renderer: the renderer %s is not run for a target" % step)
    return value


def serialize(serializer, obj, **mod_kwargs):
    """
    Return a value as text

    serializer
        yaml, json …
    obj
        The value
    mod_kwargs
        Options of the serializer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.serialize json '{port: 8080}'
    """
    from thin.utils.files import serial

    return serial.elsewhere("serialize", serializer, obj, mod_kwargs)


def deserialize(serializer, stream_or_string, **mod_kwargs):
    """
    Return the value of a text

    serializer
        yaml, json …
    stream_or_string
        The text
    mod_kwargs
        Options of the serializer

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.deserialize json '{"port": 8080}'
    """
    from thin.utils.files import serial

    return serial.elsewhere("deserialize", serializer, stream_or_string, mod_kwargs)


def file_exists(path, saltenv="base"):
    """
    Whether the file server has this file

    path
        Its path below the file roots
    saltenv
        The environment

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.file_exists app/map.jinja
    """
    return path in __salt__["cp.list_master"](saltenv)


def dir_exists(path, saltenv="base"):
    """
    Whether the file server has this directory

    path
        Its path below the file roots
    saltenv
        The environment

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.dir_exists app/templates
    """
    return path in __salt__["cp.list_master_dirs"](saltenv)


def path_exists(path, saltenv="base"):
    """
    Whether the file server has this file or directory

    path
        Its path below the file roots
    saltenv
        The environment

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.path_exists app/map.jinja
    """
    return file_exists(path, saltenv) or dir_exists(path, saltenv)


def findup(startpath, filenames, saltenv="base"):
    """
    Return the first of these files in a directory or one above it, towards the root of the file server

    startpath
        The directory, below the file roots
    filenames
        The file names to find, one or a list
    saltenv
        The environment

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.findup app/web/frontend map.jinja
    """
    names = [filenames] if isinstance(filenames, str) else filenames
    if not isinstance(names, list):
        raise SaltInvocationError(
            "Filenames argument must be a string or list of strings, not %s" % type(filenames).__name__
        )
    if startpath and not path_exists(startpath, saltenv):
        raise SaltInvocationError("Starting path not found in the state tree: %s" % startpath)
    folders = [folder for folder in (startpath or "").split("/") if folder]
    paths = set(__salt__["cp.list_master"](saltenv)) | set(__salt__["cp.list_master_dirs"](saltenv))
    for depth in range(len(folders), -1, -1):
        for name in names:
            path = "/".join(folders[:depth] + [name])
            if path in paths:
                return path
    raise CommandExecutionError(
        "File pattern(s) not found in path ancestry of %s: %s" % (startpath, ", ".join(map(str, names)))
    )
