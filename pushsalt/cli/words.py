"""Options of salt, salt-ssh and Ansible, and pushsalt's equivalents, for the parser and for docs/words.md.

A row has the tools, one option in all its spellings, the treatment, and its argument:

TAKEN     the spellings are accepted for this option of ours (or are the same)
IDLE      accepted without effect: the reason
ANSWERED  an error: the replacement
OTHER     our option of this name has another meaning: which, and the replacement

Salt's options have precedence over Ansible's. For all tools of a row, the option has the same meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

TAKEN: Final = "taken as"
IDLE: Final = "accepted, without effect"
ANSWERED: Final = "answered"
OTHER: Final = "means something else"


class Row(NamedTuple):
    tools: str
    words: str
    verb: str
    text: str


_SALT = "salt"
_SSH = "salt-ssh"
_BOTH = "salt, salt-ssh"
_ADHOC = "ansible"
_PLAYBOOK = "ansible-playbook"
_ANSIBLE = "ansible, ansible-playbook"

_SENT = "omit it: files and modules are sent when they are needed"
_LOGIN = "there is no master to authenticate to; for the SSH login see --user and --priv"
_ROSTER = "name the inventory, of any format: -i FILE"
_SSH_OPTIONS = "write `ssh_options: [...]` into the inventory, or into ~/.ssh/config"
_KEEPALIVE = "omit it: keepalives are always enabled"
_NEVER_GIVEN = (
    "no password belongs in a command line: use -k, or `passwd`, `passwd_command` or `priv_passwd` in the inventory"
)
_BACKGROUND = "--detach runs them on the targets without the command; `pushsalt jobs wait JID` collects the returns"
_RETURN_KWARGS = "write the options into a profile of the configuration: --return-config PROFILE"
_VAULT = "set ANSIBLE_VAULT_PASSWORD_FILE, or `ansible_vault_password_file` in pushsalt.yaml"


ROWS: Final = tuple(
    Row(*row)
    for row in (
        # files and inventory
        (_BOTH, "-c --config-dir", TAKEN, "--config"),
        (_BOTH, "--saltfile", ANSWERED, "set SALT_SALTFILE=FILE; a Saltfile in the working folder is found"),
        (_SSH, "--roster-file", TAKEN, "--inventory"),
        (_SSH, "--roster", ANSWERED, _ROSTER),
        (_ANSIBLE, "-i --inventory --inventory-file", TAKEN, "--inventory"),
        (_SSH, "-i", OTHER, "names an inventory; for new host keys: --accept-new-host-keys"),
        (_ADHOC, "--playbook-dir", ANSWERED, "name the folder of states: --file-root DIR"),
        (_ANSIBLE, "-M --module-path", ANSWERED, "write `module_dirs: [DIR]` into pushsalt.yaml"),
        (_SSH, "--update-roster", ANSWERED, "write the host into the inventory"),
        (_SSH, "--scan-ports --scan-timeout", ANSWERED, "networks are not scanned; " + _ROSTER),
        (
            _SALT,
            "--config-dump",
            ANSWERED,
            "pushsalt inventory show ID --explain shows the settings of a target and their origin",
        ),
        (_ANSIBLE, "--vault-id --vault-password-file --vault-pass-file", ANSWERED, _VAULT),
        (_ANSIBLE, "--ask-vault-password --ask-vault-pass", ANSWERED, _VAULT),
        # selecting targets
        (_BOTH, "-E --pcre", TAKEN, "--pcre"),
        (_BOTH, "-L --list", TAKEN, "--list"),
        (_BOTH, "-G --grain", TAKEN, "--grain"),
        (_BOTH, "-P --grain-pcre", TAKEN, "--grain-pcre"),
        (_BOTH, "-N --nodegroup", TAKEN, "--nodegroup"),
        (_SALT, "-C --compound", TAKEN, "--compound"),
        (_SALT, "-I", TAKEN, "-I"),
        (_SALT, "--pillar", OTHER, "is pillar data for the run, in YAML or JSON; to match by pillar: -I"),
        (_SALT, "-J --pillar-pcre", TAKEN, "--pillar-pcre"),
        (_SALT, "-S --ipcidr", TAKEN, "--ipcidr"),
        (
            _BOTH,
            "-R --range",
            ANSWERED,
            "range servers are not supported: use -L for a list, -E for a regular expression, -N for a group",
        ),
        (_BOTH, "--delimiter", TAKEN, "--delimiter"),
        (_BOTH, "-H --hosts", ANSWERED, "pushsalt inventory list"),
        (_SALT, "--preview-target", ANSWERED, "pushsalt target EXPR"),
        (_ANSIBLE, "--list-hosts", ANSWERED, "pushsalt target EXPR"),
        (_SALT, "--subset", TAKEN, "--subset"),
        (_ANSIBLE, "-l", OTHER, "is the log level; limit the targets with TARGET: -C 'web* and not db1'"),
        (
            _ANSIBLE,
            "--limit",
            OTHER,
            "selects the first N targets; limit the targets with TARGET: -C 'web* and not db1'",
        ),
        (_SSH, "--refresh --refresh-cache", TAKEN, "--refresh"),
        (_ANSIBLE, "--flush-cache", TAKEN, "--refresh"),
        # login
        (_SSH, "--user", TAKEN, "--user"),
        (_ANSIBLE, "-u --user", TAKEN, "--user"),
        (_SSH, "--priv", TAKEN, "--priv"),
        (_ANSIBLE, "--private-key --key-file", TAKEN, "--priv"),
        (_SSH, "--passwd --priv-passwd", ANSWERED, _NEVER_GIVEN),
        (_SSH, "--askpass", TAKEN, "--ask-pass"),
        (_ANSIBLE, "-k --ask-pass", TAKEN, "--ask-pass"),
        (
            _ANSIBLE,
            "--connection-password-file --conn-pass-file",
            ANSWERED,
            "`passwd_command: cat FILE` in the inventory",
        ),
        (_SSH, "--sudo", TAKEN, "--sudo"),
        (_ANSIBLE, "--become", TAKEN, "--sudo"),
        (_ANSIBLE, "-b", OTHER, "is Salt's --batch, the number of targets at a time; to become root: --sudo"),
        (_ANSIBLE, "--become-user", ANSWERED, "write `sudo_user: NAME` into the inventory"),
        (_ANSIBLE, "--become-method", ANSWERED, "`become: sudo`, `su`, `doas` or `run0` in the inventory"),
        (_ANSIBLE, "-K --ask-become-pass", TAKEN, "--ask-become-pass"),
        (
            _ANSIBLE,
            "--become-password-file --become-pass-file",
            ANSWERED,
            "`sudo_password_command: cat FILE` in the inventory",
        ),
        (
            _SSH,
            "--ignore-host-keys --no-host-keys",
            ANSWERED,
            "host keys are always checked; use --accept-new-host-keys once for new ones",
        ),
        (_SSH, "--identities-only", ANSWERED, "write `ssh_identities_only: true` into pushsalt.yaml"),
        (_SSH, "--key-deploy", ANSWERED, "use ssh-copy-id HOST to install a key, or pushsalt ca for certificates"),
        (_SSH, "--ssh-option", ANSWERED, _SSH_OPTIONS),
        (_ANSIBLE, "--ssh-common-args --ssh-extra-args", ANSWERED, _SSH_OPTIONS),
        (
            _ANSIBLE,
            "--sftp-extra-args --scp-extra-args",
            ANSWERED,
            "files use the same SSH connection; " + _SSH_OPTIONS,
        ),
        (_SSH, "--remote-port-forwards", ANSWERED, "ports are not forwarded: use ssh -R separately"),
        (_SSH, "--disable-keepalive --keepalive-interval --keepalive-count-max", ANSWERED, _KEEPALIVE),
        (_ANSIBLE, "-c", OTHER, "names the configuration; the transport of a host is `transport` in the inventory"),
        (_ANSIBLE, "--connection", ANSWERED, "write `transport: ssh|local` into the inventory"),
        (_SALT, "-a --auth --eauth --external-auth -T --make-token", ANSWERED, _LOGIN),
        (_SALT, "--username --password", ANSWERED, _LOGIN),
        # states and functions
        (_ANSIBLE, "--check", TAKEN, "--test"),
        (_ANSIBLE, "-C", OTHER, "is Salt's --compound, an expression for targets; for a dry run: --test or --check"),
        (_ANSIBLE, "-D --diff", IDLE, "diffs are always shown; --full-diff shows all lines of long ones"),
        (_ANSIBLE, "-e --extra-vars", ANSWERED, "--pillar '{key: value}', or --pillar @FILE"),
        (_ADHOC, "-m --module-name", ANSWERED, "pushsalt run TARGET MODULE.FUNCTION [ARG ...]"),
        (_ADHOC, "-a --args", ANSWERED, "write arguments after the function: pushsalt run TARGET cmd.run 'df -h'"),
        (_PLAYBOOK, "--tags", ANSWERED, "name the SLS: apply TARGET SLS, or one ID: run TARGET state.sls_id ID SLS"),
        (_PLAYBOOK, "--skip-tags", ANSWERED, "name the SLS to apply: pushsalt apply TARGET SLS"),
        (_PLAYBOOK, "--list-tasks", ANSWERED, "pushsalt run TARGET state.show_lowstate, or apply --test"),
        (_PLAYBOOK, "--list-tags", ANSWERED, "states have no tags; pushsalt run TARGET state.show_top lists the SLS"),
        (_PLAYBOOK, "--syntax-check", ANSWERED, "pushsalt check [PATH]"),
        (_PLAYBOOK, "--start-at-task", ANSWERED, "to apply one ID: pushsalt run TARGET state.sls_id ID SLS"),
        (_PLAYBOOK, "--step", ANSWERED, "use a dry run: --test"),
        (_PLAYBOOK, "--force-handlers", ANSWERED, "use requisites of the state: `onchanges`, `onfail`, `listen`"),
        (_SALT, "-d --doc --documentation", ANSWERED, "pushsalt run TARGET sys.doc MODULE.FUNCTION"),
        (_SALT, "--args-separator", ANSWERED, "a command calls one function: write several commands"),
        (
            _SALT,
            "--args-stdin",
            ANSWERED,
            "write arguments after the function; xargs reads them from stdin",
        ),
        (_BOTH, "--no-parse", ANSWERED, "quote texts twice: \"'0644'\""),
        (_SALT, "--module-executors --executor-opts", ANSWERED, "write `sudo` and `sudo_user` into the inventory"),
        (_SSH, "-r --raw --raw-shell", TAKEN, "--raw"),
        (
            _SSH,
            "--pre-flight",
            ANSWERED,
            "no script runs before the job: use pushsalt run TARGET cmd.script FILE",
        ),
        (_SSH, "-w --wipe", ANSWERED, "run pushsalt clean TARGET afterwards"),
        (_SSH, "-W --rand-thin-dir", ANSWERED, "write `thin_dir` into the inventory; the folder is private"),
        (_SSH, "--regen-thin --thin", IDLE, "changed files are sent automatically"),
        (
            _SSH,
            "-t",
            OTHER,
            "is salt's --timeout, seconds until the job is stopped; changed files are sent automatically",
        ),
        (
            _SSH,
            "--relenv --python2-bin --python3-bin",
            ANSWERED,
            "the target's Python is used; `python: PATH` in the inventory names it",
        ),
        (_SSH, "--extra-filerefs --min-extra-modules --thin-extra-modules --thin-exclude-saltexts", ANSWERED, _SENT),
        # execution
        (_SALT, "-b --batch --batch-size", TAKEN, "--batch"),
        (_SALT, "--batch-wait", TAKEN, "--batch-wait"),
        (_SALT, "--batch-safe-limit", TAKEN, "--batch-safe-limit"),
        (_SALT, "--batch-safe-size", TAKEN, "--batch-safe-size"),
        (_SALT, "--failhard", TAKEN, "--fail-fast"),
        (_SSH, "--max-procs", TAKEN, "--concurrency"),
        (_ANSIBLE, "-f --forks", TAKEN, "--concurrency"),
        (_SALT, "-t --timeout", TAKEN, "--timeout"),
        (_ANSIBLE, "--timeout", OTHER, "limits the job on a target; `timeout` in the inventory limits connecting"),
        (_ANSIBLE, "-T", ANSWERED, "`timeout` in the inventory limits connecting, --timeout the job"),
        (_ADHOC, "--task-timeout", ANSWERED, "--timeout limits the job; cmd.run has an argument `timeout`"),
        (_SALT, "--async", TAKEN, "--detach"),
        (_ADHOC, "-B --background --poll", ANSWERED, _BACKGROUND),
        (_ADHOC, "-P", OTHER, "is Salt's --grain-pcre, a regular expression for a grain; " + _BACKGROUND),
        (_SSH, "--jid", ANSWERED, "omit it: a command ends with its job"),
        (_SALT, "--show-jid", ANSWERED, "omit it: a command ends with its job"),
        (_SALT, "--metadata --start-event", ANSWERED, "omit it: there is no event bus, results are in the output"),
        # output
        (_BOTH, "--out --output", TAKEN, "--out"),
        (_BOTH, "--out-indent --output-indent", ANSWERED, "--out json | jq --indent N ."),
        (_BOTH, "--out-file --output-file", ANSWERED, "pushsalt ... > FILE"),
        (_BOTH, "--out-file-append --output-file-append", ANSWERED, "pushsalt ... >> FILE"),
        (_BOTH, "--no-color --no-colour", TAKEN, "--no-color"),
        (_BOTH, "--force-color --force-colour", ANSWERED, "FORCE_COLOR=1 pushsalt ..."),
        (_BOTH, "--state-output --state_output", TAKEN, "--state-output"),
        (_BOTH, "--state-verbose --state_verbose", TAKEN, "--state-verbose"),
        (_SALT, "--output-diff", ANSWERED, "--state-output changes"),
        (_BOTH, "-s --static", IDLE, "results are shown together; --out ndjson writes each when it arrives"),
        (_SALT, "-p --progress", IDLE, "progress is always shown, on stderr"),
        (_SALT, "--summary", OTHER, "writes a summary to a file; one is always at the end of the output"),
        (_SALT, "--hide-timeout", ANSWERED, "targets without an answer are always reported, with exit code 3"),
        (_SALT, "--return", TAKEN, "--return"),
        (_SALT, "--return_config", TAKEN, "--return-config"),
        (_SALT, "--return_kwargs", ANSWERED, _RETURN_KWARGS),
        (_ADHOC, "-o --one-line", ANSWERED, "--out ndjson, or for states --state-output terse"),
        (
            _ADHOC,
            "-t",
            OTHER,
            "is Salt's --timeout, seconds until the job is stopped; to store returns: --out json > FILE",
        ),
        (_ADHOC, "--tree", ANSWERED, "--out json > FILE"),
        (
            _PLAYBOOK,
            "-t",
            OTHER,
            "is Salt's --timeout, seconds until the job is stopped; to select states, name the SLS",
        ),
        (f"{_BOTH}, {_ANSIBLE}", "-v --verbose", TAKEN, "--verbose"),
        (_BOTH, "-l --log-level", TAKEN, "--log-level"),
        (_BOTH, "--log-file", TAKEN, "--log-file"),
        (_BOTH, "--log-file-level", TAKEN, "--log-file-level"),
        (_BOTH, "--hard-crash", ANSWERED, "-l debug shows tracebacks"),
        (_ANSIBLE, "-J", OTHER, "is Salt's --pillar-pcre, a regular expression for pillar; for vaults: " + _VAULT),
        (f"{_BOTH}, {_ANSIBLE}", "-h --help", TAKEN, "--help"),
        (f"{_BOTH}, {_ANSIBLE}", "--version", TAKEN, "--version"),
        (_BOTH, "-V --versions-report", ANSWERED, "pushsalt --version"),
    )
)


def also(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The other spellings of our option with these flags."""
    return tuple(dict.fromkeys(word for flag in flags for word in _TAKEN.get(flag, ()) if word not in flags))


