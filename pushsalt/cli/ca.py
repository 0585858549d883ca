"""``pushsalt ca``: SSH certificates of a root, its environments' authorities, users and hosts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pushsalt.cli.answer import write
from pushsalt.cli.app import Actions, Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, MATCHERS, OUTPUT, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import EXIT_FAILED, CommandError, UsageError

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.ca.folder import Folder
    from pushsalt.ca.setup import KeyChoice, Rules

EXAMPLES = """
pushsalt ca init prod --role web --role db          a root, and the environment prod
pushsalt ca sign-user --env prod --role web --valid 8h ~/.ssh/id_ed25519.pub
pushsalt ca sign-host --env prod --target 'web*'    fetch the machines' host keys and sign them
pushsalt ca sign-host --env prod --renew            renew certificates that expire within 30 days
pushsalt ca revoke --env prod stolen.pub
pushsalt ca show                                    show and check the CA
pushsalt ca show --known-hosts                      @cert-authority lines
"""
_DIR = (
    Opt(
        "dir",
        ("--dir",),
        "Folder of the CA (default: that of ext_pillar ssh_ca, or ca/ of the project).",
        metavar="DIR",
    ),
)
_ENV = Opt("env", ("--env",), "Environment of the CA.", metavar="ENV")
_VALID = Opt("valid", ("--valid",), "Validity: 30m, 8h, 90d.", metavar="TIME")
_INIT = (
    Opt("name", ("--name",), "Name of the CA (default: the name of the folder).", metavar="NAME"),
    Opt(
        "root",
        ("--root",),
        "Key of the root: KEY.pub of an agent, or a private key file with a passphrase.",
        metavar="KEY",
    ),
    Opt("user_ca", ("--user-ca",), "Key that signs users, as for --root; by default a new one.", metavar="KEY"),
    Opt("host_ca", ("--host-ca",), "Key that signs hosts, as for --root; by default a new one.", metavar="KEY"),
    Opt("pkcs11", ("--pkcs11",), "PKCS#11 module that has the named keys.", metavar="MODULE"),
    Opt("role", ("--role",), "Role of the environment; repeatable (default: any).", "list", "ROLE"),
    Opt(
        "hosts",
        ("--hosts",),
        "Pattern for the host names of the environment; repeatable (default: any).",
        "list",
        "PATTERN",
    ),
    Opt("max_user", ("--max-user",), "Maximum validity for users (default 24h).", metavar="TIME"),
    Opt("max_host", ("--max-host",), "Maximum validity for hosts (default 90d).", metavar="TIME"),
    Opt("rotate", ("--rotate",), "Make new keys for the environment; the old ones stay trusted.", "flag"),
    Opt("retire", ("--retire",), "Remove the trust in this authority.", metavar="FINGERPRINT"),
    Opt("renew", ("--renew",), "Sign the manifest with the root for another year.", "flag"),
    Opt("unsigned", ("--unsigned",), "Do not sign with the root; this is done on another machine.", "flag"),
    Opt("sign", ("--sign",), "Sign the pending manifest with the root.", "flag"),
)
_USER = (
    _ENV,
    Opt("role", ("--role",), "Role of the user; repeatable. The principal is ENV-ROLE.", "list", "ROLE"),
    Opt("id", ("--id",), "Identity of the user (default: the comment of the key).", metavar="WHO"),
    _VALID,
    Opt(
        "permit",
        ("--permit",),
        "Permission besides pty: port-forwarding, agent-forwarding, X11-forwarding, user-rc.",
        "list",
        "WHAT",
    ),
    Opt("no_pty", ("--no-pty",), "Do not permit a terminal.", "flag"),
    Opt("source", ("--source-address",), "Networks that the user may connect from.", metavar="NETWORKS"),
    Opt("force", ("--force-command",), "The only command that the user may run.", metavar="COMMAND"),
    Opt("output", ("--output",), "File for the certificate (default: KEY-cert.pub).", metavar="FILE"),
)
_HOST = (
    _ENV,
    Opt("id", ("--id",), "Id of the machine in the inventory (default: the first --name).", metavar="ID"),
    Opt("name", ("--name",), "Name or address by which clients reach the host; repeatable.", "list", "NAME"),
    Opt("target", ("--target",), "Fetch and sign the host keys of these targets.", metavar="TARGET"),
    Opt("renew", ("--renew",), "Renew certificates that expire soon.", "flag"),
    Opt("within", ("--within",), "Time to expiry for --renew (default 30d).", metavar="TIME"),
    _VALID,
)
_REVOKE = (_ENV, Opt("reason", ("--reason",), "Reason, for the log.", metavar="TEXT"))
_SHOW = (Opt("known_hosts", ("--known-hosts",), "Print lines for known_hosts.", "flag"),)

app = typer.Typer(cls=Actions, rich_markup_mode=None, add_completion=False, no_args_is_help=True, epilog=EXAMPLES)


@app.callback()
def ca() -> None:
    """Manage SSH certificates: an offline root, an authority per environment, users, hosts, and revocation.

    OpenSSH's ssh-keygen signs; keys are in files with passphrases, in an agent or in a PKCS#11 module.
    """


@app.command(cls=Command)
@takes(_INIT, _DIR, OUTPUT, GLOBAL)
def init(
    given: Given,
    env: Annotated[str | None, typer.Argument(metavar="[ENV]", help="Environment to create or change.")] = None,
) -> int:
    """Create the root, or the authorities of an environment; the root signs the list of authorities."""
    from pushsalt.ca import setup
    from pushsalt.ca.describe import describe

    folder, _ = _folder(given)
    chosen = [word for word in ("renew", "retire", "sign") if getattr(given, word)]
    if len(chosen) + bool(env) > 1:
        raise UsageError("use only one of ENV, --renew, --retire and --sign", hint="pushsalt ca init --help")
    if env is None and any(getattr(given, word) for word in ("user_ca", "host_ca", "role", "hosts", "rotate")):
        raise UsageError("these options are for an environment", hint="name it: pushsalt ca init ENV")
    if given.sign:
        setup.sign_waiting(folder)
    elif given.renew or given.retire:
        wanted = setup.renewed(folder) if given.renew else setup.retire(folder, given.retire)
        setup.conclude(folder, wanted, unsigned=bool(given.unsigned))
    else:
        _init(given, folder, env)
    data = describe(folder)
    write(given, data, _overview(data))
    return 0


def _init(given: Given, folder: Folder, env: str | None) -> None:
    from pushsalt.ca import CaError, names, setup

    if env is not None:
        names.environment(env)  # before a passphrase is asked for
    rules = _rules(given)
    if not folder.exists:
        if given.unsigned:
            raise UsageError("a new root signs its first manifest", hint="omit --unsigned")
        name = given.name or folder.path.name
        if not name.isascii() or not name.isprintable():
            raise UsageError(f"{name!r} is not a valid name of a CA", hint="--name NAME")
        setup.init_root(folder, name, _choice(given, "root"))
        setup.conclude(folder, setup.first(name))
    elif not folder.file("manifest.json").exists():  # the folder is incomplete, since the first signature failed
        setup.conclude(folder, setup.first(given.name or folder.path.name))
    elif env is None:
        raise CaError(f"{folder.path} holds a CA already", hint="`pushsalt ca init ENV` adds an environment")
    if env is not None:
        user, host = _choice(given, "user_ca"), _choice(given, "host_ca")
        wanted = setup.add_environment(folder, env, user, host, rules, rotate=bool(given.rotate))
        setup.conclude(folder, wanted, unsigned=bool(given.unsigned))


@app.command("sign-user", cls=Command)
@takes(_USER, _DIR, OUTPUT, GLOBAL)
def sign_user(
    given: Given, key: Annotated[str, typer.Argument(metavar="KEY.pub", help="The user's public key.")]
) -> int:
    """Sign a certificate for a user, for roles of an environment and a limited time."""
    from pushsalt.ca import issue, names
    from pushsalt.ca.holder import read_public

    env = _env(given)
    comment = given.id or read_public(Path(key)).comment
    unknown = [word for word in given.permit or () if word not in names.PERMITS]
    if unknown:
        raise UsageError(f"--permit: there is no {unknown[0]!r}", hint=f"there are: {', '.join(names.PERMITS)}")
    permits = tuple(dict.fromkeys([*([] if given.no_pty else ["pty"]), *(given.permit or ())]))
    if given.force is not None and not given.force.isprintable():
        raise UsageError("--force-command has control characters", hint="write it into a script")
    request = issue.UserRequest(
        env=env,
        roles=tuple(given.role or ()),
        who=names.who(comment, "--id WHO, for example alice@example.com"),
        valid=_valid(given),
        permits=permits,
        source=names.addresses(given.source) if given.source else "",
        command=given.force or "",
    )
    folder, _ = _folder(given)
    done = issue.sign_user(folder, request, Path(key), Path(given.output) if given.output else None)
    write(given, done, [_signed(done)])
    return 0


@app.command("sign-host", cls=Command)
@takes(_HOST, MATCHERS, _DIR, OUTPUT, GLOBAL)
def sign_host(
    given: Given,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY.pub ...]", help="The host's public keys.")] = None,
) -> int:
    """Sign host keys of machines; the formula ssh_ca installs the certificates."""
    from pushsalt.ca import issue, names, publish
    from pushsalt.ca.holder import lent, read_public

    env, valid = _env(given), _valid(given)
    if sum((bool(keys), bool(given.target), bool(given.renew))) != 1:
        raise UsageError("there are no keys to sign", hint="either KEY.pub files with --name, or --target, or --renew")
    folder, client = _folder(given)
    rules, code = folder.current().environment(env), 0
    if given.target:
        wanted, code = _host_keys(given, client)
    elif given.renew:
        within = names.duration("--within", given.within or "30d")
        expiring = issue.expiring_hosts(folder, env, within)
        wanted = [(id, list(each.principals), each.key) for id, each in expiring]
    else:
        if not given.name:
            raise UsageError("the keys have no names", hint="--name NAME, as clients call the host")
        wanted = [(given.id or given.name[0], given.name, read_public(Path(path))) for path in keys or ()]
    authority = rules.host_authorities[0]
    done: list[dict[str, Any]] = []
    if wanted:
        with lent(folder.holder(authority), authority, folder.path):
            for id, hosts, key in wanted:
                try:
                    done.append(issue.sign_host(folder, env, id, hosts, key, valid))
                except CommandError as exc:  # an error of one machine; the others are signed nevertheless
                    if keys:
                        raise
                    client.reporter.warning(id, f"{exc.message} ({exc.hint})")
                    code = max(code, EXIT_FAILED)
        with folder.locked():
            publish.write_known_hosts(folder)
    write(given, done, [_signed(one) for one in done] or ["no key was signed"])
    return code


@app.command(cls=Command)
@takes(_REVOKE, _DIR, OUTPUT, GLOBAL)
def revoke(
    given: Given,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="SERIAL|KEY-ID|FILE ...", help="Certificates by serial, key id or file, or keys by file."
        ),
    ],
) -> int:
    """Add certificates or keys to the revocation lists; the formula ssh_ca installs these on machines."""
    from pushsalt.ca.revoke import revoke

    reason = given.reason or ""
    if not reason.isprintable():
        raise UsageError("--reason has control characters", hint="write it on one line")
    folder, _ = _folder(given)
    done = revoke(folder, what, given.env or "", reason)
    texts = [f"{one['env']}: {_what(one)} is revoked" for one in done]
    write(given, done, [*texts, "it takes effect on machines when formulas/ssh_ca is applied to them"])
    return 0


@app.command(cls=Command)
@takes(_SHOW, _DIR, OUTPUT, GLOBAL)
def show(
    given: Given,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[ENV|FILE]", help="Environment, or file of a certificate, key or revocation list."),
    ] = None,
) -> int:
    """Show the CA, the certificates of an environment, or a file. Exit code 2 if a check fails."""
    from pushsalt.ca import describe, publish

    folder, _ = _folder(given)
    if what is not None and ("/" in what or Path(what).is_file()):
        data = _file(folder, Path(what))
        write(given, data, list(_rows(data)))
        return 0
    if given.known_hosts:
        lines = publish.known_hosts(folder, what or "")
        write(given, lines, lines)
        return 0
    if what is not None:
        entries = describe.issued(folder, what)
        write(given, entries, [_line(entry) for entry in entries] or [f"no certificates have been signed in {what}"])
        return 0
    data = describe.describe(folder)
    write(given, data, _overview(data))
    return EXIT_FAILED if data["problems"] else 0


# ---


def _file(folder: Folder, path: Path) -> dict[str, Any]:
    """The content of a key or certificate file; for our own certificates, whether they are revoked."""
    from pushsalt.ca import describe

    if describe.is_manifest(path):
        return describe.describe_manifest(folder, path)
    data = describe.describe_file(path)
    if data["kind"] == "certificate" and folder.exists and describe.is_revoked_in_ca(folder, path):
        data["state"] = "revoked"
    return data


def _rows(data: dict[str, Any], under: str = "") -> Iterator[str]:
    for name, value in data.items():
        if isinstance(value, dict) and value and all(isinstance(item, dict | list | int) for item in value.values()):
            yield f"{under}{name}:"
            yield from _rows(value, f"{under}  ")
        else:
            yield f"{under}{name + ':':<{16 - len(under)}} {_plain(value)}"


def _folder(given: Given) -> tuple[Folder, Client]:
    """The CA's folder, and the client of this command."""
    from pushsalt.ca.folder import Folder
    from pushsalt.cli.client import Watcher, open_client

    client, _ = open_client(given, TERMINAL.get(), Watcher())
    config = client.project.config
    base = config.path.parent if config.path is not None else Path.cwd()
    sources = config.opts.get("ext_pillar")
    configured = {}
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, dict) and isinstance(source.get("ssh_ca"), dict):
            configured = source["ssh_ca"]
    place = Path(base, Path(str(configured.get("dir") or "ca")).expanduser())
    path = Path(given.dir).expanduser().absolute() if given.dir else place
    pin = str(configured.get("root") or "") if path.resolve() == place.resolve() else ""
    return Folder(path, pin), client


