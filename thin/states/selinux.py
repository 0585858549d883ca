"""SELinux: mode, booleans, modules, contexts of files and ports. Salt: states/selinux.py

.. code-block:: yaml

    enforcing:
      selinux.mode

    httpd_can_sendmail:
      selinux.boolean:
        - value: true
        - persist: true

    /srv/www(/.*)?:
      selinux.fcontext_policy_present:
        - sel_type: httpd_sys_content_t
"""

from thin import requisites

_ON, _OFF = ("1", "on", "yes", "true"), ("0", "off", "no", "false")


def __virtual__():
    return "selinux" if "selinux.getenforce" in __salt__ else (False, "selinux module could not be loaded")


def mode(name):
    """SELinux is in this mode, now and after a boot. changes: ``{old, new}``.

    name
        enforcing, permissive or disabled (takes effect at the next boot)
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    wanted = _mode(name)
    if wanted is None:
        return dict(ret, comment="%s is not an accepted mode" % name)
    now, kept = __salt__["selinux.getenforce"](), __salt__["selinux.getconfig"]()
    if now == wanted and kept != wanted:
        now = kept
    if now == wanted:
        return dict(ret, result=True, comment="SELinux is already in %s mode" % wanted)
    if __opts__["test"]:
        comment = "SELinux mode is set to be changed to %s" % wanted
        return dict(ret, result=None, changes={"old": now, "new": wanted}, comment=comment)
    after = __salt__["selinux.setenforce"](wanted)
    if after != wanted and not (wanted == "Disabled" and __salt__["selinux.getconfig"]() == wanted):
        return dict(ret, comment="Failed to set SELinux to %s mode" % wanted)
    comment = "SELinux has been set to %s mode" % wanted
    return dict(ret, result=True, changes={"old": now, "new": after}, comment=comment)


def boolean(name, value=None, booleans=None, persist=False):
    """Booleans of the policy are set. changes: ``{boolean: {old, new}}``; with ``persist`` of pairs: now, at boot.

    name
        The boolean, unless ``booleans`` is given
    value
        on or off
    booleans
        A dict of booleans and their values, or a list of such and of names, which have ``value``
    persist
        After the next boot as well
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    wanted = _booleans(value, booleans) if booleans else {name: value}
    all_booleans = __salt__["selinux.list_sebool"]()
    right, due = [], {}
    for each, word in wanted.items():
        if each not in all_booleans:
            return dict(ret, comment="Boolean %s is not available" % each)
        to = "on" if str(word).lower() in _ON else "off" if str(word).lower() in _OFF else None
        if to is None:
            return dict(ret, comment="%s is not a valid value for the boolean %s" % (word, each))
        now = (all_booleans[each]["State"], all_booleans[each]["Default"])
        if now[0] == to and (now[1] == to or not persist):
            right.append(each)
        else:
            due[each] = to
            old, new = (now, (to, to)) if persist else (now[0], to)
            ret["changes"][each] = {"old": old, "new": new}
    lines = ["The following booleans were in the correct state: " + ", ".join(sorted(right))] if right else []
    if not due:
        return dict(ret, result=True, comment="\n".join(lines))
    if __opts__.get("test"):
        lines.append("The following booleans would be changed: " + ", ".join(sorted(due)))
        return dict(ret, result=None, comment="\n".join(lines))
    if not __salt__["selinux.setsebools"](due, persist):
        return dict(ret, changes={}, comment="Failed to set the following booleans: %s" % wanted)
    lines.append("The following booleans have been changed: " + ", ".join(sorted(due)))
    return dict(ret, result=True, comment="\n".join(lines))


