"""Runs commands on the target. Salt: ``salt/modules/cmdmod.py``.

Every function shares the arguments of ``run``:

cmd             text or list. Without a shell, text is split as a POSIX shell would.
cwd             where to run; the user's home by default.
stdin           text; ``\\n`` written as two characters is a newline.
runas, group    the user and group to run as, with the environment that the user has after logging in.
shell           the shell for ``python_shell``; $SHELL or /bin/sh.
python_shell    run the text in the shell. Off, except for ``shell`` and for calls from the command line.
env             dict, or list of dicts, of variables; ``clean_env`` drops all others; ``prepend_path`` goes before PATH.
umask           octal text.
timeout         seconds; then the command and its children are killed, and the return code is 1.
template        renders ``cmd`` and ``cwd`` with this engine on the controller first.
rstrip          cut white space at the end of the output.
output_encoding the encoding of the output (UTF-8); invalid bytes are replaced.
output_loglevel the level of log lines about the command; ``quiet``: none. hide_output: do not return the output.
bg              do not wait.
ignore_retcode  any return code is a success; success_retcodes, success_stdout, success_stderr: further successes.
reset_system_locale  run in the C locale (LC_*, LANGUAGE).
raise_err       raise CommandExecutionError when the return code is not 0.

Scripts are in cmdmod_script.py, changed roots in cmdmod_chroot.py, programs and shells in cmdmod_programs.py.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.log import getLogger, number
from thin.utils.programs import commands
from thin.utils.programs.commands import DEFAULT_SHELL, OpenFolder, arguments

__virtualname__ = "cmd"

__outputter__ = {"run": "txt"}
__usual__ = True
__changes__ = ("run_bg",)
__runs__ = ("run", "shell", "run_stdout", "run_stderr", "run_all", "retcode")

log = getLogger(__name__)

#: user -> the environment after logging in; determined once
_logins = {}


def __virtual__():
    return __virtualname__


def run(
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    clean_env=False,
    template=None,
    rstrip=True,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    hide_output=False,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    redirect_stderr=True,
    bg=False,
    password=None,
    encoded_cmd=False,
    raise_err=False,
    prepend_path=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command and return its output (stdout and stderr) as text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.run 'ps -e | grep app'
    """
    ret = _run(merge=redirect_stderr, **arguments(locals()))
    if raise_err and not ignore_retcode and ret["retcode"] != 0 and output_loglevel != "quiet":
        raise CommandExecutionError(_callback(log_callback)("" if hide_output else ret["stdout"]))
    return "" if hide_output else ret["stdout"]


