"""Ruby gems and their sources. Salt (until 3007): ``salt/states/gem.py``."""

import re

from thin.exceptions import CommandExecutionError, CommandNotFoundError


def __virtual__():
    return "gem" if "gem.list" in __salt__ else (False, "gem module could not be loaded")


def installed(
    name,
    ruby=None,
    gem_bin=None,
    user=None,
    version=None,
    rdoc=False,
    ri=False,
    pre_releases=False,
    proxy=None,
    source=None,
):
    """
    A gem is installed.

    name
        The gem, or a file.
    ruby
        With RVM or rbenv: for which Ruby.
    gem_bin
        The program, if it is not the usual one.
    user
        The user that gem runs as.
    version
        This version, or ``>= 1.0`` (also ``>``, ``<``, ``<=``).
    rdoc
        With its documentation in HTML.
    ri
        With its documentation for ri.
    pre_releases
        Take them into account, too.
    proxy
        An HTTP proxy.
    source
        A source to search first.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    which = {"ruby": ruby, "gem_bin": gem_bin, "runas": user}
    try:
        met = _met(_present(name, which), version)
        if met:
            return dict(ret, result=True, comment=met)
        if __opts__["test"]:
            return dict(ret, comment="The gem %s would have been installed" % name)
        done = __salt__["gem.install"](
            [name], version=version, rdoc=rdoc, ri=ri, pre_releases=pre_releases, proxy=proxy, source=source, **which
        )
    except (CommandNotFoundError, CommandExecutionError) as exc:
        return dict(ret, result=False, comment=str(exc))
    return _ended(ret, done, "Installed", "Gem was successfully installed", "Could not install gem.")


def removed(name, ruby=None, user=None, gem_bin=None):
    """
    A gem is not installed, in no version.

    name
        The gem.
    ruby
        With RVM or rbenv: for which Ruby.
    user
        The user that gem runs as.
    gem_bin
        The program, if it is not the usual one.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    which = {"ruby": ruby, "gem_bin": gem_bin, "runas": user}
    try:
        if not _present(name, which):
            return dict(ret, result=True, comment="Gem is not installed.")
        if __opts__["test"]:
            return dict(ret, comment="The gem %s would have been removed" % name)
        done = __salt__["gem.uninstall"]([name], **which)
    except (CommandNotFoundError, CommandExecutionError) as exc:
        return dict(ret, result=False, comment=str(exc))
    return _ended(ret, done, "Removed", "Gem was successfully removed.", "Could not remove gem.")


def sources_add(name, ruby=None, user=None):
    """
    The source is one of those that gems are installed from.

    name
        Its address.
    ruby
        With RVM or rbenv: for which Ruby.
    user
        The user that gem runs as.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    try:
        if name in __salt__["gem.sources_list"](ruby, runas=user):
            return dict(ret, result=True, comment="Gem source is already added.")
        if __opts__["test"]:
            return dict(ret, comment="The gem source %s would have been added." % name)
        done = __salt__["gem.sources_add"](source_uri=name, ruby=ruby, runas=user)
    except (CommandNotFoundError, CommandExecutionError) as exc:
        return dict(ret, result=False, comment=str(exc))
    return _ended(ret, done, "Installed", "Gem source was successfully added.", "Could not add gem source.")


def sources_remove(name, ruby=None, user=None):
    """
    The source is none of those that gems are installed from.

    name
        Its address.
    ruby
        With RVM or rbenv: for which Ruby.
    user
        The user that gem runs as.
    """
    ret = {"name": name, "result": None, "comment": "", "changes": {}}
    try:
        if name not in __salt__["gem.sources_list"](ruby, runas=user):
            return dict(ret, result=True, comment="Gem source is already removed.")
        if __opts__["test"]:
            return dict(ret, comment="The gem source would have been removed")
        done = __salt__["gem.sources_remove"](source_uri=name, ruby=ruby, runas=user)
    except (CommandNotFoundError, CommandExecutionError) as exc:
        return dict(ret, result=False, comment=str(exc))
    return _ended(ret, done, "Removed", "Gem source was successfully removed.", "Could not remove gem source.")


def _present(name, which):
    """The installed versions of the gem; for a file, of the gem in its name."""
    file = re.match(r"(?:.*/)?([^/]+)-(\d[^/-]*)\.gem$", name)
    gem = file.group(1) if file else name
    present = __salt__["gem.list"](gem, **which).get(gem, [])
    versions = [version.replace("default: ", "").split()[0] for version in present]
    return [version for version in versions if not file or version == file.group(2)]


def _met(versions, version):
    """The reason why no change is needed, or ""."""
    if not versions:
        return ""
    if version is None:
        return "Gem is already installed."
    wanted = re.match(r"(>=|<=|>|<)\s*(.+)", str(version))
    if wanted:
        return "Installed Gem meets version requirements." if _compare(versions[0], *wanted.groups()) else ""
    return "Gem is already installed." if str(version) in versions else ""


def _compare(one, sign, other):
    """Whether the comparison of two versions holds, number by number."""
    first, second = [[int(part) if part.isdigit() else -1 for part in text.strip().split(".")] for text in (one, other)]
    size = max(len(first), len(second))
    first, second = first + [0] * (size - len(first)), second + [0] * (size - len(second))
    return {">=": first >= second, "<=": first <= second, ">": first > second, "<": first < second}[sign]


def _ended(ret, done, change, well, badly):
    if done is False:
        error = __context__.get("gem.failure")
        return dict(ret, result=False, comment="%s %s" % (badly, error) if error else badly)
    return dict(ret, result=True, comment=well, changes={ret["name"]: change})