def _env(given: Given) -> str:
    from pushsalt.ca import names

    if not given.env:
        raise UsageError("which environment?", hint="--env ENV; `pushsalt ca show` lists them")
    return names.environment(given.env)


def _valid(given: Given) -> int | None:
    from pushsalt.ca import names

    return names.duration("--valid", given.valid) if given.valid else None


def _choice(given: Given, word: str) -> KeyChoice:
    from pushsalt.ca.setup import KeyChoice

    path = getattr(given, word)
    return KeyChoice(Path(path).expanduser(), given.pkcs11 or "") if path else KeyChoice()


def _rules(given: Given) -> Rules:
    from pushsalt.ca import names
    from pushsalt.ca.setup import Rules

    return Rules(
        tuple(names.role(word) for word in given.role) if given.role else None,
        tuple(names.host_pattern(word) for word in given.hosts) if given.hosts else None,
        names.duration("--max-user", given.max_user) if given.max_user else None,
        names.duration("--max-host", given.max_host) if given.max_host else None,
    )


def _host_keys(given: Given, client: Client) -> tuple[list[tuple[str, list[str], Any]], int]:
    """Id, names and key for each host key of the targets, and the exit code for targets that did not answer."""
    from pushsalt.ca import names
    from pushsalt.ca.wire import WireError, parse_public

    reporter = client.reporter
    kwargs = {"private": False, "certs": False}
    returns = client.run(given.selection(given.target), "ssh.host_keys", [], kwargs, given.job("warning"))
    wanted, code = [], 0
    for id, answer in sorted(returns.items()):
        if answer.exit_code or not isinstance(answer.ret, dict):
            code = max(code, answer.exit_code or EXIT_FAILED)
            error = answer.ret.get("error") if isinstance(answer.ret, dict) else None
            words = error.get("message") if isinstance(error, dict) else None
            reporter.warning(id, str(words or "it did not return its host keys"))
            continue
        hosts: list[str] = []
        for name in (id, client.project.target(id).host or ""):
            try:
                hosts.append(names.host(name))
            except UsageError:
                continue
        for kind in ("ed25519", "ecdsa", "rsa"):
            text = answer.ret.get(f"{kind}.pub")
            if not text:
                continue
            try:
                wanted.append((id, hosts, parse_public(str(text))))
            except WireError as exc:
                reporter.warning(id, f"its {kind} host key: {exc}")
    return wanted, code