def module(name, module_state="Enabled", version="any", **opts):
    """The policy module is there and enabled, or disabled.

    name
        The module
    module_state
        Enabled or Disabled
    version
        The required version; newer systems report none
    install
        Install it first
    source
        The file to install it from, also as ``salt://`` URL
    remove
        Remove it instead
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if opts.get("install") and opts.get("remove"):
        return dict(ret, result=False, comment="Cannot install and remove at the same time")
    if opts.get("remove"):
        return module_remove(name)
    if opts.get("install"):
        done = module_install(opts.get("source", name))
        if not done["result"]:
            return dict(done, name=name)
    modules = __salt__["selinux.list_semod"]()
    if name not in modules:
        return dict(ret, result=False, comment="Module %s is not available" % name)
    word = str(module_state).lower()
    wanted = True if word in _ON + ("enabled",) else False if word in _OFF + ("disabled",) else None
    if wanted is None:
        return dict(ret, result=False, comment="%s is not a valid state for the %s module." % (module_state, name))
    if version != "any" and modules[name]["Version"] != version:
        comment = "Module version is %s and does not match the desired version of %s or you are using semodule >= 2.4"
        return dict(ret, result=False, comment=comment % (modules[name]["Version"], version))
    if modules[name]["Enabled"] is wanted:
        return dict(ret, comment="Module %s is in the desired state" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Module %s is set to be toggled to %s" % (name, module_state))
    if __salt__["selinux.setsemod"](name, "enabled" if wanted else "disabled"):
        return dict(ret, comment="Module %s has been set to %s" % (name, module_state))
    return dict(ret, result=False, comment="Failed to set the Module %s to %s" % (name, module_state))


def module_install(name):
    """The policy module of a file is installed, each time.

    name
        A path on the target, or a ``salt://`` URL
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if __opts__["test"]:
        return dict(ret, result=None, comment="Module %s is set to be installed" % name)
    if __salt__["selinux.install_semod"](name):
        return dict(ret, comment="Module %s has been installed" % name)
    return dict(ret, result=False, comment="Failed to install module %s" % name)


def module_remove(name):
    """The policy module is removed; it is an error if there is none.

    name
        The module
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    if name not in __salt__["selinux.list_semod"]():
        return dict(ret, result=False, comment="Module %s is not available" % name)
    if __opts__["test"]:
        return dict(ret, result=None, comment="Module %s is set to be removed" % name)
    if __salt__["selinux.remove_semod"](name):
        return dict(ret, comment="Module %s has been removed" % name)
    return dict(ret, result=False, comment="Failed to remove module %s" % name)


def fcontext_policy_present(name, sel_type, filetype="a", sel_user=None, sel_level=None):
    """There is a rule that gives files this type. changes: ``{old, new: {name: {filetype, sel_type}}}``.

    name
        The regular expression of paths, such as ``/srv/www(/.*)?``
    sel_type
        The SELinux type
    filetype
        The letter of the kind of files: a (all), f, d, c, b, s, l or p
    sel_user
        The SELinux user
    sel_level
        The range of MLS
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    words = __salt__["selinux.filetype_id_to_string"](filetype)
    rule = {"name": name, "filetype": filetype, "sel_type": sel_type, "sel_user": sel_user, "sel_level": sel_level}
    if __salt__["selinux.fcontext_get_policy"](**rule):
        comment = 'SELinux policy for "%s" already present with specified filetype "%s" and sel_type "%s".'
        return dict(ret, result=True, comment=comment % (name, words, sel_type))
    if __opts__["test"]:
        return dict(ret, result=None)
    done = __salt__["selinux.fcontext_add_policy"](**rule)
    if done["retcode"] != 0:
        return dict(ret, comment="Error adding new rule: %s" % done)
    return dict(ret, result=True, changes={"old": {}, "new": {name: {"filetype": words, "sel_type": sel_type}}})


def fcontext_policy_absent(name, filetype="a", sel_type=None, sel_user=None, sel_level=None):
    """The rule for files does not exist. changes: ``{old: {name: {...}}, new: {}}``.

    name
        The regular expression of paths
    filetype
        The letter of the kind of files: a (all), f, d, c, b, s, l or p
    sel_type
        The SELinux type; None for any
    sel_user
        The SELinux user; None for any
    sel_level
        The range of MLS; None for any
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    rule = {"name": name, "filetype": filetype, "sel_type": sel_type, "sel_user": sel_user, "sel_level": sel_level}
    policy = __salt__["selinux.fcontext_get_policy"](**rule)
    if not policy:
        comment = 'SELinux policy for "%s" already absent with specified filetype "%s" and sel_type "%s".'
        return dict(ret, result=True, comment=comment % (name, filetype, sel_type))
    ret["changes"] = {"old": {name: policy}, "new": {}}
    if __opts__["test"]:
        return dict(ret, result=None)
    done = __salt__["selinux.fcontext_delete_policy"](**dict(rule, sel_type=sel_type or policy["sel_type"]))
    if done["retcode"] != 0:
        return dict(ret, changes={}, comment="Error removing policy: %s" % done)
    return dict(ret, result=True)


def fcontext_policy_applied(name, recursive=False):
    """The labels of files follow the policy. changes: ``{path: {old: {...}, new: {...}}}``.

    name
        A path
    recursive
        Include everything below it
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    if __salt__["selinux.fcontext_policy_is_applied"](name, recursive) == "":
        return dict(ret, result=True, comment='SElinux policies are already applied for filespec "%s"' % name)
    if __opts__["test"]:
        return dict(ret, result=None)
    done = __salt__["selinux.fcontext_apply_policy"](name, recursive)
    if done["retcode"] != 0:
        return dict(ret, comment=done.get("error") or done["stderr"] or str(done))
    return dict(ret, result=True, changes=done.get("changes"))


