"""Runs git without prompts, in English, in an open folder, with keys and passwords that no other process can see.

git reads a password for https from the environment by a helper program (GIT_ASKPASS). It is never in a URL, and so
neither in the list of processes nor in the repository's configuration.
"""

import os
import re

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.programs.commands import OpenFolder

ENVIRONMENT = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
#: The program that git runs in place of ssh; %s: the key. It is a program because git before 2.3 has only GIT_SSH.
#: OpenSSH before 7.6 has no `accept-new`: with it, a host with a key in known_hosts must have that key, and for another
#: host a new key is accepted. Options of one letter in the list have an argument. If no host is found among the
#: arguments, no new key is accepted. `ssh -G` prints the host's name in known_hosts, and the paths of these files.
#: OpenSSH before 6.8 has no -G; then no new key is accepted if a configuration may give the host another name.
SSH = """#!/bin/sh
check=accept-new
case $(ssh -V 2>&1) in
OpenSSH_[1-6].* | OpenSSH_7.[0-5]*)
    host= port= next=
    for word do
        case "$next $word" in
        "p "*) port=$word next= ;;
        ?" "*) next= ;;
        " -"[BbcDEeFIiJLlmOopQRSWw]) next=${word#-} ;;
        " -p"*) port=${word#-p} ;;
        " -"*) ;;
        *) host=${word#*@} && break ;;
        esac
    done
    check=no
    [ -n "$host" ] || check=yes
    conf=$(ssh -G "$@" 2>/dev/null </dev/null)
    said() { printf '%%s\\n' "$conf" | sed -n "s/^$1 //p"; }
    if [ -n "$(said hostname)" ]; then
        host=$(said hostname) port=$(said port)
        [ -z "$(said hostkeyalias)" ] || host=$(said hostkeyalias) port=
    elif grep -Eiq '^[[:space:]]*(hostname|hostkeyalias|port|[a-z]*knownhostsfile)[[:space:]=]' \\
        "$HOME/.ssh/config" /etc/ssh/ssh_config 2>/dev/null; then check=yes
    fi
    [ -z "$port" ] || [ "$port" = 22 ] || host="[$host]:$port"
    set -f
    for file in "$HOME/.ssh/known_hosts" /etc/ssh/ssh_known_hosts $(said '[a-z]*knownhostsfile'); do
        case $file in "~/"*) file=$HOME/${file#"~/"} ;; esac
        [ -z "$(ssh-keygen -F "$host" -f "$file" 2>/dev/null)" ] || check=yes
    done ;;
esac
exec ssh -o BatchMode=yes -o StrictHostKeyChecking=$check -o PasswordAuthentication=no \\
    -o ChallengeResponseAuthentication=no -o IdentitiesOnly=yes -i %s "$@"
"""
ASKPASS = b"""#!/bin/sh
case "$1" in
Username*) printf '%s\\n' "$PUSHSALT_GIT_USER" ;;
*) printf '%s\\n' "$PUSHSALT_GIT_PASS" ;;
esac
"""
_LOGIN = re.compile(r"(\b[a-z+]+://)[^/@\s']+@")


def redact(text):
    """The text with user and password of each URL in it hidden."""
    return _LOGIN.sub(r"\1<redacted>@", text)


def checked_url(url, user, password):
    """The URL. Raises SaltInvocationError if a user or password is given and the URL is not https."""
    if (user or password) and not str(url).startswith("https://"):
        raise SaltInvocationError("Basic Auth only supported for HTTPS")
    if password and not user:
        raise SaltInvocationError("https_user is required when https_pass is given")
    return str(url)


class Keys(object):
    """Environment variables for git's login. A context manager that removes temporary files.

    ``owner``: the user that git runs as, who must be able to read them. ``fetch(url)`` returns a local path.
    """

    def __init__(self, identity, https_user, https_pass, owner, fetch):
        self.identity, self.user, self.password = identity, https_user, https_pass
        self.owner, self.fetch = owner, fetch
        self.temporary = []

    def __enter__(self):
        env = dict(ENVIRONMENT)
        try:
            if self.user:
                env["GIT_ASKPASS"] = self._file(ASKPASS, 0o700)
                env["PUSHSALT_GIT_USER"], env["PUSHSALT_GIT_PASS"] = str(self.user), str(self.password or "")
            if self.identity:
                script = self._file((SSH % _quoted(self._key())).encode("utf-8", "surrogateescape"), 0o700)
                env.update(GIT_SSH=script, GIT_SSH_COMMAND=_quoted(script), GIT_SSH_VARIANT="ssh")
        except BaseException:
            self.__exit__()
            raise
        return env

    def __exit__(self, *exc):
        for path in self.temporary:
            safepath.unlink(path)

    def _key(self):
        if not self.identity.startswith("salt://"):
            if not os.path.isfile(self.identity):
                raise CommandExecutionError("identity file %s was not found" % self.identity)
            return self.identity
        path = self.fetch(self.identity)
        if not path:
            raise CommandExecutionError("identity file %s was not found" % self.identity)
        with open(path, "rb") as stream:
            return self._file(stream.read(), 0o600)

    def _file(self, data, mode):
        from thin.utils.files import osutil, owner

        uid = owner.user_to_uid(self.owner) if self.owner else None
        if uid == "":
            raise CommandExecutionError("User '%s' does not exist" % self.owner)
        descriptor, path = osutil.mkstemp(programs=bool(mode & 0o100))
        self.temporary.append(path)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(descriptor, mode)
            if uid is not None:
                os.fchown(descriptor, uid, -1)
        return path