def _signed(done: dict[str, Any]) -> str:
    until = f"until {done['valid_before']}"
    return f"{done['key_id']}: {', '.join(done['principals'])}, serial {done['serial']}, {until}: {done['file']}"


def _what(entry: dict[str, Any]) -> str:
    words = (("serial", "serial {}"), ("key_id", "the key id {}"), ("key", "the key {}"))
    return ", ".join(text.format(entry[name]) for name, text in words if name in entry)


def _line(entry: dict[str, Any]) -> str:
    if entry["action"].startswith("sign-"):
        words = [str(entry.get(name)) for name in ("time", "serial", "key_id")]
        names = ", ".join(map(str, entry.get("principals") or ()))
        return "  ".join([*words, names, f"until {entry.get('valid_before')}"])
    return f"{entry.get('time')}  {entry['action']}  {_what(entry)}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" if item else str(key) for key, item in value.items()) or "-"
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else str(value)


def _overview(data: dict[str, Any]) -> list[str]:
    from pushsalt.ca.names import spoken

    lines = [f"{data['dir']}: root {data['root']['fingerprint']} ({data['root']['held']})"]
    if "manifest" in data:
        manifest = data["manifest"]
        lines.append(
            f"manifest {manifest['serial']} of {manifest['name']}, signed by the root, until {manifest['expires']}"
        )
    for name, env in data.get("environments", {}).items():
        lines.append(f"{name}:")
        for kind in ("user", "host"):
            count = env["signed"][kind]
            for place, key in enumerate(env[f"{kind}_authorities"]):
                words = f"{key['fingerprint']} ({key['held']})"
                lines.append(f"  {kind + 's':<8}{words}" + (", signs no more" if place else ""))
            most = spoken(env[f"{kind}_max"])
            lines.append(f"          at most {most}; {count['not_ended']} of {count['all']} signed have not expired")
        lines.append(f"  roles   {', '.join(env['roles']) or 'any'}; hosts {', '.join(env['hosts']) or 'any'}")
        if env["revoked"] is not None:
            lines.append(f"  revoked {len(env['revoked'])}, list version {env['krl_version']}")
    if "waiting" in data:
        lines.append(f"manifest {data['waiting']['serial']} waits for the root's signature: pushsalt ca init --sign")
    lines += [f"warning: {warning}" for warning in data["warnings"]]
    return [*lines, *(f"PROBLEM: {problem}" for problem in data["problems"])]