def port_policy_present(name, sel_type, protocol=None, port=None, sel_range=None):
    """The port has this type. changes: ``{old, new: {sel_type, protocol, port}}``.

    name
        Such as ``tcp/8080``, or anything when protocol and port are given
    sel_type
        The SELinux type
    protocol
        tcp or udp
    port
        The port or a range of them
    sel_range
        The range of MLS or MCS
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    which = {"name": name, "protocol": protocol, "port": port}
    if __salt__["selinux.port_get_policy"](sel_type=sel_type, **which):
        return dict(ret, result=True, comment=_port_words("present", name, sel_type, protocol, port))
    if __opts__["test"]:
        return dict(ret, result=None)
    old = __salt__["selinux.port_get_policy"](**which)
    act = "selinux.port_modify_policy" if old else "selinux.port_add_policy"
    done = __salt__[act](sel_type=sel_type, sel_range=sel_range, **which)
    if done["retcode"] != 0:
        return dict(ret, comment="Error adding new policy: %s" % done)
    new = __salt__["selinux.port_get_policy"](sel_type=sel_type, **which)
    return dict(ret, result=True, changes={"old": old, "new": new})


def port_policy_absent(name, sel_type=None, protocol=None, port=None):
    """The port has no such type. changes: ``{old: {sel_type, protocol, port}, new: None}``.

    name
        Such as ``tcp/8080``, or anything when protocol and port are given
    sel_type
        The SELinux type; None for any
    protocol
        tcp or udp
    port
        The port or a range of them
    """
    ret = {"name": name, "result": False, "changes": {}, "comment": ""}
    which = {"name": name, "protocol": protocol, "port": port}
    old = __salt__["selinux.port_get_policy"](sel_type=sel_type, **which)
    if not old:
        return dict(ret, result=True, comment=_port_words("absent", name, sel_type, protocol, port))
    if __opts__["test"]:
        return dict(ret, result=None)
    done = __salt__["selinux.port_delete_policy"](**which)
    if done["retcode"] != 0:
        return dict(ret, comment="Error deleting policy: %s" % done)
    new = __salt__["selinux.port_get_policy"](sel_type=sel_type, **which)
    return dict(ret, result=True, changes={"old": old, "new": new})


def mod_aggregate(low, chunks, running):
    """Sets the booleans of aggregated states in one call, since each setsebool -P takes long."""
    if low.get("fun") != "boolean":
        return low
    more = {}
    for chunk in chunks:
        if chunk.get("state") != "selinux" or chunk.get("fun") != "boolean" or "__agg__" in chunk:
            continue
        if requisites.tag_of(chunk) in running or chunk.get("persist") != low.get("persist"):
            continue
        chunk["__agg__"] = True
        more.update(_booleans(chunk.get("value"), chunk.get("booleans") or [chunk["name"]]))
    if more:
        low["booleans"] = dict(_booleans(low.get("value"), low.get("booleans") or [low["name"]]), **more)
    return low


def _mode(name):
    word = str(name).lower()
    if word.startswith("e") or word in ("1", "on"):
        return "Enforcing"
    if word.startswith("p") or word in ("0", "off"):
        return "Permissive"
    return "Disabled" if word.startswith("d") else None


def _booleans(value, booleans):
    if isinstance(booleans, dict):
        return dict(booleans)
    values = {}
    for each in booleans:
        values.update(each if isinstance(each, dict) else {each: value})
    return values


def _port_words(what, name, sel_type, protocol, port):
    return 'SELinux policy for "%s" already %s with specified sel_type "%s", protocol "%s" and port "%s".' % (
        name,
        what,
        sel_type,
        protocol,
        port,
    )