def _quoted(path):
    from thin.utils import words

    return words.quote(path)


def run(
    salt,
    words,
    cwd=None,
    user=None,
    ignore_retcode=False,
    output_encoding=None,
    identity=None,
    failhard=True,
    redirect_stderr=False,
    saltenv="base",
    https_user=None,
    https_pass=None,
    settings=(),
):
    """The return of cmd.run_all for git. If there are several identities, they are tried in order.

    ``salt``: the execution functions; ``settings``: environment variables.
    Raises CommandExecutionError with git's error, unless ``failhard`` is False and there is no identity.
    """
    errors = []
    for key in identity if isinstance(identity, list) else [identity]:
        try:
            with Keys(key, https_user, https_pass, user, lambda url: salt["cp.cache_file"](url, saltenv)) as env:
                with Opened(repository_path(cwd, user) if cwd else None, user) as folder:
                    done = salt["cmd.run_all"](
                        ["git"] + words,
                        cwd=folder,
                        runas=user,
                        env=dict(env, **dict(settings)),
                        python_shell=False,
                        ignore_retcode=ignore_retcode,
                        redirect_stderr=redirect_stderr,
                        output_encoding=output_encoding,
                    )
        except CommandExecutionError as exc:
            if not key:
                raise
            errors.append(str(exc))
            continue
        if done["retcode"] == 0 or (not key and not failhard):
            return done
        errors.append(redact(done["stdout" if redirect_stderr else "stderr"]))
    if identity:
        raise CommandExecutionError("Unable to authenticate using identity file:\n\n" + "\n".join(errors))
    failed = "Command '%s' failed" % redact(" ".join(["git"] + words))
    raise CommandExecutionError(failed + (": %s" % errors[0] if errors[0] else ""))


def repository_path(cwd, user):
    """The path of a repository, with ``~`` as the user's home. Raises SaltInvocationError for a relative path."""
    cwd = str(cwd)
    path = os.path.expanduser("~" + user + cwd[1:] if user and (cwd == "~" or cwd.startswith("~/")) else cwd)
    if not os.path.isabs(path):
        raise SaltInvocationError("'%s' is not an absolute path" % cwd)
    return path


class Opened(object):
    """git's working directory, a context manager. For root it is an open folder, so that no user can replace it by a
    link to another repository.
    """

    def __init__(self, path, user):
        self.path = self.place = path
        self.open = path not in (None, "/") and not user and os.geteuid() == 0 and os.path.isdir(path)

    def __enter__(self):
        if self.open:
            try:
                with safepath.at(self.path, follow=True) as place:
                    self.place = OpenFolder(place.enter(), self.path)
            except safepath.Refused:
                raise
            except OSError as exc:  # it existed when it was checked
                raise CommandExecutionError("Cannot enter the repository '%s': %s" % (self.path, exc.strerror))
        return self.place

    def __exit__(self, *exc):
        if self.place is not self.path:
            os.close(self.place)


def command_words(git_opts, command, opts=""):
    """The argv of a git command, with git's own options before it and the command's options after it."""
    return options(git_opts) + [command] + options(opts)


def taken(kwargs, *names):
    """The arguments with these names, which are keywords or built-ins of Python. Raises SaltInvocationError for
    others."""
    result = [kwargs.pop(name, None) for name in names]
    left = sorted(key for key in kwargs if not key.startswith("__"))
    if left:
        raise SaltInvocationError("The following keyword arguments are not valid: %s" % ", ".join(left))
    return result


def several(given):
    """A list of strings from a list or a comma-separated string."""
    return [str(one).strip() for one in (given if isinstance(given, (list, tuple)) else str(given).split(","))]


def options(given):
    """Options as a list of words, without a ``--`` at the end."""
    from thin.utils import words

    if isinstance(given, (list, tuple)):
        options = [str(one) for one in given]
    else:
        options = words.split(str(given)) if given else []
    return options[:-1] if options and options[-1] == "--" else options


#: A line of git fetch about an updated reference.
_UPDATED = re.compile(
    r"[\s*]*(?:([0-9a-f]+)\.\.([0-9a-f]+)|\[(?:new (tag|branch)|tag update)\])\s+(.+)->", re.IGNORECASE
)


def fetched(output):
    """``{"new tags", "new branches", "updated tags": [names], "updated branches": {name: {"old", "new"}}}`` from the
    output of git fetch."""
    result = {}
    for line in output.split("\n"):
        match = _UPDATED.match(line)
        if not match:
            continue
        old, new, kind, name = match.groups()
        name = name.rstrip()
        if kind:
            result.setdefault("new tags" if kind == "tag" else "new branches", []).append(name)
        elif old:
            result.setdefault("updated branches", {})[name] = {"old": old, "new": new}
        else:
            result.setdefault("updated tags", []).append(name)
    return result
