"""What templates may call while a dry run is rendered: `--test` changes nothing, whatever a template asks for.

``CHANGES`` names the functions of the execution modules here that change the system (files, accounts, packages,
services, settings; not caches and temporary files). A test holds it against the modules. Commands are another matter:
``cmd.run('uname -r')`` reads, and formulas cannot be rendered without it, so commands run, and that is said. A user's
own module says for itself what changes something: ``__changes__ = True``, or a tuple of its function names.

Options: ``test_template_functions`` (refuse, warn or allow), and globs in ``test_template_allow`` and
``test_template_refuse``; an exact name there wins over a glob, and ``test_template_refuse`` wins over the other.
"""

from __future__ import annotations

import fnmatch
import logging
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from types import FrameType
from typing import Any, Final

from pushsalt.errors import FunctionError
from pushsalt.render.context import ALIASES

log = logging.getLogger(__name__)

_CHANGES: Final = """
acl: delfacl modfacl wipefacls
aliases: rm_alias set_target
alternatives: auto install remove set
apache: a2dismod a2dissite a2disconf a2enmod a2ensite a2enconf signal config useradd userdel
apparmor: complain disable enforce reload
archive: cmd_unzip cmd_zip gunzip gzip rar tar unrar unzip zip
at: at atrm
augeas: execute remove setvalue
bridge: add addif delete delif stp
cmd: run_bg
cp: get_dir get_file get_template get_url push push_dir recv recv_chunked
cron: raw_cron rm rm_env rm_job rm_special set_env set_job set_special write_cron_file write_cron_file_verbose
cryptdev: close open rm_crypttab set_crypttab
data: cas clear dump pop update
debconf: set set_file set_template
devmap: multipath_flush
disk: format resize2fs tune wipe
dnsutil: hosts_append hosts_remove
docker: build commit connect_container_to_network copy_from copy_to create create_network create_volume
docker: disconnect_all_containers_from_network disconnect_container_from_network export import kill load login logout
docker: pause prune pull push remove_network remove_volume rename restart rm rmi run_container save signal start stop
docker: tag unpause
ethtool: set_coalesce set_feature set_offload set_pause set_ring
extfs: mkfs tune
file: append blockreplace chattr check_perms chgrp chown comment comment_line copy delete_backup lchown line link
file: makedirs makedirs_perms manage_file mkdir mknod mknod_blkdev mknod_chrdev mknod_fifo move open_files patch prepend
file: psed remove remove_backup rename replace restore_backup restorecon rmdir sed seek_write set_mode
file: set_selinux_context symlink touch truncate uncomment write
firewalld: add_interface add_masquerade add_port add_port_fwd add_rich_rule add_service add_service_port
firewalld: add_service_protocol add_source allow_icmp block_icmp delete_service delete_zone make_permanent new_service
firewalld: new_zone reload_rules remove_interface remove_masquerade remove_port remove_port_fwd remove_rich_rule
firewalld: remove_service remove_service_port remove_service_protocol remove_source set_default_zone
gem: install sources_add sources_remove uninstall update update_system
git: add archive checkout clone commit config_set config_unset discard_local_changes fetch init merge pull push rebase
git: remote_set reset rm stash submodule symbolic_ref tag worktree_add worktree_prune worktree_rm
gpg: create_key delete_key import_key receive_keys trust_key
grains: append delkey delval remove set setval setvals
group: add adduser chgid delete deluser members
hosts: add_host rm_host set_comment set_host
http: update_ca_bundle
incron: rm rm_job set_job write_incron_file write_incron_file_verbose
ini: remove_option remove_section set_option
ip: apply_network_settings build_bond build_interface build_network_settings build_routes down up
ipset: add delete delete_set flush new_set rename_set
iptables: append delete delete_chain flush insert new_chain save set_policy
keyboard: set_sys set_x
kmod: load remove
locale: gen_locale set_locale
locate: updatedb
logrotate: set
lowpkg: import_gpg_key remove_gpg_key unpurge
lvm: lvcreate lvextend lvremove lvresize pvcreate pvremove pvresize vgcreate vgextend vgremove
macdefaults: delete write
macpackage: install install_app mount uninstall_app unmount
mount: mount remount rm_automaster rm_filesystems rm_fstab rm_vfstab set_automaster set_filesystems
mount: set_fstab set_vfstab swapoff swapon umount
mysql: alter_db db_create db_remove db_repair db_optimize file_query free_slave grant_add grant_revoke plugin_add
mysql: plugin_remove user_chpass user_create user_remove
network: mod_bufsize mod_hostname
nftables: append delete delete_chain delete_table flush insert new_chain new_table save set_policy
npm: cache_clean install uninstall
partition: cp disk_set disk_toggle mkfs mklabel mkpart mkpartfs move name rescue resize rm set set_id toggle
pip: install uninstall upgrade
pkg: add_repo_key autoremove backup check clean clean_locks clean_metadata collect_garbage del_repo del_repo_key delete
pkg: download fetch group_install groupinstall hold install lock mod_repo pin purge refresh_db remove restore
pkg: set_selections unhold uninstall unlock unpin update update_package_site upgrade
postgres: cluster_create cluster_remove
postgres: create_extension datadir_init db_alter db_create db_remove drop_extension group_create group_remove
postgres: group_update language_create language_remove owner_to privileges_grant privileges_revoke schema_create
postgres: schema_remove tablespace_alter tablespace_create tablespace_remove user_create user_remove user_update
ps: kill_pid pkill
pyenv: default do do_with_python install install_python rehash uninstall_python update
quota: off on set warn
rabbitmq: add_user add_vhost change_password clear_password delete_policy delete_upstream delete_user delete_vhost
rabbitmq: disable_plugin enable_plugin force_reset join_cluster reset set_permissions set_policy set_upstream
rabbitmq: set_user_tags start_app stop_app
raid: add assemble create destroy save_config stop
redis: bgrewriteaof bgsave config_set delete expire expireat flushall flushdb hdel hincrby hincrbyfloat hmset hset
redis: hsetnx save set_key shutdown slaveof
rsync: rsync
runit: disable enable full_restart reload remove restart start stop
saltutil: clear_cache
schedule: add copy delete disable disable_job enable enable_job modify move postpone_job purge reload run_job save
schedule: skip_job
scp: get put
scsi: rescan_all
sdb: delete set
selinux: fcontext_add_policy fcontext_apply_policy fcontext_delete_policy install_semod port_add_policy
selinux: port_delete_policy port_modify_policy remove_semod setenforce setsebool setsebools setsemod
service: delete disable enable firstboot force_reload full_restart launchctl mask reload remove restart run start stop
service: systemctl_reload unmask zap
shadow: del_password lock_password set_date set_expire set_inactdays set_maxdays set_mindays set_password set_warndays
shadow: set_change set_policy unlock unlock_account unlock_password
sqlite3: modify
ssh: hash_known_hosts rm_auth_key rm_auth_key_from_file rm_known_host set_auth_key set_auth_key_from_file set_known_host
ssh_pki: create_certificate create_certificate_ssh create_private_key
supervisord: add custom remove reread restart start stop update
sysctl: assign persist
sysfs: write
sysrc: remove set
system: halt init poweroff reboot set_computer_desc set_computer_name set_system_date set_system_date_time
system: restart set_boot_arch set_disable_keyboard_on_lock set_remote_events set_remote_login set_restart_delay
system: set_startup_disk set_subnet_name set_system_time shutdown sleep
timezone: set_date set_hwclock set_time set_time_server set_using_network_time set_zone
tls: create_ca create_ca_signed_cert create_csr create_empty_crl create_pkcs12 create_self_signed_cert revoke_cert
ufw: add_rule delete_rule reload set_enabled
user: add chfullname chgid chgroups chhome chhomephone chloginclass chother chroomnumber chshell chuid chworkphone
user: delete disable_auto_login enable_auto_login rename
virtualenv: create
webutil: useradd userdel
x509: create_certificate create_certificate_ssh create_crl create_csr create_private_key write_pem
xattr: clear delete write
xfs: defragment dump mkfs modify prune_dump
xml: set_attribute set_value
"""

