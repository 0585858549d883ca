"""Commands inside of containers, through the command docker. Salt (until 3007): ``salt/modules/dockermod.py``.

Text is run by the container's shell, a list without a shell. ``exec_driver``, ``use_vt``, ``keep_env`` and
``output_loglevel`` have no effect; ``python_shell=False`` splits a text into words.
"""

import os

from thin import process
from thin.exceptions import CommandExecutionError
from thin.utils import words as shellwords

__virtualname__ = "docker"
__runs__ = ("run", "run_all", "run_stdout", "run_stderr", "retcode", "script", "script_retcode")
#: Writes its stdin to a file of a new folder that only the container's user can enter and that allows execution.
_PLACED = """umask 077
for top in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm /run; do
    mkdir "$top/$1" 2> /dev/null || continue
    printf '#!/bin/sh\\nexit 0\\n' > "$top/$1/$2" && chmod 700 "$top/$1/$2" && "$top/$1/$2" 2> /dev/null &&
        cat > "$top/$1/$2" && echo "$top/$1/$2" && exit 0
    rm -rf "$top/$1"
done
echo 'no folder for temporary files where programs may run' >&2
exit 1
"""
_REMOVED = 'for top in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm /run; do rm -rf "$top/$1"; done'


def __virtual__():
    if process.which("docker") or process.which("podman"):
        return __virtualname__
    return False, "The docker execution module cannot be loaded: neither docker nor podman is installed."


def run(
    name,
    cmd,
    exec_driver=None,
    stdin=None,
    python_shell=True,
    output_loglevel="debug",
    use_vt=False,
    ignore_retcode=False,
    keep_env=None,
):
    """
    Run a command in a container and return its output, including stderr

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.run web 'nginx -t'
    """
    done = _run(name, cmd, stdin, python_shell, ignore_retcode)
    return "\n".join(filter(None, (done["stdout"], done["stderr"])))


def run_all(
    name,
    cmd,
    exec_driver=None,
    stdin=None,
    python_shell=True,
    output_loglevel="debug",
    use_vt=False,
    ignore_retcode=False,
    keep_env=None,
):
    """
    Run a command in a container and return ``{retcode, stdout, stderr, pid}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.run_all web 'nginx -t'
    """
    return _run(name, cmd, stdin, python_shell, ignore_retcode)


def run_stdout(
    name,
    cmd,
    exec_driver=None,
    stdin=None,
    python_shell=True,
    output_loglevel="debug",
    use_vt=False,
    ignore_retcode=False,
    keep_env=None,
):
    """
    Run a command in a container and return its stdout

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.run_stdout web 'cat /etc/nginx/nginx.conf'
    """
    return _run(name, cmd, stdin, python_shell, ignore_retcode)["stdout"]


def run_stderr(
    name,
    cmd,
    exec_driver=None,
    stdin=None,
    python_shell=True,
    output_loglevel="debug",
    use_vt=False,
    ignore_retcode=False,
    keep_env=None,
):
    """
    Run a command in a container and return its stderr

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.run_stderr web 'nginx -T'
    """
    return _run(name, cmd, stdin, python_shell, ignore_retcode)["stderr"]


def retcode(
    name,
    cmd,
    exec_driver=None,
    stdin=None,
    python_shell=True,
    output_loglevel="debug",
    use_vt=False,
    ignore_retcode=False,
    keep_env=None,
):
    """
    Run a command in a container and return its exit code

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.retcode web 'test -e /etc/motd'
    """
    return _run(name, cmd, stdin, python_shell, ignore_retcode)["retcode"]


def script(
    name,
    source,
    saltenv="base",
    args=None,
    template=None,
    exec_driver=None,
    stdin=None,
    python_shell=True,
    output_loglevel="debug",
    ignore_retcode=False,
    use_vt=False,
    keep_env=None,
):
    """
    Run a program of the file server in a container and return ``{retcode, stdout, stderr, pid}``

    source
        ``salt://`` path, or one on the target.
    args
        Arguments, as text.
    template
        The renderer of the script.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.script web salt://app/migrate.sh args='--to 2'
    """
    if template:
        path = __salt__["cp.get_template"](source, "", template, saltenv)
    else:
        path = __salt__["cp.cache_file"](source, saltenv)
    if not path:
        raise CommandExecutionError("Cache failed for %s, does it exist?" % source)
    with open(path, "rb") as content:
        text = content.read().decode("utf-8", "surrogateescape")
    own = ".pushsalt-" + os.urandom(12).hex()
    try:
        place = __salt__["docker.cli"](
            "exec",
            "--interactive",
            name,
            "/bin/sh",
            "-c",
            _PLACED,
            "sh",
            own,
            os.path.basename(path),
            stdin=text,
            stdin_raw_newlines=True,
        )
        return _run(name, [place] + shellwords.split(str(args or "")), stdin, False, ignore_retcode)
    finally:
        __salt__["docker.everything"]("exec", name, "/bin/sh", "-c", _REMOVED, "sh", own)


def script_retcode(
    name,
    source,
    saltenv="base",
    args=None,
    template=None,
    exec_driver=None,
    stdin=None,
    python_shell=True,
    output_loglevel="debug",
    ignore_retcode=False,
    use_vt=False,
    keep_env=None,
):
    """
    Run a program of the file server in a container and return its exit code. Arguments: as ``docker.script``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' docker.script_retcode web salt://app/selftest.sh
    """
    return script(name, source, saltenv, args, template, stdin=stdin, ignore_retcode=ignore_retcode)["retcode"]


def _run(name, cmd, stdin, python_shell, ignore_retcode):
    if isinstance(cmd, (list, tuple)):
        command = [str(word) for word in cmd]
    else:
        command = ["/bin/sh", "-c", cmd] if python_shell else shellwords.split(cmd)
    if __salt__["docker.state"](name) != "running":
        raise CommandExecutionError("Container '%s' is not running" % name)
    more = ["--interactive"] if stdin is not None else []
    done = __salt__["docker.everything"]("exec", *(more + [name] + command), stdin=stdin)
    if done["retcode"] and not ignore_retcode:
        __context__["retcode"] = done["retcode"]
    return done
