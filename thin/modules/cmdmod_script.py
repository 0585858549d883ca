"""Runs scripts and source code that the caller provides: a part of ``cmd``. Salt: ``salt/modules/cmdmod.py``.

cmdmod.py documents the arguments that they share with ``run``.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.log import getLogger
from thin.utils.files import safepath
from thin.utils.programs.commands import DEFAULT_SHELL, arguments, split

__virtualname__ = "cmd"
__usual__ = True
__runs__ = ("script", "script_retcode", "exec_code", "exec_code_all", "powershell", "powershell_all")

log = getLogger(__name__)


def script(
    source,
    args=None,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    template=None,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    hide_output=False,
    timeout=None,
    reset_system_locale=True,
    saltenv=None,
    use_vt=False,
    bg=False,
    password=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a script from the file server (``salt://``), a URL or a path, and return what ``run_all`` returns

    ``args`` are text, split as a shell would, or a list. ``template`` renders the script first. While it runs, the
    script is a private file of the user that runs it, in the folder ``cwd``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.script salt://app/migrate.sh '--to "release 2"'
    """
    given = arguments(locals())
    for name in ("source", "args", "template", "__env__"):
        given.pop(name, None)
    content = _script_bytes(source, saltenv or __opts__.get("saltenv") or "base", template, kwargs)
    if content is None:
        return {"pid": 0, "retcode": 1, "stdout": "", "stderr": "", "cache_error": True}
    if isinstance(args, str):
        args = split(args)
    path = _private_file(content, os.path.splitext(source.partition("?")[0])[1], cwd, runas, True, bg)
    try:
        given.update(cmd=[path] + [str(arg) for arg in args or ()], python_shell=False if args else python_shell)
        ret = __salt__["cmd.run_all"](**given)
    except (CommandExecutionError, SaltInvocationError) as exc:
        log.error("cmd.script: the script %s does not start: %s", source, exc)
        why = "Unable to run script '%s': %s" % (source, exc)
        if not content.startswith(b"#!"):
            why += ". Its first line has to name its interpreter: #!/bin/sh"
        ret = {"pid": 0, "retcode": 1, "stdout": "", "stderr": why}
    finally:
        if not bg:
            _remove(path)
    if hide_output:
        ret["stdout"] = ret["stderr"] = ""
    return ret


def script_retcode(
    source,
    args=None,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    template="jinja",
    umask=None,
    timeout=None,
    reset_system_locale=True,
    saltenv=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    use_vt=False,
    password=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a script as ``script`` does and return its exit code

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.script_retcode salt://app/selftest.sh
    """
    return script(**arguments(locals()))["retcode"]


def exec_code(lang, code, cwd=None, args=None, **kwargs):
    """
    Run a piece of source code with an interpreter and return its standard output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.exec_code python3 'print(1 + 1)'
    """
    return exec_code_all(lang, code, cwd, args, **kwargs)["stdout"]


def exec_code_all(lang, code, cwd=None, args=None, **kwargs):
    """
    Run a piece of source code with an interpreter and return what ``run_all`` returns

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.exec_code_all sh 'exit 3'
    """
    path = _private_file(str(code).encode("utf-8", "surrogateescape"), "", None, kwargs.get("runas"))
    try:
        more = [args] if isinstance(args, str) else list(args or ())
        return __salt__["cmd.run_all"]([lang, path] + more, cwd=cwd, python_shell=False, **kwargs)
    finally:
        _remove(path)


def powershell(cmd, **kwargs):
    """
    Not supported: there are no Windows targets

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.powershell 'Get-Date'
    """
    raise CommandExecutionError("cmd.powershell needs Windows or PowerShell Core, which pushsalt does not support")


def powershell_all(
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    shell="powershell",
    env=None,
    clean_env=False,
    template=None,
    rstrip=True,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    quiet=False,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    password=None,
    depth=None,
    encode_cmd=False,
    force_list=False,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Not supported: there are no Windows targets

    cmd, cwd, stdin, runas, shell, env, clean_env, template, rstrip, umask, output_encoding, output_loglevel, quiet
        As in Salt
    timeout, reset_system_locale, ignore_retcode, saltenv, use_vt, password, depth, encode_cmd, force_list
        As in Salt
    success_retcodes, success_stdout, success_stderr, kwargs
        As in Salt

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.powershell_all 'Get-Date'
    """
    raise CommandExecutionError("cmd.powershell_all needs Windows or PowerShell Core, which pushsalt does not support")


def _script_bytes(source, saltenv, template, kwargs):
    """The script's bytes, or None when there is no such file."""
    from thin import link

    if template and source.startswith("salt://"):
        try:
            return link.template(source, saltenv, template, kwargs.get("context"), kwargs.get("defaults"))
        except link.LinkError:
            if link.file_digest(source, saltenv) is None:
                return None
            raise
    path = __salt__["cp.cache_file"](source, saltenv)
    if not path:
        return None
    try:
        with open(path, "rb") as handle:
            content = handle.read()
    except OSError:
        return None
    if template:
        content = link.template(
            None,
            saltenv,
            template,
            kwargs.get("context"),
            kwargs.get("defaults"),
            text=content.decode("utf-8", "surrogateescape"),
        )
    return content


def _private_file(content, suffix, folder, owner, program=False, stays=False):
    """A new file that only its owner can read and execute.

    ``folder``: the folder for it, unless another user could replace it there. ``program``: the file itself is executed,
    so a folder on a mount with ``noexec`` cannot be used. ``stays``: it is needed after the end of this run.
    """
    from thin.utils.files import safepath

    prefix = "__pushsalt_bg_" if stays else "__pushsalt_"
    try:
        folder = folder if folder and _safe(folder, owner) else None
        handle, path = safepath.temporary(folder, suffix, prefix, program)
    except OSError as exc:
        raise CommandExecutionError("cannot write the script: %s" % exc)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            if owner:
                identity = process.Identity(owner)
                os.fchown(stream.fileno(), identity.uid, -1)
            os.fchmod(stream.fileno(), 0o500)
    except (OSError, KeyError) as exc:
        _remove(path)
        raise CommandExecutionError("cannot write the script for user '%s': %s" % (owner, exc))
    return path


def _safe(folder, owner):
    """Whether nobody but the user who runs the script can replace it in this folder."""
    from thin.utils.files import ownfolders

    return ownfolders.others_may_change(folder, owner) is None


def _remove(path):
    try:
        safepath.unlink(path)
    except OSError as exc:
        log.error("Unable to clean tempfile '%s': %s", path, exc)
