"""Runs zypper without prompts, waiting for locks up to a limit, and parses its XML. Salt: modules/zypperpkg.py

zypper's XML consists of elements with quoted attributes. It is parsed here without Python's xml package, which small
systems lack.
"""

import re

from thin.exceptions import CommandExecutionError
from thin.utils.programs import pkgrun

#: Exit codes without an error: there are patches (100, 101), a reboot or a restart of zypper is needed (102, 103).
SUCCESS = (0, 100, 101, 102, 103)
#: No repositories, a repository was skipped, a package's script failed.
WARNINGS = (6, 106, 107)
LOCKED = 7

_ATTRIBUTE = re.compile(r"([\w:.-]+)=\"([^\"]*)\"|([\w:.-]+)='([^']*)'")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_CHATTER = ("Loading repository data", "Reading installed packages", "Resolving package dependencies")
_LOCK_WORDS = pkgrun.says("waiting for transaction lock", "can't create transaction lock", "management is locked")


def run(run_all, opts, args, root=None, xml=False, refresh=False, read=False, check=True):
    """The return of cmd.run_all for ``zypper ARGS``.

    ``refresh``: it may update the lists; ``read``: it changes nothing and need not wait for a lock; ``check``: raise
    CommandExecutionError with zypper's error for a failure.
    """
    command = ["zypper", "--non-interactive"]
    command += ["--xmlout"] if xml else []
    command += [] if refresh else ["--no-refresh"]
    command += ["--root", root] if root else []
    environment = {"ZYPP_READONLY_HACK": "1"} if read and not refresh else None
    done = pkgrun.run(run_all, opts, command + list(args), _busy, environment=environment)
    if check and done["retcode"] not in SUCCESS + WARNINGS:
        raise CommandExecutionError("Zypper command failure: %s" % complaint(done))
    return done


def _busy(done):
    return done["retcode"] == LOCKED or (done["retcode"] not in SUCCESS and _LOCK_WORDS(done))


def complaint(done):
    """zypper's error text."""
    errors = [text for kind, text in messages(done["stdout"]) if kind == "error"]
    if not errors and "<?xml" not in done["stdout"]:
        lines = done["stderr"].splitlines() + done["stdout"].splitlines()
        errors = [line for line in lines if line.strip() and not line.startswith(_CHATTER)]
    return "\n".join(errors) or done["stderr"].strip() or "Check Zypper's logs."


def messages(text):
    """``[(type, text)]`` of the messages in XML."""
    messages = []
    for attributes, inner in re.findall(r"<message(\s[^>]*)?>(.*?)</message>", text, re.DOTALL):
        messages.append((_attributes(attributes).get("type"), unescaped(inner).strip()))
    return messages


def elements(text, name):
    """The attributes of every element of this name, as dicts."""
    return [_attributes(inner) for inner in re.findall(r"<%s(\s[^>]*?)?/?>" % name, text, re.DOTALL)]


def blocks(text, name):
    """``[(attributes, inner XML)]`` of every element with this name."""
    blocks = []
    for inner, closed, body in re.findall(r"<%s(\s[^>]*?)?(?:(/)>|>(.*?)</%s>)" % (name, name), text, re.DOTALL):
        blocks.append((_attributes(inner), "" if closed else body))
    return blocks


def inside(text, name):
    """The text in the first element with this name, "" if there is none."""
    return next((unescaped(re.sub(r"<[^>]*>", "", body)) for _, body in blocks(text, name)), "")


def _attributes(text):
    attributes = {}
    for name, value, other, single in _ATTRIBUTE.findall(text):
        attributes[name or other] = unescaped(value if name else single)
    return attributes


def unescaped(text):
    """The text with XML's entities replaced."""

    def plain(match):
        word = match.group(1)
        if word.startswith("#"):
            return chr(int(word[2:], 16) if word[1] in "xX" else int(word[1:]))
        return _ENTITIES.get(word, match.group(0))

    return re.sub(r"&(#[xX]?[0-9a-fA-F]+|\w+);", plain, text)


def information(text):
    """``{name: {field: value}}`` from ``zypper info``; fields are in lower case, ``installed`` is True or False."""
    result = {}
    for section in re.split(r"(?m)^Information for \w+ ", text)[1:]:
        data = {}
        for line in section.splitlines()[1:]:
            key, colon, value = line.partition(":")
            if colon and value.strip() and not line.startswith((" ", "-")):
                data[key.strip().lower()] = value.strip()
        if "installed" in data:
            data["installed"] = data["installed"].lower().startswith("yes")
        name = data.pop("name", None)
        if name:
            result[name] = data
    return result


def refreshed(text):
    """``{repository: True if it was fetched, False if it was current}`` from ``zypper refresh``."""
    result = {}
    for line in text.splitlines():
        name = line.split("'")[1].strip() if line.count("'") > 1 else None
        if name and line.strip().startswith("Repository") and "is up to date" in line:
            result[name] = False
        elif name and line.strip().startswith("Building") and "done" in line:
            result[name] = True
    return result


def locks(text):
    """``{name: {field: value}}`` from the file of locks."""
    locks = {}
    for stanza in re.split(r"\n\s*\n", text):
        pairs = [line.partition(":") for line in stanza.splitlines() if ":" in line and not line.startswith("#")]
        lock = {key.strip(): value.strip() for key, _, value in pairs}
        name = lock.pop("solvable_name", None)
        if name:
            locks[name] = lock
    return locks
