"""Users in password files of web servers, by htpasswd(1). Salt (until 3007): states/webutil.py"""


def __virtual__():
    if "webutil.useradd" in __salt__:
        return True
    return False, "webutil: the program htpasswd is not there (package apache2-utils)"


def user_exists(name, password=None, htpasswd_file=None, options="", force=False, **kwargs):
    """
    A user is in the file, with this password

    htpasswd_file
        Path of the file
    options
        Letters of htpasswd's options, without a dash
    force
        Set the password even if the user exists
    update
        Set the password if the one in the file differs
    runas
        The user that htpasswd runs as

    .. code-block:: yaml

        ada:
          webutil.user_exists:
            - password: correct horse
            - htpasswd_file: /etc/nginx/wiki.htpasswd
            - options: B
            - update: True
    """
    ret = {"name": name, "changes": {}, "comment": "", "result": None}
    options, runas = options.lstrip("-"), kwargs.get("runas")
    exists = _has_line(name, htpasswd_file, runas)
    wrong = False
    if exists and kwargs.get("update", False) and not force:
        wrong = not __salt__["webutil.verify"](htpasswd_file, name, password, opts=options, runas=runas)
    if exists and not force and not wrong:
        return dict(ret, result=True, comment="User already known")
    if password is None:
        return dict(ret, result=False, comment="The user '%s' needs a password" % name)
    ret["changes"] = {name: True}
    if __opts__["test"]:
        return dict(ret, comment="User '%s' is set to be added to htpasswd file" % name)
    done = __salt__["webutil.useradd"](htpasswd_file, name, password, opts=options, runas=runas)
    if done["retcode"] == 0:
        return dict(ret, result=True, comment=done["stderr"])
    return dict(ret, result=False, changes={}, comment=done["stderr"])


def user_absent(name, htpasswd_file=None, runas=None):
    """
    A user is not in the file

    .. code-block:: yaml

        ada:
          webutil.user_absent:
            - htpasswd_file: /etc/nginx/wiki.htpasswd
    """
    ret = {"name": name, "changes": {}, "comment": "", "result": None}
    if not _has_line(name, htpasswd_file, runas):
        return dict(ret, result=True, comment="User already not in file")
    ret["changes"] = {name: ""}
    if __opts__["test"]:
        return dict(ret, comment="User '%s' is set to be removed from htpasswd file" % name)
    done = __salt__["webutil.userdel"](htpasswd_file, name, runas=runas, all_results=True)
    if done["retcode"]:
        return dict(ret, result=False, changes={}, comment=done["stderr"])
    return dict(ret, result=True, comment=done["stderr"])


def _has_line(name, path, runas):
    """Whether the user has a line in the file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as handle:
            return any(line.partition(":")[0] == name for line in handle)
    except FileNotFoundError:
        return False