def shell(
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    env=None,
    clean_env=False,
    template=None,
    rstrip=True,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    hide_output=False,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    bg=False,
    password=None,
    prepend_path=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command line in a shell and return its output as text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.shell 'ps -e | grep app'
    """
    given = arguments(locals())
    if given.get("python_shell") is None:
        given["python_shell"] = True
    return run(hide_output=hide_output, **given)


def run_stdout(
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    clean_env=False,
    template=None,
    rstrip=True,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    hide_output=False,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    password=None,
    prepend_path=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command and return only its standard output

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.run_stdout 'ls -l'
    """
    ret = _run(**arguments(locals()))
    return "" if hide_output else ret["stdout"]


def run_stderr(
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    clean_env=False,
    template=None,
    rstrip=True,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    hide_output=False,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    password=None,
    prepend_path=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command and return only its standard error

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.run_stderr 'ls -l /nowhere'
    """
    ret = _run(**arguments(locals()))
    return "" if hide_output else ret["stderr"]


def run_all(
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    clean_env=False,
    template=None,
    rstrip=True,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    hide_output=False,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    redirect_stderr=False,
    password=None,
    encoded_cmd=False,
    prepend_path=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command and return a dict of its pid, retcode, stdout and stderr

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.run_all 'ls -l'
    """
    ret = _run(merge=redirect_stderr, **arguments(locals()))
    if hide_output:
        ret["stdout"] = ret["stderr"] = ""
    return ret


def retcode(
    cmd,
    cwd=None,
    stdin=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    clean_env=False,
    template=None,
    umask=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    use_vt=False,
    password=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Run a command and return its exit code

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.retcode 'test -e /etc/motd'
    """
    return _run(merge=True, **arguments(locals()))["retcode"]


def run_bg(
    cmd,
    cwd=None,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    clean_env=False,
    template=None,
    umask=None,
    timeout=None,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    password=None,
    prepend_path=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """
    Start a command in a new session and return its pid immediately

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' cmd.run_bg 'long-job --quiet'
    """
    given = arguments(locals())
    given["bg"] = True
    return {"pid": _run(**given)["pid"]}


# Shared code


def _callback(log_callback):
    return log_callback if callable(log_callback) else lambda text: text


def _run(
    cmd,
    cwd=None,
    stdin=None,
    merge=False,
    runas=None,
    group=None,
    shell=DEFAULT_SHELL,
    python_shell=None,
    env=None,
    clean_env=False,
    prepend_path=None,
    rstrip=True,
    template=None,
    umask=None,
    timeout=None,
    reset_system_locale=True,
    ignore_retcode=False,
    saltenv=None,
    bg=False,
    output_encoding=None,
    output_loglevel="debug",
    log_callback=None,
    success_retcodes=None,
    success_stdout=None,
    success_stderr=None,
    **kwargs,
):
    """Run a process: check the arguments, and return pid, retcode, stdout and stderr. Every function calls this."""
    quiet = output_loglevel == "quiet"
    shown = _callback(log_callback)
    runas = runas or __context__.get("runas") or None
    if python_shell is None:
        python_shell = bool(kwargs.get("__pub_jid")) or __opts__.get("cmd_safe", True) is False
    if shell and not (os.path.isfile(shell) and os.access(shell, os.X_OK)):
        raise CommandExecutionError("The shell %s is not available" % shell)
    if not quiet and commands.valid_shells() is not None and shell not in commands.valid_shells():
        log.warning("%s is not one of the shells in /etc/shells", shell)
    cwd = commands.directory(cwd, runas)
    if template:
        cmd, cwd = _rendered(cmd, saltenv, template), _rendered(cwd, saltenv, template)
    if "__pub_jid" in kwargs and not _permitted(cmd):
        raise CommandExecutionError('The shell command "%s" is not permitted' % cmd)
    env = commands.variables(env)
    try:
        identity = process.Identity(runas, group) if runas or group else None
    except KeyError:
        raise CommandExecutionError(commands.nobody(runas, group))
    if runas:
        env = dict(_login(runas, shell), **env)
    full = commands.environment(env, reset_system_locale is True, clean_env, prepend_path)
    mask = commands.umask_of(umask)
    if not isinstance(cwd, OpenFolder) and (not os.path.isabs(cwd) or not os.path.isdir(cwd)):
        raise CommandExecutionError("Specified cwd '%s' either not absolute or does not exist" % cwd)
    good = commands.success(success_retcodes, success_stdout, success_stderr)
    if timeout and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
        raise CommandExecutionError("Error: timeout %s must be a number" % timeout)
    if stdin is not None and not hasattr(stdin, "__next__"):  # an iterator of bytes: from thin itself
        text = str(stdin) if kwargs.get("stdin_raw_newlines") else str(stdin).replace("\\n", "\n")
        stdin = text.encode("utf-8", "surrogateescape")
    if not quiet:
        who = "as user '%s' " % runas if runas else ""
        log.info("%s", shown("Executing command '%s' %sin directory '%s'" % (commands.word(cmd), who, cwd)))
    argv = commands.argv_of(cmd, shell, python_shell)
    try:
        result = process.run(argv, cwd, full, stdin, merge, identity, mask, timeout, background=bg)
    except (OSError, ValueError) as exc:
        raise CommandExecutionError(
            "Unable to run command '%s' in '%s'%s, reason: %s"
            % ("REDACTED" if quiet else cmd, cwd, " as user '%s'" % runas if runas else "", exc)
        )
    if result.timed_out:
        words = "%s : Timed out after %s seconds" % (cmd, timeout)
        return {"stdout": words, "stderr": "", "retcode": 1, "pid": result.pid}
    ret = commands.answer(result, output_encoding or "utf-8", rstrip, good)
    __context__["retcode"] = 0 if ignore_retcode else ret["retcode"]
    if not quiet:
        _log_output(cmd, ret, ignore_retcode or bg, output_loglevel, shown)
    return ret


def _log_output(cmd, ret, ignore_retcode, output_loglevel, shown):
    severity = number(output_loglevel, number("info"))
    if ret["retcode"] != 0 and not ignore_retcode:
        severity = max(severity, number("error"))
        log.error("%s", shown("Command '%s' failed with return code: %s" % (commands.word(cmd), ret["retcode"])))
    for name in ("stdout", "stderr", "retcode"):
        if ret[name]:
            log.log(severity, "%s: %s", name, shown(ret[name]))


def _login(user, shell):
    """The environment that ``user`` has after logging in, by ``su -``; only HOME and USER if that fails."""
    if user not in _logins:
        mark = "pushsalt-" + os.urandom(16).hex()
        dump = "printf %%s %s; cat /proc/self/environ 2>/dev/null || env -0; printf %%s %s" % (mark, mark)
        argv = commands.su(__grains__.get("kernel"), user, shell, dump)
        parts = []
        if os.geteuid() == 0:
            try:
                parts = process.run(argv, timeout=10).stdout.decode("utf-8", "surrogateescape").split(mark)
            except OSError as exc:
                log.debug("su: %s", exc)
            if len(parts) != 3:
                log.error("Environment could not be retrieved for user '%s'", user)
        pairs = [item.partition("=") for item in (parts[1] if len(parts) == 3 else "").split("\0") if "=" in item]
        env = {key: value for key, _, value in pairs if key not in ("_", "PWD", "SHLVL")}
        env.update(USER=user, HOME=os.path.expanduser("~" + user))
        _logins[user] = env
    return _logins[user]


def _permitted(cmd):
    """Whether cmd_blacklist_glob and cmd_whitelist_glob allow a command of the command line."""
    black = __opts__.get("cmd_blacklist_glob") or ()
    white = __opts__.get("cmd_whitelist_glob") or ("*",)
    if not black and list(white) == ["*"]:
        return True  # the usual case; importing fnmatch takes as long as everything else before the command starts
    import fnmatch

    text = " ".join(str(word) for word in cmd) if isinstance(cmd, (list, tuple)) else str(cmd)
    return not any(fnmatch.fnmatch(text, glob) for glob in black) and any(fnmatch.fnmatch(text, glob) for glob in white)


def _rendered(text, saltenv, engine):
    from thin import link

    try:
        out = link.template(None, saltenv or __opts__.get("saltenv") or "base", engine, text=text)
    except link.LinkError as exc:
        raise CommandExecutionError("Failed to execute cmd with error: %s" % exc)
    return out.decode("utf-8", "surrogateescape")