def own(spellings: Sequence[str]) -> Sequence[str]:
    """Our own spellings among all spellings of an option; those of other tools come after the first one."""
    for at, flag in enumerate(spellings, 1):
        if flag in _TAKEN:
            return spellings[:at]
    return spellings


def answer(word: str) -> tuple[str, str] | None:
    """(tool, replacement) of an option with treatment ANSWERED; None for other words."""
    rows = [row for row in ROWS if row.verb == ANSWERED and word in row.words.split()]
    if not rows:
        return None
    hints = dict.fromkeys(row.text for row in rows)
    if len(hints) > 1:
        hints = dict.fromkeys(f"{row.tools}: {row.text}" for row in rows)
    return ", ".join(row.tools for row in rows), "; ".join(hints)


def other_meaning(word: str) -> str:
    """A hint on what a pushsalt option means in other tools, where that differs; empty if it does not differ."""
    rows = [row for row in ROWS if row.verb == OTHER and word in row.words.split()]
    return "; ".join(dict.fromkeys(f"{word} {row.text}" for row in rows))


_TAKEN: dict[str, list[str]] = {}
for _row in ROWS:
    if _row.verb == TAKEN:
        _TAKEN.setdefault(_row.text, []).extend(_row.words.split())

#: The options that are accepted without effect; none of them has a value.
IDLE_WORDS: Final = tuple(word for row in ROWS if row.verb == IDLE for word in row.words.split())