#: ``module.function`` of all that changes the system.
CHANGES: Final = frozenset(
    f"{module}.{function}"
    for module, _, functions in (row.partition(": ") for row in _CHANGES.strip().splitlines())
    for function in functions.split()
)

#: Functions that run what they are told: whether that changes anything, only its author knows.
COMMANDS: Final = frozenset(
    f"cmd.{name}"
    for name in (
        *("run", "run_all", "run_stdout", "run_stderr", "retcode", "shell", "script", "script_retcode"),
        *("exec_code", "exec_code_all", "powershell", "run_chroot"),
    )
) | frozenset(
    f"docker.{name}"
    for name in (
        *("run", "run_all", "run_stdout", "run_stderr", "retcode", "script", "script_retcode", "cli", "everything"),
    )
) | {"ufw.run"}  # fmt: skip

#: Functions that templates reach by another name, most of the time.
WRITTEN: Final = {meant: written for written, meant in ALIASES.items()}

#: The words of ``test_template_functions``.
REFUSE, WARN, ALLOW = "refuse", "warn", "allow"


def treatment(name: str, opts: Mapping[str, Any], *, changes: bool = False) -> str:
    """``refuse``, ``warn`` or ``allow``, for a function that a template calls in a dry run.

    ``changes`` is what a user's own module says of it.
    """
    names = (name, WRITTEN[name]) if name in WRITTEN else (name,)
    lists = ((opts.get("test_template_refuse"), REFUSE), (opts.get("test_template_allow"), ALLOW))
    for words, answer in lists:
        if any(each in (words or ()) for each in names):
            return answer
    for words, answer in lists:
        if any(fnmatch.fnmatchcase(each, str(word)) for each in names for word in words or ()):
            return answer
    mode = str(opts.get("test_template_functions") or REFUSE)
    if changes or name in CHANGES:
        return mode if mode in (WARN, ALLOW) else REFUSE
    if name in COMMANDS:
        return ALLOW if mode == ALLOW else WARN
    return ALLOW


def guarded(
    name: str, function: Callable[..., Any], how: str, warn: Callable[[str], None] = log.warning
) -> Callable[..., Any]:
    """``function`` as a template may call it in a dry run. What is refused raises FunctionError."""
    if how == ALLOW:
        return function
    said = WRITTEN.get(name, name)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if how == REFUSE:
            raise FunctionError(
                "exception",
                f"{said} changes the system, and this is a dry run: it was not called",
                "leave it out with {% if not opts.test %}, or better make it a state; the options "
                "`test_template_functions` and `test_template_allow` let it through",
                "CommandExecutionError",
            )
        what = "runs a command" if name in COMMANDS else "changes the system"
        warn(f"{_caller() or 'a template'}: {said} {what}, in a dry run too")
        return function(*args, **kwargs)

    return call


def _caller() -> str:
    """``file:line`` of the template that is being rendered in this thread: Jinja, or Python of the tree."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            return f"{template.filename}:{template.get_corresponding_lineno(frame.f_lineno)}"
        if frame.f_code.co_filename.endswith(".sls"):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
