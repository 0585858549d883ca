"""The table of options: name, type, default, doc; used for checks, defaults and the documentation.

Names and defaults are Salt's if the option exists there (salt.config.DEFAULT_MASTER_OPTS and, for options of minions,
DEFAULT_MINION_OPTS); pushsalt's own options are at the end of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from pushsalt.redact import SECRET_KEYS

#: ``journal`` is a bool, ``jetstream`` or a URL, ``bytes`` a number or ``512MiB``, ``roots`` {saltenv: [folder]};
#: ``number`` takes fractions, ``any`` is unchecked
Type = Literal["bool", "journal", "int", "bytes", "number", "text", "list", "map", "roots", "path", "paths", "any"]

#: ``both``: the controller uses it, and templates see it in their ``opts``; ``controller``: only the controller uses
#: it; ``minion``: an option of Salt's minions, whose configured value is used only with ``travels``
Scope = Literal["both", "controller", "minion"]

#: The default of an option that is missing in ``opts`` unless it is configured.
UNSET: Final[Any] = Ellipsis


@dataclass(frozen=True)
class Option:
    """One option. ``default`` is never changed in place. An empty value in a file (``null``) means the default.

    ``travels``: targets get the configured value. They get the defaults of other options, and no options that are
    missing in the table: see ``pushsalt.config.target_opts``.
    """

    name: str
    type: Type
    default: Any
    doc: str
    scope: Scope = "both"
    travels: bool = False

    @property
    def is_seen(self) -> bool:
        """Whether templates get the configured value."""
        return self.travels or self.scope == "both"


def _of(scope: Scope, *rows: tuple[str, Type, Any, str], travels: bool = False) -> list[Option]:
    return [Option(*row, scope, travels) for row in rows]


_REFSPECS: Final = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]

_BOTH: Final = _of(
    "both",
    # files
    ("file_roots", "roots", {"base": ["/srv/salt", "/srv/spm/salt"]}, "Folders of states and files, by saltenv."),
    ("fileserver_backend", "list", ["roots"], "File server backends in order: roots, git."),
    ("fileserver_followsymlinks", "bool", None, "Links in roots: true follows all, false none; unset: into a root."),
    ("fileserver_ignoresymlinks", "bool", False, "Do not serve links."),
    ("file_ignore_glob", "list", [], "Globs of paths that are not served."),
    ("file_ignore_regex", "list", [], "Regular expressions of paths that are not served."),
    ("file_buffer_size", "int", 262144, "Bytes read at a time."),
    ("env_order", "list", [], "Order in which saltenvs are merged."),
    ("roots_update_interval", "int", 60, "Seconds between updates of the roots backend."),
    # git
    ("gitfs_remotes", "list", [], "Git repositories of states and files, each a URL or {URL: [option]}."),
    ("gitfs_base", "text", "master", "Branch that is the saltenv base."),
    ("gitfs_root", "text", "", "Folder inside of the repository that is served."),
    ("gitfs_mountpoint", "text", "", "salt:// path at which the repository is mounted."),
    ("gitfs_saltenv", "list", [], "Refs by saltenv."),
    ("gitfs_saltenv_whitelist", "any", [], "Only these saltenvs."),
    ("gitfs_saltenv_blacklist", "any", [], "Not these saltenvs."),
    ("gitfs_ref_types", "list", ["branch", "tag", "sha"], "Kinds of refs that become saltenvs."),
    ("gitfs_refspecs", "list", _REFSPECS, "What is fetched."),
    ("gitfs_disable_saltenv_mapping", "bool", False, "Use only refs that gitfs_saltenv names."),
    ("gitfs_fallback", "text", "", "Ref for a saltenv that has none."),
    ("gitfs_depth", "int", 1, "Depth of clones; 0 is everything."),
    ("gitfs_ssl_verify", "bool", True, "Whether the server's certificate is checked."),
    ("gitfs_insecure_auth", "bool", False, "Whether a password may travel over http."),
    ("gitfs_update_interval", "int", 60, "Seconds for which a fetch is fresh."),
    ("gitfs_global_lock", "bool", True, "Accepted; locks belong to each repository."),
    ("git_pillar_base", "text", "master", "Branch that is the pillar environment base."),
    ("git_pillar_branch", "text", "master", "Branch of a remote that names none."),
    ("git_pillar_env", "text", "", "Pillar environment of a remote that names none."),
    ("git_pillar_root", "text", "", "Folder inside of the repository."),
    ("git_pillar_ref_types", "list", ["branch", "tag", "sha"], "Kinds of refs."),
    ("git_pillar_refspecs", "list", _REFSPECS, "What is fetched."),
    ("git_pillar_disable_saltenv_mapping", "bool", False, "No pillar environment by branch name."),
    ("git_pillar_fallback", "text", "", "Ref for an environment that has none."),
    ("git_pillar_includes", "bool", True, "Whether pillar SLS can include files of all git_pillar repositories."),
    ("git_pillar_depth", "int", 1, "Depth of clones."),
    ("git_pillar_ssl_verify", "bool", True, "Whether the server's certificate is checked."),
    ("git_pillar_insecure_auth", "bool", False, "Whether a password may travel over http."),
    ("git_pillar_update_interval", "int", 60, "Seconds for which a fetch is fresh."),
    ("git_pillar_global_lock", "bool", True, "Accepted; locks belong to each repository."),
    # pillar
    ("pillar_roots", "roots", {"base": ["/srv/pillar", "/srv/spm/pillar"]}, "Folders of pillar SLS, by pillarenv."),
    ("pillarenv_from_saltenv", "bool", False, "Use the saltenv as pillarenv if none is given."),
    ("pillar_source_merging_strategy", "text", "smart", "smart, recurse, aggregate, overwrite or none."),
    ("pillar_includes_override_sls", "bool", False, "An included SLS wins over the including one."),
    ("pillar_mask_output", "bool", True, "Mask values in the output of pillar functions."),
    ("pillar_opts", "bool", False, "Put the configuration into pillar as `master`."),
    ("pillar_cache", "bool", True, "Keep each target's pillar, encrypted, for targeting."),
    ("pillar_cache_backend", "text", "disk", "Accepted; it is kept on disk."),
    ("pillar_cache_ttl", "int", 3600, "Accepted; states and templates never see cached pillar."),
    ("decrypt_pillar", "any", [], "Pillar keys to decrypt, each with an optional renderer."),
    ("decrypt_pillar_default", "text", "gpg", "Renderer of keys that name none."),
    ("decrypt_pillar_delimiter", "text", ":", "Separates nested keys in decrypt_pillar."),
    ("decrypt_pillar_renderers", "list", ["gpg"], "Renderers that decrypt_pillar may use."),
    ("on_demand_ext_pillar", "list", ["libvirt", "virtkey"], "External pillars that pillar.ext may call."),
    ("gpg_cache", "bool", False, "Cache decrypted values."),
    ("gpg_cache_backend", "text", "disk", "The cache of decrypted values."),
    ("gpg_cache_ttl", "int", 86400, "Seconds for which decrypted values are cached."),
    ("gpg_decrypt_must_succeed", "bool", True, "A value that cannot be decrypted is an error."),
    # rendering
    ("renderer", "text", "jinja|yaml", "Renderers of an SLS without a #! line."),
    ("renderer_whitelist", "list", [], "Only these renderers."),
    ("renderer_blacklist", "list", [], "Not these renderers."),
    ("jinja_env", "map", {}, "Options of the Jinja environment for file templates."),
    ("jinja_sls_env", "map", {}, "Options of the Jinja environment for SLS."),
    ("jinja_trim_blocks", "bool", False, "Jinja's trim_blocks."),
    ("jinja_lstrip_blocks", "bool", False, "Jinja's lstrip_blocks."),
    ("stateconf_end_marker", "text", UNSET, "Ends the part of a stateconf SLS that sets values."),
    ("allow_undefined", "bool", False, "Undefined variables render as empty text instead of being an error."),
    # states
    ("state_top", "text", "top.sls", "Name of the top file."),
    ("state_top_saltenv", "text", None, "Use only this saltenv's top file."),
    ("top_file_merging_strategy", "text", "merge", "merge, merge_all or same."),
    ("master_tops_first", "bool", False, "External top data before the top file."),
    (
        "test_template_functions",
        "text",
        "refuse",
        "In a dry run, calls of functions that change the system, or do not declare whether: refuse, warn or allow.",
    ),
    ("test_template_allow", "list", [], "Globs of functions that may always be called in a dry run."),
    ("test_template_refuse", "list", [], "Globs of functions that may not be called in a dry run."),
    ("optimization_order", "list", [0, 1, 2], "Accepted; order of Python bytecode levels."),
    # plug-ins
    ("module_dirs", "paths", [], "Folders of plug-ins, each with _modules, _states ... or modules, states ..."),
    ("extension_modules", "path", "", "A folder of the controller's own plug-ins: pillar, tops, outputters."),
    ("extmod_whitelist", "map", {}, "Only these plug-ins of the file roots, by kind."),
    ("extmod_blacklist", "map", {}, "Not these plug-ins of the file roots, by kind."),
    ("clean_dynamic_modules", "bool", True, "Accepted; modules that a run does not need are never sent."),
    ("winrepo_dir", "text", "/srv/salt/win/repo", "Windows package definitions."),
    ("winrepo_dir_ng", "text", "/srv/salt/win/repo-ng", "Windows package definitions."),
    # words
    ("log_fmt_console", "text", "[%(levelname)-8s] %(message)s", "Shape of messages on stderr."),
    ("log_granular_levels", "map", {}, "Levels by logger name."),
)

_SENT: Final = _of(
    "both",
    ("file_client", "text", "local", "Always local: files are served by the controller."),
    ("hash_type", "text", "sha256", "Digest that cp.hash_file and others give by default."),
    ("default_top", "text", "base", "saltenv whose top file is used by the merging strategy `same`."),
    ("pillarenv", "text", None, "Pillar environment; all of them when not set."),
    ("pillar_merge_lists", "bool", False, "Append lists of several pillar SLS instead of replacing them."),
    ("pillar_raise_on_missing", "bool", False, "pillar.get raises KeyError for missing keys."),
    ("saltenv", "text", None, "saltenv of commands that name none."),
    ("lock_saltenv", "bool", False, "Refuse any other saltenv."),
    ("failhard", "bool", False, "Stop a target at its first failed state."),
    ("state_aggregate", "any", False, "Combine states that one call can establish: true, or a list of state modules."),
    ("state_auto_order", "bool", True, "States run in the order in which they are written."),
    ("state_events", "bool", False, "Write an event for each completed state: see docs/events.md."),
    ("state_max_parallel", "int", 0, "Most concurrent states with `parallel: true`; 0: 16."),
    ("state_output", "text", "full", "How much of each state is shown."),
    ("state_output_diff", "bool", False, "Show only states with changes."),
    ("state_output_exclude", "any", [], "Results that the mode `filter` does not show: True, False, None."),
    ("state_output_terse", "any", [], "Results of which the mode `filter` shows one line: True, False, None."),
    ("state_output_profile", "bool", True, "Show start time and duration."),
    ("state_output_pct", "bool", False, "Show percentages in the summary."),
    ("state_verbose", "bool", True, "Show states without changes too."),
    ("state_compress_ids", "bool", False, "Show states with one ID as one."),
    ("state_tabular", "any", False, "Show states as table rows."),
    ("test", "bool", False, "Dry run by default."),
    ("features", "map", {}, "Salt's feature switches."),
    ("http_connect_timeout", "number", 20.0, "Seconds."),
    ("http_request_timeout", "number", 3600.0, "Seconds."),
    ("http_max_body", "int", 107374182400, "Bytes."),
    ("log_level", "text", "warning", "Level of log messages on stderr."),
    ("ipv6", "bool", None, "Prefer IPv6 to IPv4 if a host has both."),
    ("root_dir", "text", "/", "Root folder below which grains and others read files."),
    ("resource_pillar_key", "text", "resources", "The pillar key under which resources are declared."),
    ("user", "text", "", "Accepted; `opts` have the user who executes on the target, or that of its minion_opts."),
    travels=True,
)

_CONTROLLER: Final = _of(
    "controller",
    ("master_tops", "map", {}, "External top data."),
    ("ext_pillar", "list", [], "External pillars in order, each {name: argument}."),
    ("ext_pillar_first", "bool", False, "External pillars before pillar_roots."),
    ("pillar_safe_render_error", "bool", True, "Keep secrets out of errors in pillar SLS."),
    ("gpg_keydir", "path", "", "Folder of the GnuPG key ring; by default /etc/salt/gpgkeys."),
    ("nacl.config", "map", {}, "Keys of the renderer nacl: sk or sk_file, box_type."),
    ("age_identity", "paths", [], "Files of age identities (or SSH keys) for the renderer age, and for sops."),
    ("vault", "map", {}, "Server and login of the sdb driver vault: `server` (url, namespace, verify), `auth`."),
    ("nodegroups", "map", {}, "Named target expressions for -N and N@, in addition to inventory groups."),
    ("ssh_list_nodegroups", "map", {}, "Named lists of ids for -N and N@."),
    ("glob_includes_resources", "bool", True, "A glob with a wildcard also selects resources of a matched id."),
    ("minion_data_cache", "bool", True, "Keep grains and pillar between runs, for targeting."),
    ("default_include", "text", "master.d/*.conf", "Further files of a Salt master configuration."),
    ("include", "any", [], "Further configuration files (globs), the last one wins."),
    ("git_pillar_verify_config", "bool", True, "Check git_pillar remotes at start."),
    ("fileserver_verify_config", "bool", True, "Check the file server at start."),
    ("gitfs_proxy", "text", "", "HTTP proxy."),
    ("gitfs_user", "text", "", "User for http remotes."),
    ("gitfs_password", "text", "", "Password for http remotes."),
    ("gitfs_privkey", "text", "", "Private key for ssh remotes."),
    ("gitfs_pubkey", "text", "", "Public key for ssh remotes."),
    ("gitfs_passphrase", "text", "", "Passphrase of the private key."),
    ("gitfs_renderers", "any", None, "The only renderers that files of remotes may use; unset: all."),
    ("git_pillar_renderers", "any", None, "The only renderers that files of remotes may use; unset: all."),
    ("git_pillar_proxy", "text", "", "HTTP proxy."),
    ("git_pillar_user", "text", "", "User for http remotes."),
    ("git_pillar_password", "text", "", "Password for http remotes."),
    ("git_pillar_privkey", "text", "", "Private key for ssh remotes."),
    ("git_pillar_pubkey", "text", "", "Public key for ssh remotes."),
    ("git_pillar_passphrase", "text", "", "Passphrase of the private key."),
    # rosters
    ("roster", "any", "flat", "Rosters of your own that make the inventory when no -i is given; flat is a file."),
    ("roster_file", "path", "", "Inventory when no -i is given."),
    ("roster_defaults", "map", {}, "Settings below those of every host."),
    ("ssh_user", "text", "", "Login of hosts that name none; Salt's own default, root, holds only when set."),
    ("ssh_port", "any", "", "Port of hosts that name none."),
    ("ssh_passwd", "text", "", "Password of hosts that name none."),
    ("ssh_priv", "text", "", "Private key of hosts that name none."),
    ("ssh_priv_passwd", "text", "", "Its passphrase."),
    ("ssh_sudo", "bool", False, "Use sudo on hosts without the setting `sudo`."),
    ("ssh_sudo_user", "text", "", "User to become."),
    ("ssh_timeout", "number", None, "Seconds that connecting may take."),
    ("ssh_identities_only", "bool", False, "Do not offer keys of the SSH agent."),
    ("ssh_minion_opts", "map", {}, "Minion options of every host."),
    ("template_cache", "bool", True, "Keep compiled templates in the user's own cache folder between runs."),
    ("salt_python", "path", "", "A Python with real Salt, for modules that pushsalt does not have."),
    ("known_hosts_file", "path", "", "File of host keys in place of the user's known_hosts."),
    ("ssh_config_file", "text", "~/.ssh/config", "OpenSSH client configuration to use."),
    ("pass_to_ext_pillars", "any", None, "Options that are passed to external pillars."),
    ("cachedir", "path", "", "Salt's name for cache_dir; that of a Salt master's configuration is not used."),
    # pushsalt's own
    ("inventory", "paths", [], "Inventories when no -i is given."),
    ("ansible_vault_password_file", "path", "", "File, or program, that gives the password of Ansible vaults."),
    ("batch", "text", "", "Batches of `apply` and `run`, as for --batch: a number, a percentage, or steps."),
    ("batch_wait", "number", 0, "Seconds before the next batch."),
    ("batch_safe_limit", "int", 0, "Use batches for this number of targets or more; 0: never."),
    ("batch_safe_size", "text", "8%", "Size of these batches."),
    ("cache_life", "number", 86400.0, "Age in seconds of cached grains and pillar that causes a warning."),
    ("resource_types", "any", [], "Types of resources that discovery looks for on every target."),
    ("cache_dir", "path", "", "Grains, pillar, job and resource caches; the user's cache folder by default."),
    ("job_cache", "bool", True, "Keep each job, with its returns, below cache_dir: see docs/jobs.md."),
    ("keep_jobs_seconds", "int", 86400, "Seconds for which jobs are kept; 0: only keep_jobs_size limits them."),
    ("keep_jobs", "int", UNSET, "Salt's former name of keep_jobs_seconds, in hours."),
    ("keep_jobs_size", "bytes", 256 * 1024**2, "Bytes of kept jobs above which the oldest are removed; 0: no limit."),
    (
        "event_journal",
        "journal",
        True,
        "Write events into a journal: below cache_dir, or in JetStream; docs/events.md.",
    ),
    ("keep_events_seconds", "int", 604800, "Seconds for which events are kept; 0: only keep_events_size limits them."),
    ("keep_events_size", "bytes", 128 * 1024**2, "Bytes of events above which the oldest are removed; 0: no limit."),
    ("reactor", "any", [], "Reactor SLS by globs of tags, or a file that has them: see docs/reactor.md."),
    ("reactor_worker_threads", "int", 10, "Concurrent reactions."),
    ("external_auth", "map", {}, "Accounts of `pushsalt serve`, and what they may call: see docs/serve.md."),
    ("sharedsecret", "text", "", "The password of all accounts of the eauth module `sharedsecret`."),
    ("rest_cherrypy", "map", {}, "`pushsalt serve`: address, certificate, limits, webhooks: see docs/serve.md."),
    ("netapi_enable_clients", "list", [], "The only clients of `pushsalt serve`; empty: all that it has."),
    ("token_expire", "int", 43200, "Seconds for which a token of `pushsalt serve` is valid."),
    ("token_expire_user_override", "any", False, "Whether a login may name this time: true, or users by eauth module."),
    ("rest_timeout", "number", 300, "Seconds that `pushsalt serve` waits for a runner function."),
    ("permissive_acl", "bool", False, "The account `*` of an eauth module counts for accounts with their own, too."),
    ("concurrency", "int", None, "Concurrent connections."),
    ("connect_timeout", "number", None, "Seconds for connecting to a host without `timeout`."),
    (
        "reconnect",
        "number",
        60.0,
        "Seconds of attempts to restore a connection that broke in a run of states; 0: the run ends.",
    ),
    ("workers", "text", "", "NATS servers whose workers run jobs, for example nats://localhost: see docs/workers.md."),
    ("session", "text", "", "Time for which unused connections are kept for later commands: 10m; 0 keeps none."),
    ("accept_new_host_keys", "bool", False, "Add unknown host keys to known_hosts; changed ones are refused."),
    ("return", "any", [], "Returners that get the returns of every job, in addition to those of `--return`."),
    ("return_config", "text", "", "The profile of returners' options if the command names none."),
    ("return_timeout", "number", 10.0, "Seconds for one call of a returner, and for all calls at a command's end."),
    ("return_spool_size", "bytes", 64 * 1024**2, "Bytes of returns that are stored for an unavailable returner."),
    ("event_return", "any", [], "Returners that get the events of every job."),
    ("event_return_whitelist", "list", [], "Only events with these tags: globs or regular expressions."),
    ("event_return_blacklist", "list", [], "Not events with these tags."),
    ("ext_job_cache", "any", "", "A returner that gets every job and its targets' returns."),
    ("bootstrap", "bool", False, "Install Python by the system's package manager on targets that have none."),
    ("formula_base_url", "text", "https://github.com/saltstack-formulas", "URLs where `formula add NAME` searches."),
    ("check", "map", {}, "`pushsalt check`: `systems` (names, files of grains), `levels` (rule: level or off)."),
    ("strict_arguments", "text", "near", "Check of unknown arguments of states: error, near (misspelt), warn, off."),
    ("git_timeout", "number", 60.0, "Seconds without data from a git server after which the operation fails."),
    ("gitfs_filter", "text", "", "Partial clones, for example blob:none, where the server allows."),
    ("git_pillar_filter", "text", "", "Partial clones, for example blob:none, where the server allows."),
    ("secret_keys", "list", list(SECRET_KEYS), "Globs of pillar keys whose values are hidden wherever they are shown."),
    ("render_memory", "bytes", 1024**3, "Memory that rendering one target may take: bytes, or 512MiB, 2GiB."),
    ("render_cache", "bool", True, "Render once for targets with the same inputs; in memory only."),
    ("salt_python", "path", "", "A Python that has real Salt, for modules that pushsalt does not ship."),
)

_MINION: Final = _of(
    "minion",
    ("master", "any", "salt", "The value of the option `master` that formulas read."),
    ("grains", "map", {}, "Static grains of every target."),
    ("grains_blacklist", "list", [], "Globs of grains that are left out."),
    ("grains_deep_merge", "bool", False, "Merge custom grains into nested ones."),
    ("enable_fqdns_grains", "bool", False, "Look up the fqdns grain (asks the resolver)."),
    ("enable_gpu_grains", "bool", True, "Look for graphics cards."),
    ("enable_lspci", "bool", True, "Use lspci for that."),
    ("disable_modules", "list", [], "Execution modules that do not exist."),
    ("disable_states", "list", [], "State modules that do not exist."),
    ("whitelist_modules", "list", [], "Only these execution modules."),
    ("whitelist_state_modules", "list", [], "Only these state modules."),
    ("providers", "map", {}, "Module that serves a virtual name, such as {pkg: aptpkg}."),
    ("pkg_lock_timeout", "int", 300, "Seconds to wait for another process that holds a package manager's lock."),
    ("yum_provider", "text", "", "Accepted; packages of rpm are always handled by the system's own commands."),
    ("aptpkg_refresh_db_timeout", "int", None, "Seconds after which an update of apt's lists is ended."),
    ("disabled_requisites", "list", [], "Requisites that are ignored."),
    ("global_state_conditions", "any", None, "Conditions by state function for all states."),
    ("backup_mode", "text", "", "Default of `backup` for changed files."),
    (
        "backups",
        "bool",
        False,
        "Store files that `file` states change on the target, for `pushsalt undo` (`--backups` for one run).",
    ),
    ("cmd_safe", "bool", True, "cmd functions use no shell by default."),
    ("proxy_host", "text", "", "HTTP proxy of modules."),
    ("proxy_port", "int", 0, "Its port."),
    ("no_proxy", "list", [], "Hosts without it."),
    ("mine_functions", "map", {}, "Functions whose returns go to the mine."),
    ("mine_enabled", "bool", True, "Collect the mine with the grains, and after runs of states."),
    ("mine_interval", "int", 60, "Minutes after which a run of states collects the mine again."),
    ("x509_signing_policies", "map", {}, "Policies of the x509 module, for names that the pillar does not have."),
    ("ssh_signing_policies", "map", {}, "Policies of the ssh_pki module, for names that the pillar does not have."),
    ("ca.cert_base_path", "text", "/etc/pki", "Folder of the tls module's authorities."),
    travels=True,
)

_ACCEPTED: Final = _of(
    "minion",
    ("id_function", "map", {}, "Accepted."),
    ("multiprocessing", "bool", True, "Accepted."),
    ("process_count_max", "int", -1, "Accepted."),
    ("state_queue", "any", False, "Wait for a running state run instead of refusing."),
    ("autoload_dynamic_modules", "bool", True, "Send plug-ins of the file roots."),
    ("startup_states", "text", "", "Accepted."),
    ("sls_list", "list", [], "Accepted."),
    ("top_file", "text", "", "Accepted."),
    ("sudo_user", "text", "", "Accepted; the inventory decides."),
    ("snapper_states", "bool", False, "Accepted."),
    ("snapper_states_config", "text", "root", "Accepted."),
    ("use_master_when_local", "bool", False, "Accepted."),
    ("cython_enable", "bool", False, "Accepted."),
    ("beacons", "map", {}, "Beacons of all targets: see docs/watch.md."),
    ("schedule", "map", {}, "Jobs that `pushsalt watch` runs: see docs/watch.md."),
    ("saltpip_allow_find_links", "bool", True, "Accepted."),
)

#: Options that modules read from a minion's configuration, and that have no default in ``opts``. Credentials
#: (mysql.pass, s3.key) are not among them: they belong into pillar, or into the ``minion_opts`` of a host.
_OF_MODULES: Final = _of(
    "minion",
    ("hosts.file", "text", UNSET, "The file of the hosts module."),
    ("aliases.file", "text", UNSET, "The file of the aliases module."),
    ("service.config", "text", UNSET, "The file of the service module on FreeBSD."),
    ("iptables.save_filters", "list", UNSET, "Patterns of rules that iptables.save leaves out."),
    ("ca_bundle", "text", UNSET, "Certificates that the http module trusts."),
    ("verify_ssl", "bool", UNSET, "Whether the http module checks certificates."),
    ("fips_mode", "bool", UNSET, "Use only algorithms that FIPS allows."),
    ("cmd_whitelist_glob", "list", UNSET, "Globs of the only commands that the cmd module runs."),
    ("cmd_blacklist_glob", "list", UNSET, "Globs of commands that the cmd module does not run."),
    ("state_runs_disabled", "list", UNSET, "Globs of SLS that do not run."),
    ("obfuscate_templates", "bool", UNSET, "Show no diffs of files made by templates."),
    ("venv_bin", "text", UNSET, "The program that makes virtual environments."),
    ("append_domain", "text", UNSET, "Domain that is appended to ids without one."),
    ("iscsi_grains", "bool", UNSET, "Collect names of iSCSI initiators."),
    ("fibre_channel_grains", "bool", UNSET, "Collect addresses of fibre channel adapters."),
    ("nvme_grains", "bool", UNSET, "Collect names of NVMe hosts."),
    ("output_indent", "any", UNSET, "Indentation of the out module."),
    travels=True,
)

_ALL: Final = (*_BOTH, *_SENT, *_CONTROLLER, *_MINION, *_ACCEPTED, *_OF_MODULES)

#: every option by name
OPTIONS: Final[Mapping[str, Option]] = MappingProxyType({row.name: row for row in _ALL})

#: The defaults of the options that targets get, by name. The runtime contains them, so that only others are sent.
TARGET_DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {row.name: row.default for row in _ALL if row.scope != "controller" and row.default is not UNSET}
)

#: Options whose value is one of a few words. Another value causes a warning, and then has Salt's meaning.
CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "strict_arguments": ("error", "near", "warn", "off"),
        "hash_type": ("sha256", "sha512", "sha384", "sha224", "sha1", "md5"),
        "pillar_source_merging_strategy": ("smart", "recurse", "aggregate", "list", "overwrite", "none"),
    }
)


def has_secrets(name: str) -> bool:
    """Whether the option's value may contain secrets; daemons use `token` and `secret` in names of other options."""
    from pushsalt.daemonoptions import belongs_to_daemons  # imported late: a long table, only for unknown options

    is_returners = not {"returner", "smtp", "slack_webhook"}.isdisjoint(name.split("."))
    return name != "secret_keys" and (name in OPTIONS or is_returners or not belongs_to_daemons(name))
